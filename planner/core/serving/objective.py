"""Service objectives: percentiles of a steady state, the largest rate that meets them, and the replicas a demand needs.

Everything is monotone in the rate, so the largest one is found by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import Steps
from planner.core.serving.latency import Latencies
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.percentiles import Z95, normal_quantile
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.serving.steady_state import VALID_LOAD, SteadyState, solve_open

BISECTIONS = 18
"""2^-18 of the range is finer than any number here deserves [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """Latencies that a share of the requests must not exceed; None = not asked."""

    ttft: float | None = None
    """[s]"""
    tpot: float | None = None
    """[s]"""
    percentile: float = 0.95
    """Share of the requests that must meet it, within [0.5, 0.999] [1]."""

    def __post_init__(self) -> None:
        """Refuse an objective that nothing or no number could meet."""
        if not 0.5 <= self.percentile <= 0.999:
            raise InvalidQuantity(f"The percentile must lie between 0.5 and 0.999, got {self.percentile:g}.",
                                  pointer="/slo/percentile")
        for name in ("ttft", "tpot"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InvalidQuantity(f"{name} must be above zero, got {value:g}.", pointer=f"/slo/{name}_s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A replica at a rate, seen at the asked percentile."""

    rate: float
    """[1/s]"""
    ttft: float
    tpot: float
    """NaN where answers are one token."""
    steady: SteadyState


def at_percentile(latency: Latencies, percentile: float) -> tuple[float, float]:
    """TTFT and TPOT at a percentile, on the log-normal laws through the known ones.

    Parameters
    ----------
    latency : Latencies
        Of one point.
    percentile : float
        Within (0, 1) [1].

    Returns
    -------
    tuple of float
        TTFT and TPOT [s]; inf where a queue grows without bound, NaN where answers are one token.
    """
    z = float(normal_quantile(percentile))

    def of(median: float, high: float) -> float:
        return high if math.isinf(high) else float(median * (high / median) ** (z / Z95))

    return of(latency.ttft_p50, latency.ttft_p95), of(latency.tpot_p50, latency.tpot_p95)


def operate(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits, rate: float,
            percentile: float, arrival_cv: float = 1.0) -> Operation:
    """A replica at a rate of arrivals.

    Parameters
    ----------
    table : StepTable
        Without a grid.
    lengths : RequestLengths
        The workload.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    rate : float
        Arrivals [1/s].
    percentile : float
        At which latencies are read [1].
    arrival_cv : float
        Coefficient of variation of the gaps [1].

    Returns
    -------
    Operation
        In closed form.
    """
    steady = solve_open(table, lengths, policy, limits, rate, arrival_cv)
    ttft, tpot = at_percentile(steady.latency, percentile)
    return Operation(rate=rate, ttft=ttft, tpot=tpot, steady=steady)


def meets(operation: Operation, objective: Objective) -> bool:
    """Whether a replica at a rate keeps an objective.

    Parameters
    ----------
    operation : Operation
        The replica at the rate.
    objective : Objective
        What is asked.

    Returns
    -------
    bool
        False when saturated; a time per token is kept where there is none.
    """
    return (not bool(operation.steady.saturated)
            and (objective.ttft is None or operation.ttft <= objective.ttft)
            and (objective.tpot is None or not operation.tpot > objective.tpot))


def largest(passes: Callable[[float], bool], low: float, high: float, bisections: int = BISECTIONS) -> float:
    """The largest number that passes, for a test that passes below and fails above.

    Parameters
    ----------
    passes : callable
        The test.
    low : float
        A number that passes.
    high : float
        A number that need not.
    bisections : int
        Halvings of the interval [1].

    Returns
    -------
    float
        Passes itself.
    """
    if passes(high):
        return high
    for _ in range(bisections):
        middle = (low + high) / 2.0
        low, high = (middle, high) if passes(middle) else (low, middle)
    return low


def largest_rate(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits,
                 objective: Objective, arrival_cv: float = 1.0) -> Operation:
    """The largest rate at which a replica keeps an objective, at most the load that closed forms are valid for.

    Parameters
    ----------
    table : StepTable
        Without a grid.
    lengths : RequestLengths
        The workload.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    objective : Objective
        What is asked.
    arrival_cv : float
        Coefficient of variation of the gaps [1].

    Returns
    -------
    Operation
        Its rate is zero when even an idle replica misses the objective.
    """
    def at(rate: float) -> Operation:
        return operate(table, lengths, policy, limits, rate, objective.percentile, arrival_cv)

    idle = at(1e-9)
    if not meets(idle, objective):
        return Operation(rate=0.0, ttft=idle.ttft, tpot=idle.tpot, steady=idle.steady)
    top = VALID_LOAD * float(idle.steady.max_request_rate)
    return at(largest(lambda rate: meets(at(rate), objective), 1e-9, top))


def replicas_for(rate: float, per_replica: float) -> int:
    """Replicas that carry a rate.

    Parameters
    ----------
    rate : float
        Demand [1/s].
    per_replica : float
        What one carries [1/s].

    Returns
    -------
    int
        At least one; exact multiples are not rounded up.
    """
    return max(1, math.ceil(rate / per_replica - 1e-9))
