"""Prefix caching: what a hit saves in time to first token and in rate, and the hit rate that many replicas keep."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.execution.step_table import Steps
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.serving.steady_state import solve_open


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixEffect:
    """One hit share against none, at the same rate."""

    hit: float
    """Share of prompt tokens found in the cache [1]."""
    ttft_before: float
    ttft_after: float
    max_rate_before: float
    max_rate_after: float
    """[1/s]"""


def prefix_effect(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits, rate: float,
                  hit: float) -> PrefixEffect:
    """What a prefix cache does at a rate.

    Parameters
    ----------
    table : StepTable
        Without a grid.
    lengths : RequestLengths
        The workload; its own hit share is replaced.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    rate : float
        Arrivals [1/s].
    hit : float
        Share of prompt tokens found in the cache [1].

    Returns
    -------
    PrefixEffect
        Shared blocks are not counted as saved capacity, which depends on how many requests share them at once:
        a bound from below on the benefit.
    """
    before = solve_open(table, replace(lengths, prefix_cache_hit=0.0), policy, limits, rate)
    after = solve_open(table, replace(lengths, prefix_cache_hit=hit), policy, limits, rate)
    return PrefixEffect(hit=hit, ttft_before=float(before.latency.ttft_mean),
                        ttft_after=float(after.latency.ttft_mean), max_rate_before=float(before.max_request_rate),
                        max_rate_after=float(after.max_request_rate))


def hit_over_replicas(hit: float, replicas: int, turns: float) -> float:
    """Hit share that is left when conversations are dealt over replicas without regard to their prefixes.

    Parameters
    ----------
    hit : float
        Share on one replica, or with prefix-aware routing [1].
    replicas : int
        Replicas [1].
    turns : float
        Mean turns of a conversation so far, at least one [1].

    Returns
    -------
    float
        A turn finds its prefix where an earlier turn went: 1 - (1 - 1/R)^turns of the time [1].
    """
    missed: float = (1.0 - 1.0 / replicas) ** turns
    return hit * (1.0 - missed)
