"""Disaggregated serving: a prefill pool feeds a decode pool; which integer ratio carries a rate, and how well.

References
----------
Zhong et al., DistServe, OSDI 2024 (pools and their ratio); Allen, Probability, Statistics and Queueing Theory, 1990,
§5.4 (the wait of a GI/G/1 queue); Takács, Oper. Res. 10, 1962 (its second moment).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.core.execution.step_table import Steps
from planner.core.quantities.numeric import Number
from planner.core.serving.latency import Latencies
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.percentiles import Z95, lognormal_quantile
from planner.core.serving.policy import PrefillOrder, SchedulerPolicy, ServingLimits
from planner.core.serving.steady_state import VALID_LOAD, solve_open
from planner.core.serving.step_law import bind


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolKind:
    """One pool's engine."""

    table: Steps
    policy: SchedulerPolicy
    limits: ServingLimits
    gpus: int
    """GPUs of one replica [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One integer split of GPUs into pools."""

    prefill_replicas: int
    decode_replicas: int
    gpus: int
    stable: bool
    """Both pools carry the rate."""
    near_saturation: bool
    prefill_load: float
    """Share of the prefill pool's capacity in use; above 1 its queue grows without bound [1]."""
    decode_load: float
    ttft_mean: float
    ttft_p95: float
    tpot_mean: float
    tpot_p95: float
    """[s]; inf where the pool is unstable."""
    max_rate: float
    """Largest rate of the split [1/s]."""


def prefill_capacity(kind: PoolKind, lengths: RequestLengths) -> tuple[float, float]:
    """Time and capacity of a replica that runs prompts alone, one after another.

    Parameters
    ----------
    kind : PoolKind
        The prefill engine.
    lengths : RequestLengths
        The workload.

    Returns
    -------
    tuple of float
        Mean time of a prompt [s] and prompts per second of one replica [1/s].
    """
    law = bind(kind.table, lengths, kind.policy, kind.limits)
    prompt = float(law.lengths.prompt)
    chunk: Number = min(prompt, float(law.budget))
    base, _ = kind.table.base_on_grid(chunk)
    step = float(base) + float(kind.table.prefill_extra)
    time = step * prompt / chunk + float(kind.table.per_pair) * float(law.lengths.pairs_per_token) * prompt
    return time, float(law.groups) / time


def evaluate(prefill: PoolKind, decode: PoolKind, replicas: tuple[int, int], lengths: RequestLengths, rate: float,
             transfer_s: float) -> Ratio:
    """One split at a rate.

    Parameters
    ----------
    prefill : PoolKind
        The prefill engine.
    decode : PoolKind
        The decode engine.
    replicas : tuple of int
        Prefill and decode replicas [1].
    lengths : RequestLengths
        The workload.
    rate : float
        Arrivals at the whole system [1/s].
    transfer_s : float
        Time to hand a mean prompt's cache over [s].

    Returns
    -------
    Ratio
        Requests are dealt in turn, so each of R prefill replicas meets gaps of squared variation 1/R (Allen-Cunneen);
        the transfer lengthens the first gap.
    """
    first, second = replicas
    time, capacity = prefill_capacity(prefill, lengths)
    load = rate / (first * capacity)
    spread = 1.0 + float(lengths.input_cv) ** 2
    wait = load * time * (1.0 / first + spread - 1.0) / (2.0 * (1.0 - load)) if load < 1.0 else math.inf
    latency = prefill.policy.request_latency_s
    ttft = latency + wait + time
    variance = time**2 * (spread - 1.0) + wait**2 + load * time**2 * spread**3 / (3.0 * max(1.0 - load, 1e-9))
    decoding, decode_max = _decode(decode, lengths, rate / second)
    answers = max(float(lengths.output_tokens) - 1.0, 1.0)
    carried = min(first * capacity, second * decode_max)
    stable = load < 1.0 and decoding is not None
    return Ratio(
        prefill_replicas=first, decode_replicas=second, gpus=first * prefill.gpus + second * decode.gpus, stable=stable,
        near_saturation=rate > VALID_LOAD * carried, prefill_load=load, decode_load=rate / second / decode_max,
        ttft_mean=ttft, ttft_p95=float(lognormal_quantile(ttft, variance, Z95)) if load < 1.0 else math.inf,
        tpot_mean=math.inf if decoding is None else float(decoding.tpot_mean) + transfer_s / answers,
        tpot_p95=math.inf if decoding is None else float(decoding.tpot_p95) + transfer_s / answers,
        max_rate=carried)


def _decode(kind: PoolKind, lengths: RequestLengths, rate: float) -> tuple[Latencies | None, float]:
    """Latencies of a replica that only decodes: its prompts cost one token each, everything else is cached."""
    whole = float(lengths.input_tokens)
    cached = replace(lengths, prefix_cache_hit=(whole - 1.0) / whole, input_cv=0.0)
    steps: Number = kind.table
    table = replace(steps, prefill_extra=0.0 * steps.prefill_extra, per_pair=0.0 * steps.per_pair)
    policy = replace(kind.policy, request_latency_s=0.0, order=PrefillOrder.MIXED)
    steady = solve_open(table, cached, policy, kind.limits, rate)
    return None if bool(steady.saturated) else steady.latency, float(steady.max_request_rate)


def search(prefill: PoolKind, decode: PoolKind, gpus: int, lengths: RequestLengths, rate: float,
           transfer_s: float) -> Sequence[Ratio]:
    """Every split of up to a number of GPUs into whole replicas, the best first.

    Parameters
    ----------
    prefill : PoolKind
        The prefill engine.
    decode : PoolKind
        The decode engine.
    gpus : int
        GPUs to split, all of them used as far as whole replicas allow [1].
    lengths : RequestLengths
        The workload.
    rate : float
        Arrivals at the whole system [1/s].
    transfer_s : float
        Time to hand a mean prompt's cache over [s].

    Returns
    -------
    sequence of Ratio
        Stable ones first, then by the largest rate; unstable ones are kept and marked.
    """
    found = []
    for first in range(1, (gpus - decode.gpus) // prefill.gpus + 1):
        second = (gpus - first * prefill.gpus) // decode.gpus
        found.append(evaluate(prefill, decode, (first, second), lengths, rate, transfer_s))
    return sorted(found, key=lambda r: (not r.stable, -r.max_rate))
