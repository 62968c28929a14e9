"""The sections of a plan's answer, in the contract's names: fit, decode, prefill, serving."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np

from planner.core.execution.prompt import PromptCost
from planner.core.execution.summary import StepSummary
from planner.core.memory.fit import MemoryFit
from planner.core.operators.attention import Cores
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.numeric import Number
from planner.core.serving.steady_state import Limit, SteadyState
from planner.services.plan.configuration import Configuration
from planner.services.plan.load import LIMIT_NAMES, Load
from planner.services.plan.question import Objective, PlanQuestion
from planner.services.plan.reading import simulation_of

Answer = dict[str, Any]


def finite(value: Number) -> float | None:
    """The number, or None where it grows without bound or is not a number: JSON has neither."""
    number = float(value)
    return number if isfinite(number) else None


def fit_section(fit: MemoryFit) -> Answer:
    """Memory of the replica; bytes per busiest GPU."""
    return {
        "fits": fit.fits, "reason": fit.reason, "shortfall_bytes": fit.shortfall_bytes,
        "capacity_bytes": fit.capacity_bytes, "usable_bytes": fit.usable_bytes, "weights_bytes": fit.weights_bytes,
        "activation_bytes": fit.activation_bytes, "other_bytes": fit.other_bytes, "kv_pool_bytes": fit.kv_pool_bytes,
        "kv_bytes_per_token": fit.kv_bytes_per_token, "kv_capacity_tokens": fit.kv_capacity_tokens,
        "max_concurrency": fit.max_concurrency, "max_context_tokens": fit.max_context_tokens,
    }


def _traffic(summary: StepSummary) -> Answer:
    return {"weights_bytes": summary.weights_bytes, "kv_bytes": summary.cache_bytes,
            "activation_bytes": summary.activation_bytes, "link_bytes": summary.link_bytes,
            "total_bytes": summary.total_bytes}


def _operators(summary: StepSummary, cores: Cores) -> list[Answer]:
    """Every operator row; attention rows with the window that tells them from their likes."""
    windows: dict[str, list[float]] = {}
    for name, window in zip(cores.names, (cores.span * cores.stride).tolist(), strict=True):
        windows.setdefault(name, []).append(window)
    lines = []
    for o in reversed(summary.operators):  # projections may share a name with their core and come before it
        window = windows[o.name].pop() if windows.get(o.name) else inf
        lines.append({
            "name": o.name, "count": o.executions, "flop": o.flop, "traffic_bytes": o.traffic_bytes,
            "link_bytes": o.link_bytes, "intensity_flop_per_byte": o.intensity, "time_s": o.time_s, "bound": o.bound,
            "window_tokens": window if isfinite(window) else None})
    return lines[::-1]


def decode_section(configuration: Configuration, load: Load, summary: StepSummary) -> Answer:
    """One decode step; bytes and FLOP per busiest GPU, rates per replica."""
    ideal, chip, crossings = configuration.ideal, configuration.resolved.chip, configuration.crossings
    rate = load.batch / summary.time_s
    kv_and_weights = summary.weights_bytes + summary.cache_bytes
    peak = ideal.block_compute.peak
    return {
        "batch": load.batch, "context_tokens": load.context, "step_time_s": summary.time_s,
        "tokens_per_s_per_user": 1.0 / summary.time_s, "tokens_per_s": rate,
        "tokens_per_s_per_gpu": rate / configuration.layout.gpus, "flop": summary.flop, "traffic": _traffic(summary),
        "intensity_flop_per_byte": summary.flop / summary.total_bytes,
        "ridge_flop_per_byte": peak / chip.bandwidth, "bound": summary.bound, "time_shares": summary.shares,
        "overhead_s": summary.overhead_s,
        "fraction_of_peak": summary.flop / (peak * summary.time_s),
        "bandwidth_fraction": summary.total_bytes / (chip.bandwidth * summary.time_s),
        "kv_fraction": summary.cache_bytes / kv_and_weights if kv_and_weights else 0.0,
        "batch_critical": configuration.batch_critical,
        "batch_critical_effective": configuration.batch_critical_effective,
        "batch_critical_step": None if configuration.table.coarse else crossings.critical_step(load.context),
        "batch_crossover": crossings.crossover(load.context),
        "batch_crossover_simple": simple_crossover(configuration, load.context),
        "operators": _operators(summary, configuration.ideal.table.cores),
    }


def simple_crossover(configuration: Configuration, context: Numeric) -> Number:
    """s·P/KV with all parameters, as the texts write it; None where nothing is cached."""
    each = configuration.footprint.bytes_per_sequence(context)
    if not (each.any() if isinstance(each, np.ndarray) else each):
        return None
    return configuration.nominal_bytes / (each * configuration.layout.tensor * configuration.layout.pipeline)


def prefill_section(configuration: Configuration, prompt: PromptCost) -> Answer:
    """One prompt on an idle replica; bytes and FLOP per busiest GPU."""
    summary = prompt.summary
    return {
        "tokens": prompt.tokens, "chunks": prompt.chunks, "time_s": summary.time_s,
        "tokens_per_s": prompt.tokens / summary.time_s, "flop": summary.flop, "traffic": _traffic(summary),
        "intensity_flop_per_byte": summary.flop / summary.total_bytes, "bound": summary.bound,
        "time_shares": summary.shares, "operators": _operators(summary, configuration.ideal.table.cores),
    }


def serving_section(configuration: Configuration, steady: SteadyState, question: PlanQuestion) -> Answer:
    """The replica under load; rates and concurrency per replica."""
    times = steady.latency
    ttft = {"mean": times.ttft_mean, "p50": times.ttft_p50, "p95": times.ttft_p95, "p99": times.ttft_p99}
    tpot = {"mean": times.tpot_mean, "p95": times.tpot_p95, "p99": times.tpot_p99}
    between = {"mean": times.itl_mean, "p99": times.itl_p99}
    open_loop = question.workload.request_rate is not None
    saturated = bool(steady.saturated)
    meets = _meets(question.objective, float(times.ttft_p95), float(times.tpot_p95), overloaded=saturated and open_loop)
    return {
        "concurrency": finite(steady.concurrency), "request_rate": float(steady.request_rate),
        "ttft_s": {k: finite(v) for k, v in ttft.items()},
        "tpot_s": {k: finite(v) for k, v in tpot.items()},
        "tokens_per_s_per_user": finite(times.speed_mean),
        "itl_s": {k: finite(v) for k, v in between.items()},
        "e2e_s": {"mean": finite(times.e2e_mean), "p95": finite(times.e2e_p95)},
        "ttft_benchmark_s": finite(steady.ttft_benchmark),
        "output_tokens_per_s": float(steady.output_tokens_per_s),
        "total_tokens_per_s": float(steady.total_tokens_per_s),
        "output_tokens_per_s_per_gpu": float(steady.output_tokens_per_s) / configuration.layout.gpus,
        "utilization": float(steady.utilization), "saturated": saturated,
        "near_saturation": bool(steady.near_saturation), "max_request_rate": float(steady.max_request_rate),
        "mean_batch": float(steady.batch), "mixed_step_share": float(steady.phi),
        "mixed_step_time_s": float(steady.t_mixed),
        "limit": LIMIT_NAMES[Limit(int(steady.limit))], "meets_slo": meets,
        "simulation": simulation_of(question) if saturated or steady.near_saturation else None,
    }


def _meets(objective: Objective, ttft: float, tpot: float, *, overloaded: bool) -> bool | None:
    """Whether the 95th percentiles meet the objective; None when none was given. No time per token is met too."""
    if objective.ttft_s is None and objective.tpot_s is None:
        return None
    if overloaded:
        return False
    first = objective.ttft_s is None or ttft <= objective.ttft_s
    each = objective.tpot_s is None or not tpot > objective.tpot_s
    return first and each
