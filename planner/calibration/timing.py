"""Honest timing: warm-up, repeated samples over rotated buffers, a median with its interval, disturbances counted.

The logic here knows no device; a timer hands it samples, and tests hand it a fake timer and a fake clock.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

_Z95 = 1.96  # two-sided 95 % quantile of the normal distribution, for the ranks of the median's interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One timed run of a kernel."""

    seconds: float
    disturbed: bool = False
    """The operating system took the processor away while it ran."""


Sampler: TypeAlias = "Callable[[], Sample]"


class Timer(Protocol):
    """Turns a kernel into something that can be sampled on one kind of device."""

    def sampler(self, run: Callable[[int], object], rotations: int) -> Sampler:
        """A sampler that runs the kernel on the next of ``rotations`` buffers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to sample one kernel."""

    warmups: int = 2
    samples_min: int = 7
    samples_max: int = 200
    seconds_max: float = 0.8
    seconds_disturbed: float = 2.0
    """Go on this long while fewer than half of the least samples were undisturbed."""
    precision: float = 0.02
    """Stop once the half-width of the interval is this share of the median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The median time of a kernel with a 95 % interval."""

    seconds: float
    low: float
    high: float
    samples: int
    disturbed: float
    """Share of samples during which the processor was taken away [1]."""

    usable: bool = True
    """Enough samples were undisturbed."""

    @property
    def spread(self) -> float:
        """Half-width of the interval over the median [1]."""
        return (self.high - self.low) / (2 * self.seconds)


def median_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median and its distribution-free 95 % interval (order statistics n/2 ± 0.98·√n)."""
    ordered = sorted(values)
    n = len(ordered)
    reach = _Z95 * math.sqrt(n) / 2
    low, high = math.floor(n / 2 - reach), math.ceil(n / 2 + reach)
    return statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, n - 1)]


def measure(sample: Sampler, patience: Patience, clock: Callable[[], float] = time.monotonic) -> Timing:
    """The timing of a kernel: undisturbed samples count when there are enough of them, else all do."""
    for _ in range(patience.warmups):
        sample()
    started = clock()
    taken: list[Sample] = []
    while len(taken) < patience.samples_max:
        taken.append(sample())
        if len(taken) < patience.samples_min:
            continue
        spent = clock() - started
        if spent >= patience.seconds_disturbed or (spent >= patience.seconds_max and _quiet(taken, patience)):
            break
        if len(taken) % 4 == 0:
            timing = _summary(taken, patience)
            if timing.usable and timing.spread <= patience.precision:
                break
    return _summary(taken, patience)


def _quiet(taken: Sequence[Sample], patience: Patience) -> bool:
    return sum(not s.disturbed for s in taken) >= max(3, patience.samples_min // 2)


def _summary(taken: Sequence[Sample], patience: Patience) -> Timing:
    quiet = [s.seconds for s in taken if not s.disturbed]
    usable = _quiet(taken, patience)
    values = quiet if usable else [s.seconds for s in taken]
    middle, low, high = median_interval(values)
    return Timing(seconds=middle, low=low, high=high, samples=len(taken), disturbed=1 - len(quiet) / len(taken),
                  usable=usable)
