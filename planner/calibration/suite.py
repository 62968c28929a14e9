"""The suite: every kernel checked, then timed, within a time budget; whatever stops it, what was measured is kept."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import torch

from planner.calibration.device import Device
from planner.calibration.kernels import attention
from planner.calibration.kernels.bench import Bench, Case, WrongResultError, verify_result
from planner.calibration.kernels.collective import all_reduce_timings, ask
from planner.calibration.plan import Grid, cases_for, decode_choices
from planner.calibration.processor import Contention
from planner.calibration.timers import timer_for
from planner.calibration.timing import Patience, Timer, Timing, measure
from planner.core.errors import AdapterError
from planner.core.fitting.kernel_points import KernelPoint

Progress: TypeAlias = "Callable[[int, int, str], None]"
_DTYPE_SHARE = 0.6  # of the time left that a dtype may use; the first one is what --verify runs in
_FIRST_OF_EACH = 8  # enough for the curve with the most parameters
_ORDER_SEED = 7  # a fixed shuffle: a run cut short has still touched every kind of kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One timed kernel."""

    point: KernelPoint
    label: str
    implementation: str
    timing: Timing


@dataclass(slots=True, kw_only=True)
class Run:
    """What a suite measured, complete or not."""

    device: Device
    measurements: list[Measurement] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    """(label, reason) of kernels that were not timed."""
    ways: dict[str, str] = field(default_factory=dict)
    """Chosen implementation by kernel class and dtype."""
    launch_s: float | None = None
    """One tiny kernel inside a replayed graph, or back to back where there are no graphs [s]."""
    partial: str | None = None
    """Why the run stopped early."""
    elapsed_s: float = 0.0
    others: float | None = None
    """Share of the processors that other processes used meanwhile [1]."""


