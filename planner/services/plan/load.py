"""The load part of a plan: the steady state of one replica, or the batch that datasheet ceilings are asked about."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.memory.fit import MemoryFit
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.steady_state import Limit, SteadyState, solve_closed, solve_open
from planner.core.workload import Workload
from planner.services.plan.configuration import Configuration
from planner.services.plan.question import Deployment

LIMIT_NAMES = {Limit.KV_CAPACITY: "kv_capacity", Limit.MAX_NUM_SEQS: "max_num_seqs", Limit.TOKEN_BUDGET: "compute"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Batch and context of a decode step, and the steady state where the deployment fits."""

    batch: float
    """Sequences decoding in the replica [1]."""
    context: float
    """Mean context of a sequence [token]."""
    request_tokens: float
    """Prompt and answer of one request [token]."""
    steady: SteadyState | None


def lengths_of(workload: Workload) -> RequestLengths:
    """The request lengths of a workload."""
    return RequestLengths(
        input_tokens=workload.input_tokens, output_tokens=workload.output_tokens, input_cv=workload.input_cv,
        output_cv=workload.output_cv, prefix_cache_hit=workload.prefix_cache_hit,
        context_tokens=workload.context_tokens)


def mean_context(workload: Workload) -> float:
    """Context a decode step sees on the mean: given, or prompt and half of the answer."""
    if workload.context_tokens is not None:
        return workload.context_tokens
    return workload.input_tokens + workload.output_tokens / 2.0


def load_of(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> Load:
    """The load on a deployment."""
    context, tokens = mean_context(workload), workload.input_tokens + workload.output_tokens
    steady = solve(configuration, deployment, workload, fit) if fit.fits else None
    if workload.batch is not None:
        return Load(batch=workload.batch, context=context, request_tokens=tokens, steady=steady)
    if steady is not None and (configuration.resolved.profile is not None or workload.concurrency is None):
        return Load(batch=max(float(steady.batch), 1.0), context=context, request_tokens=tokens, steady=steady)
    asked = workload.concurrency or 1.0
    batch = min(asked, float(deployment.max_num_seqs * configuration.layout.data))
    if fit.fits and fit.max_concurrency > 0:
        batch = min(batch, fit.max_concurrency)
    return Load(batch=max(batch, 1.0), context=context, request_tokens=tokens, steady=steady)


def solve(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> SteadyState:
    """The steady state of a replica that fits."""
    table = configuration.plain_table(mean_context(workload))
    lengths = lengths_of(workload)
    limits = configuration.limits(deployment, fit.kv_pool_bytes)
    if workload.request_rate is not None:
        return solve_open(table, lengths, configuration.policy, limits, workload.request_rate, workload.arrival_cv)
    return solve_closed(table, lengths, configuration.policy, limits, workload.concurrency or 1.0)
