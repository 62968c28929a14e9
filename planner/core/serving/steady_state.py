"""Steady state of a replica in closed form: rates, batch, latencies and what saturates first, over a grid.

Nothing here simulates; percentiles are moment-matched estimates, and answers hold up to `VALID_LOAD` of the largest
rate. Checked against core/simulation; see docs of the tests for the measured differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.core.execution.step_table import Steps
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric, require_non_negative, require_positive
from planner.core.quantities.numeric import Number
from planner.core.serving.closed_loop import closed
from planner.core.serving.fixed_point import LARGEST_EXPONENT, Flow, at_least_one, open_loop, token_cap
from planner.core.serving.latency import Latencies, latencies
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.serving.step_law import TINY, StepLaw, bind, running_limit

Truth: TypeAlias = npt.NDArray[np.bool_]

VALID_LOAD = 0.85
"""Share of the largest rate up to which the closed forms were checked against simulation [1]."""


class Limit(IntEnum):
    """What saturates first as load grows."""

    KV_CAPACITY = 1
    MAX_NUM_SEQS = 2
    TOKEN_BUDGET = 3
    """Every step is full of tokens: compute, or the fixed time of a step when the budget is small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyState:
    """A replica under load; every field has the grid's shape."""

    request_rate: Number
    """Requests answered, all groups [1/s]."""
    max_request_rate: Number
    """Largest rate the replica sustains [1/s]."""
    load: Number
    """request_rate asked / max_request_rate; above 1 in an open loop that cannot be served [1]."""
    saturated: Truth
    """Arrivals exceed what can be served (open), or users wait for a place (closed); bool."""
    near_saturation: Truth
    """Open loop above `VALID_LOAD`: latencies are lower bounds; bool."""
    limit: Number
    """`Limit` codes of what saturates first, int."""
    running_capacity: Number
    """Sequences the replica can run at once [1]."""
    concurrency: Number
    """Requests in the system, waiting ones included; inf when it grows without bound [1]."""
    batch: Number
    """Mean decode batch of the replica over its non-empty steps [1]."""
    rank_batch: Number
    """The same in one attention group [1]."""
    context: Number
    """Length-biased mean context [token]."""
    t_decode: Number
    """Pure decode step [s]."""
    t_step: Number
    """Mean time a decoding request takes for a step, prompts beside it included [s]."""
    t_mixed: Number
    """Decode step with its mean lump of prompt tokens, or the prompt step of a scheduler that runs them alone [s]."""
    phi: Number
    """Share of decode steps lengthened by prompts [1]."""
    prompt_tokens_per_mixed_step: Number
    latency: Latencies
    """Latencies in steady state; inf where the queue grows without bound."""
    ttft_benchmark: Number
    """Mean TTFT of a benchmark run that starts with all users at once; equals the steady mean in an open loop [s]."""
    output_tokens_per_s: Number
    total_tokens_per_s: Number
    utilization: Number
    """Share of the largest rate in use, at most 1 [1]."""


def solve_closed(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits,
                 concurrency: Numeric) -> SteadyState:
    """Steady state with a fixed number of requests in flight.

    Parameters
    ----------
    table : StepTable
        Step times of one attention group (data-parallel rank, pipeline micro-batch); its grid broadcasts.
    lengths : RequestLengths
        The workload.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    concurrency : float or ndarray
        Requests in flight on the replica [1].

    Returns
    -------
    SteadyState
        Of the broadcast shape.

    Raises
    ------
    InvalidQuantity
        A number out of its range.
    """
    law = bind(table, lengths, policy, limits)
    asked = require_positive("concurrency", concurrency)
    users = num.maximum(asked / law.groups, 1.0)
    by_cache, by_limit = running_limit(law, limits)
    running = num.minimum(by_cache, by_limit)
    served = num.minimum(users, running)
    flow = closed(law, served, policy.request_latency_s)
    largest = closed(law, num.minimum(by_cache, by_limit), 0.0)
    active = asked / users
    wait = (users - served) / flow.rate
    result = latencies(law, flow, wait=wait, wait_variance=0.0 * wait, closed_users=served)
    burst = policy.wave_coefficient
    prefill = flow.per_token * law.lengths.prompt
    alone = result.ttft_mean - wait
    benchmark = wait + (1.0 - 2.0 * burst) * alone + burst * (served + 1.0) * num.where(users <= 1.0, alone, prefill)
    rate = flow.rate * active
    return _assemble(law, flow, result, asked_rate=rate, largest=num.maximum(largest.rate * law.groups, rate),
                     limits=(by_cache, by_limit), saturated=users > running, benchmark=benchmark, in_flight=asked)


