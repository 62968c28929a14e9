"""The load part of a plan: the steady state of one replica, or the batch that datasheet ceilings are asked about."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from planner.core.memory.fit import MemoryFit
from planner.core.quantities import numeric as num
from planner.core.quantities.numeric import Number
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
    room: float
    """Sequences that the KV pool holds at once at the length of a request, or a longer context asked about [1]."""
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
        batch = workload.batch
    elif steady is not None and (configuration.resolved.profile is not None or workload.concurrency is None):
        batch = max(float(steady.batch), 1.0)
    else:
        batch = float(admitted(configuration, deployment, workload, fit))
    return Load(batch=batch, context=context, request_tokens=tokens, room=float(room(workload, fit)), steady=steady)


def room(workload: Workload, fit: MemoryFit) -> Number:
    """Sequences that the KV pool holds at once while they decode, each a whole request or the context asked about."""
    tokens: Number = workload.input_tokens + workload.output_tokens
    return fit.sequences(tokens if workload.context_tokens is None else num.maximum(tokens, workload.context_tokens))


def admitted(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> Number:
    """Sequences that decode when all that are asked and have a place do; arrays over a grid.

    A place is one of ``max_num_seqs`` on each data-parallel rank and, where the deployment fits, room in the KV pool
    for a whole request, or for the context asked about if that is longer.
    """
    asked = 1.0 if workload.concurrency is None else workload.concurrency
    seats = num.minimum(asked, deployment.max_num_seqs * configuration.layout.data)
    held = num.where(fit.fits, room(workload, fit), inf)
    if isinstance(held, np.ndarray) and held.min() >= np.max(seats):
        return num.maximum(seats, 1.0)  # not spread over a grid of contexts where none of them limits it
    return num.maximum(num.minimum(seats, held), 1.0)


def solve(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> SteadyState:
    """The steady state of a replica that fits."""
    table = configuration.plain_table(mean_context(workload))
    lengths = lengths_of(workload)
    limits = configuration.limits(deployment, fit)
    if workload.request_rate is not None:
        return solve_open(table, lengths, configuration.policy, limits, workload.request_rate, workload.arrival_cv)
    return solve_closed(table, lengths, configuration.policy, limits, workload.concurrency or 1.0)