class Suite:
    """Runs the cases of a grid on one device."""

    def __init__(self, device: Device, grid: Grid, *, budget_s: float, patience: Patience,
                 progress: Progress = lambda *_: None, timer: Timer | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Prepare a run; nothing is measured yet."""
        self._grid, self._patience, self._progress, self._clock = grid, patience, progress, clock
        self._timer = timer_for(device.spec) if timer is None else timer
        self._deadline = clock() + budget_s
        self._budget = budget_s
        self._checked: set[str] = set()
        self.run = Run(device=device)

    def execute(self) -> Run:
        """The run, partial with its reason when it was stopped, ran out of time or lost the device."""
        started, contention = self._clock(), Contention()
        try:
            with torch.inference_mode():
                self.run.launch_s = self._launch()
                self._collectives()
                for number, dtype in enumerate(self._grid.dtypes):
                    self._dtype(dtype, number)
        except KeyboardInterrupt:
            self.run.partial = "interrupted by the user"
        except _OutOfTime:
            self.run.partial = f"the time budget of {self._budget:.0f} s was used up"
        except RuntimeError as error:
            self.run.partial = f"the device failed: {_first_line(error)}"
        self.run.elapsed_s = self._clock() - started
        self.run.others = contention.share()
        return self.run

    def _launch(self) -> float:
        tiny = torch.zeros(1, device=torch.device(self.run.device.spec))
        sampler = self._timer.sampler(lambda _: tiny.add_(1.0), 1)
        return measure(sampler, replace(self._patience, samples_min=21), self._clock).seconds

    def _collectives(self) -> None:
        """All-reduce over every group of the grid, first: it needs processes of its own and the device to itself."""
        for ranks in self._grid.ranks:
            label = f"all-reduce over {ranks} ranks"
            self._progress(0, 1, label)
            try:
                timings = all_reduce_timings(self.run.device.kind, ranks)
            except AdapterError as error:
                self.run.skipped.append((label, error.detail))
                continue
            self.run.measurements += [
                Measurement(point=replace(ask(size, ranks), seconds=timing.seconds), label=f"{label}, {size} B",
                            implementation="nccl" if self.run.device.kind == "cuda" else "gloo", timing=timing)
                for size, timing in timings]

    def _dtype(self, dtype: str, number: int) -> None:
        with self._tolerated(f"{dtype} kernels"):
            bench = Bench(self.run.device, dtype)
            if dtype in self._grid.attention_dtypes:
                self._choose(bench)
            cases = cases_for(self._grid, dtype, self.run.ways)
            streams = [c for c in cases if c.ask.kernel == "stream"]
            others = _spread_out([c for c in cases if c.ask.kernel != "stream"])
            half = len(others) // 2
            # Bandwidth is read at the start, the middle and the end, so that a drifting clock shows.
            queue = [*streams, *others[:half], *streams, *others[half:], *streams]
            last = number == len(self._grid.dtypes) - 1
            share = 1.0 if last else _DTYPE_SHARE
            self._all(bench, queue, self._clock() + share * (self._deadline - self._clock()), last=last)

    def _all(self, bench: Bench, queue: Sequence[Case], until: float, *, last: bool) -> None:
        for done, case in enumerate(queue):
            if self._clock() > until:
                reason = f"no time left for {len(queue) - done} {bench.dtype} kernels"
                self.run.skipped.append((f"{bench.dtype} kernels", reason))
                if last:
                    raise _OutOfTime
                return
            self._progress(done, len(queue), case.label)
            with self._tolerated(case.label):
                timing = self._timed(bench, case)
                if timing is not None:
                    self.run.measurements.append(Measurement(
                        point=replace(case.ask, seconds=timing.seconds), label=case.label,
                        implementation=case.implementation, timing=timing))

    def _timed(self, bench: Bench, case: Case) -> Timing | None:
        elements = max(case.ask.traffic, 1.0) / bench.arena_bytes
        if elements > 0.9:
            self.run.skipped.append((case.label, "larger than the memory set aside"))
            return None
        ready = case.build(bench)
        if case.label not in self._checked:
            verify_result(case.label, ready)
            self._checked.add(case.label)
        return measure(self._timer.sampler(ready.run, ready.rotations), self._patience, self._clock)

    def _choose(self, bench: Bench) -> None:
        """Let the ways to attend to a cache compete on a small and a large point; the fastest in all is calibrated."""
        for heads, pairs in decode_choices(self._grid):
            best: tuple[float, str] | None = None
            for way in attention.decoders(bench.device.kind, heads):
                cases = [attention.decode_case(heads, b, c, bench.dtype, way) for b, c in pairs]
                with self._tolerated(f"{cases[0].label} ({way})"):
                    # Relative to the traffic, so that neither point drowns the other.
                    cost = sum(self._quick(bench, c) / c.ask.traffic**0.5 for c in cases)
                    best = min(best or (cost, way), (cost, way))
            if best is not None:
                self.run.ways[f"{cases[0].ask.kernel}:{bench.dtype}"] = best[1]

    def _quick(self, bench: Bench, case: Case) -> float:
        ready = case.build(bench)
        verify_result(case.label, ready)
        hasty = replace(self._patience, samples_min=5, samples_max=9, seconds_max=0.3)
        return measure(self._timer.sampler(ready.run, ready.rotations), hasty, self._clock).seconds

    @contextmanager
    def _tolerated(self, label: str) -> Iterator[None]:
        """One kernel that is wrong, unsupported or too large is skipped with its reason; a lost device is not."""
        try:
            yield
        except WrongResultError as error:
            self.run.skipped.append((label, error.detail))
        except (torch.OutOfMemoryError, MemoryError):
            self.run.skipped.append((label, "out of memory"))
            if self.run.device.kind == "cuda":
                torch.cuda.empty_cache()
        except (NotImplementedError, TypeError, ValueError) as error:
            self.run.skipped.append((label, _first_line(error)))
        except RuntimeError as error:
            if device_lost(error):
                raise
            self.run.skipped.append((label, _first_line(error)))


def _spread_out(cases: list[Case]) -> list[Case]:
    """The cases shuffled, with the first few of every kernel class up front: a run cut short can still fit each."""
    random.Random(_ORDER_SEED).shuffle(cases)  # noqa: S311 - an order, not a secret
    seen: Counter[str] = Counter()
    first: list[Case] = []
    rest: list[Case] = []
    for case in cases:
        seen[case.ask.kernel] += 1
        (first if seen[case.ask.kernel] <= _FIRST_OF_EACH else rest).append(case)
    return first + rest


class _OutOfTime(Exception):  # noqa: N818 - a signal inside this module, never an answer
    """The budget is used up."""


def device_lost(error: BaseException) -> bool:
    """Whether an error means that the device no longer answers, rather than that one kernel is not possible."""
    text = str(error).lower()
    return any(sign in text for sign in ("device-side assert", "illegal memory access", "unspecified launch failure",
                                         "device is lost", "gpu is lost", "has fallen off the bus", "ecc error",
                                         "unknown error", "device lost"))


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