def solve_open(table: Steps, lengths: RequestLengths, policy: SchedulerPolicy, limits: ServingLimits,
               request_rate: Numeric, arrival_cv: Numeric = 1.0) -> SteadyState:
    """Steady state with arrivals of a given rate.

    Parameters
    ----------
    table : StepTable
        Step times of one attention group; its grid broadcasts.
    lengths : RequestLengths
        The workload.
    policy : SchedulerPolicy
        The engine.
    limits : ServingLimits
        Sizes of the replica.
    request_rate : float or ndarray
        Arrivals at the replica [1/s].
    arrival_cv : float or ndarray
        Coefficient of variation of the gaps between arrivals; 1 is Poisson, 0 evenly spaced [1].

    Returns
    -------
    SteadyState
        Where the rate exceeds the largest one: throughput at saturation, latencies inf.

    Raises
    ------
    InvalidQuantity
        A number out of its range.
    """
    law = bind(table, lengths, policy, limits)
    asked, gaps_cv = num.together(require_positive("request_rate", request_rate),
                                  require_non_negative("arrival_cv", arrival_cv))
    by_cache, by_limit = running_limit(law, limits)
    running = num.minimum(by_cache, by_limit)
    fullest = closed(law, running, 0.0)
    largest = fullest.rate * law.groups
    saturated = asked >= largest
    rate = num.minimum(asked, largest)
    flow = open_loop(law, rate / law.groups, running, fullest)
    wanted = flow.rate * (flow.first_token + law.decode_steps * flow.step)
    crowded = num.where(saturated, 0.0, num.where(wanted >= running, 1.0, 0.0)) > 0.0
    largest = num.where(crowded, asked * running / num.maximum(wanted, running), largest)
    saturated = asked >= largest
    wait, variance = _slot_wait(law, flow, running, gaps_cv)
    result = latencies(law, flow, wait=num.where(saturated, inf, wait), wait_variance=variance, closed_users=None)
    in_flight = rate * result.e2e_mean
    return _assemble(law, flow, result, asked_rate=asked, largest=largest, limits=(by_cache, by_limit),
                     saturated=saturated, benchmark=result.ttft_mean, in_flight=in_flight)


def _slot_wait(law: StepLaw, flow: Flow, running: Number, arrival_cv: Number) -> tuple[Number, Number]:
    """Mean and variance of the wait for a running place, and what bursts add to the prompt queue."""
    service = flow.first_token + law.decode_steps * flow.step
    busy = num.minimum(flow.rate * service / running, 1.0 - 1e-6)
    exponent = (num.sqrt(2.0 * (running + 1.0)) - 1.0) * num.log(num.maximum(busy, TINY))
    delayed = num.exp(num.maximum(exponent, -LARGEST_EXPONENT))
    spread = law.lengths.output_square / law.lengths.output**2 - 1.0
    places = delayed * service / running / (1.0 - busy) * (arrival_cv**2 + spread) / 2.0
    burst = num.maximum(arrival_cv**2 - 1.0, -1.0) / 2.0
    prompts = num.maximum(burst * (flow.backlog + flow.busy * (flow.own - flow.per_token * law.lengths.prompt)),
                         -flow.backlog)
    return places + prompts, 2.0 * places**2 / num.maximum(delayed, 1e-6) + num.maximum(prompts, 0.0)**2


def _assemble(law: StepLaw, flow: Flow, result: Latencies, *, asked_rate: Number, largest: Number,
              limits: tuple[Number, Number], saturated: Truth, benchmark: Number, in_flight: Number) -> SteadyState:
    by_cache, by_limit = limits
    rate = num.minimum(asked_rate, largest)
    running = num.minimum(by_cache, by_limit)
    cap_batch, _ = token_cap(law, running)
    limit = num.where(cap_batch < running, Limit.TOKEN_BUDGET,
                     num.where(by_cache < by_limit, Limit.KV_CAPACITY, Limit.MAX_NUM_SEQS))
    nonempty = flow.batch if result.closed else num.where(
        flow.mean_batch > 0, flow.mean_batch / at_least_one(num.maximum(flow.mean_batch, 1e-9)), 1.0)
    nonempty = num.clip(nonempty, 1.0, running)
    load = asked_rate / largest
    return SteadyState(
        request_rate=rate, max_request_rate=largest, load=load, saturated=num.spread(saturated, rate),
        near_saturation=num.spread((load > VALID_LOAD) & (not result.closed), rate),
        limit=num.spread(limit, rate), running_capacity=num.spread(running * law.groups, rate),
        concurrency=num.spread(in_flight, rate), batch=nonempty * rate / flow.rate, rank_batch=nonempty,
        context=num.spread(law.lengths.context, rate), t_decode=flow.t_decode, t_step=flow.step, t_mixed=flow.t_mixed,
        phi=flow.phi, prompt_tokens_per_mixed_step=flow.lump, latency=result, ttft_benchmark=benchmark,
        output_tokens_per_s=rate * law.lengths.output,
        total_tokens_per_s=rate * (law.lengths.output + law.lengths.full_prompt),
        utilization=num.minimum(load, 1.0))
