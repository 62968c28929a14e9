"""What a step's cost says: which ceiling binds each operator and the whole, and how close it comes to the ceilings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planner.core.execution.step import BOUNDS, Part, StepCost
from planner.core.quantities.arrays import Array

MEMORY, COMPUTE, COMMUNICATION, OVERHEAD = range(4)
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
    codes: Array = _kinds(part.time, part.flow.work, part.flow.traffic, np.asarray(False), peak, bandwidth)
    return codes


def _kinds(time: Array, work: Array, traffic: Array, linked: Any, peak: Array, bandwidth: Array) -> Any:  # noqa: ANN401 - number or array
    """Codes of what binds, from times and flows of the same shape."""
    memory, compute = traffic / bandwidth, work / peak
    kinds = np.where(compute >= memory, COMPUTE, MEMORY)
    kinds = np.where(np.maximum(memory, compute) < _LAUNCH_SHARE * time, OVERHEAD, kinds)
    return np.where(linked, COMMUNICATION, kinds)


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
    times = cost.count * cost.time * repeats
    kinds = _kinds(cost.time, cost.work, cost.traffic, cost.link > 0, cost.peak, cost.bandwidth)
    overhead = float(cost.overhead) * repeats
    total = float(times.sum()) + overhead
    sums = np.bincount(kinds, weights=times, minlength=len(BOUNDS))
    sums[OVERHEAD] += overhead
    scale = cost.count * repeats
    flop, traffic, link = scale * cost.work, scale * cost.traffic, scale * cost.link
    columns = zip(cost.names, (cost.count * repeats).tolist(), flop.tolist(), traffic.tolist(), link.tolist(),
                  times.tolist(), kinds.tolist(), strict=True)
    operators = tuple(
        OperatorCost(name=name, executions=count, flop=w, traffic_bytes=q, link_bytes=sent,
                     intensity=w / q if q > 0 else None, time_s=t, bound=BOUNDS[kind])
        for name, count, w, q, sent, t, kind in columns if t > 0)
    return StepSummary(
        time_s=total, flop=float(flop.sum()), weights_bytes=float((scale * cost.weights).sum()),
        cache_bytes=float((scale * cost.cache).sum()), activation_bytes=float((scale * cost.activations).sum()),
        link_bytes=float(link.sum()), bound=BOUNDS[int(sums.argmax())],
        shares={name: float(share) for name, share in zip(BOUNDS, sums / total, strict=True)}, overhead_s=overhead,
        operators=operators)
