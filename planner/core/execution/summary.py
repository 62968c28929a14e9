"""What a step's cost says: which ceiling binds each operator and the whole, and how close it comes to the ceilings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from planner.core.execution.parts import Part
from planner.core.execution.step import BOUNDS, StepCost
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Array, Numeric
from planner.core.quantities.numeric import Number

MEMORY, COMPUTE, COMMUNICATION, OVERHEAD = range(4)
Row: TypeAlias = tuple[str, float, float, float, float, float, float, float, float]
_LAUNCH_SHARE = 0.3
"""An operator whose roofline part is a smaller share of its time is bound by its own launch [1]."""


class OperatorCost(NamedTuple):
    """One operator row over all its executions in a step, per busiest GPU; a tuple, since a plan makes dozens."""

    name: str
    executions: float
    flop: float
    traffic_bytes: float
    link_bytes: float
    intensity: float | None
    """W/Q [FLOP/byte]; None where nothing moves."""
    time_s: float
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """A step without grid axes, in plain numbers per busiest GPU."""

    time_s: float
    flop: float
    weights_bytes: float
    cache_bytes: float
    activation_bytes: float
    link_bytes: float
    bound: str
    shares: dict[str, float]
    """Share of the step's time by what binds it [1]."""
    overhead_s: float
    operators: tuple[OperatorCost, ...]

    @property
    def total_bytes(self) -> float:
        """Memory traffic, links excluded [byte]."""
        return self.weights_bytes + self.cache_bytes + self.activation_bytes


def classify(part: Part, bandwidth: Array) -> Array:
    """What binds each operator of a part.

    Parameters
    ----------
    part : Part
        One group of operators, shape (op, *grid).
    bandwidth : ndarray
        β [byte/s].

    Returns
    -------
    ndarray
        Index into :data:`planner.core.execution.step.BOUNDS`, shape (op, *grid).

    Notes
    -----
    An operator binds memory or compute by its roofline side; a collective binds communication; one that spends less
    than three tenths of its time on its roofline part is launch overhead.
    """
    if part.flow is None:
        link = part.link if part.link is not None else np.zeros_like(part.time)
        return np.where(link > 0, COMMUNICATION, MEMORY)
    peak = part.peak.reshape(part.peak.shape + (1,) * (part.time.ndim - part.peak.ndim))
    codes: Array = _kinds(part.time, part.flow.work, part.flow.traffic, peak, bandwidth)
    return codes


def _kinds(time: Numeric, work: Numeric, traffic: Numeric, peak: Numeric, bandwidth: Numeric) -> Number:
    """Codes of what binds operators that are no communication, from times and flows of the same shape."""
    memory, compute = traffic / bandwidth, work / peak
    kinds = num.where(compute >= memory, COMPUTE, MEMORY)
    return num.where(num.maximum(memory, compute) < _LAUNCH_SHARE * time, OVERHEAD, kinds)


def summarise(cost: StepCost, repeats: float = 1.0) -> StepSummary:
    """A step as plain numbers, with the ceiling that binds it.

    Parameters
    ----------
    cost : StepCost
        Arrays of shape (op,).
    repeats : float
        Times the step is executed (chunks of a prompt) [1].

    Returns
    -------
    StepSummary
        Totals over executions and repeats.
    """
    columns = (cost.count, cost.peak, cost.time, cost.link, cost.work, cost.weights, cost.cache, cost.activations)
    rows = zip(cost.names, *(column.tolist() for column in columns), strict=True)
    return told(rows, float(cost.overhead), float(cost.bandwidth), repeats)


def told(rows: Iterable[Row], overhead: float, bandwidth: float, repeats: float) -> StepSummary:
    """A step from its operators' plain numbers.

    Parameters
    ----------
    rows : iterable of tuple
        Name, count [1], π [FLOP/s], time [s], bytes sent [byte], work [FLOP], bytes of weights, of the cache and of
        activations [byte], each of one execution.
    overhead : float
        Time beside the operators [s].
    bandwidth : float
        β [byte/s].
    repeats : float
        Times the step is executed [1].

    Returns
    -------
    StepSummary
        Totals over executions and repeats.
    """
    shares = [0.0] * len(BOUNDS)
    operators = []
    total = flop = read = kept = moved = sent = 0.0
    for name, count, peak, time, link, work, weights, cache, activations in rows:
        times, traffic = count * repeats, weights + cache + activations
        kind = COMMUNICATION if link > 0 else _kinds(time, work, traffic, peak, bandwidth)
        here, spent, done, through = times * time, times * link, times * work, times * traffic
        shares[kind] += here
        total, flop, sent = total + here, flop + done, sent + spent
        read, kept, moved = read + times * weights, kept + times * cache, moved + times * activations
        if here > 0:
            intensity = done / through if through > 0 else None
            operators.append(OperatorCost(name, times, done, through, spent, intensity, here, BOUNDS[kind]))
    beside = overhead * repeats
    shares[OVERHEAD] += beside
    total += beside
    return StepSummary(
        time_s=total, flop=flop, weights_bytes=read, cache_bytes=kept, activation_bytes=moved, link_bytes=sent,
        bound=BOUNDS[shares.index(max(shares))], overhead_s=beside, operators=tuple(operators),
        shares={name: share / total for name, share in zip(BOUNDS, shares, strict=True)})
