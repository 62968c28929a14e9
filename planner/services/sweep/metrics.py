"""The columns a sweep can answer: each a function of the grid's fit, decode, prefill and serving arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from planner.core.execution.crossover import Crossings
from planner.core.execution.step import BOUNDS
from planner.core.fleet.unit import usd_per_million
from planner.core.quantities.arrays import Array
from planner.services.plan.load import LIMIT_NAMES
from planner.services.plan.sections import simple_crossover
from planner.services.sweep.grid import Grid

Metric = Callable[[Grid], Any]
LABELS: Mapping[str, tuple[str | None, ...]] = {
    "decode.bound": BOUNDS, "prefill.bound": BOUNDS,
    "serving.limit": (None, *(LIMIT_NAMES[code] for code in sorted(LIMIT_NAMES))),
}
"""Columns whose numbers are indices into these words."""

LATENCIES = {"ttft": ("mean", "p50", "p95", "p99"), "tpot": ("mean", "p95", "p99"), "itl": ("mean", "p99"),
             "e2e": ("mean", "p95")}


def _per_context(function: Callable[[Crossings, float], float | None]) -> Metric:
    def metric(grid: Grid) -> Array:
        contexts = np.asarray(grid.context)
        found = [function(grid.configuration.crossings, c) for c in contexts.ravel().tolist()]
        return np.array([np.nan if v is None else v for v in found]).reshape(contexts.shape)
    return metric


def _served(pick: Callable[[Any], Any]) -> Metric:
    def metric(grid: Grid) -> Array:
        return np.where(grid.fit.fits, pick(grid.steady), np.nan)
    return metric


def _latency(field: str) -> Metric:
    return _served(lambda steady: getattr(steady.latency, field))


def _memory(field: str) -> Metric:
    return lambda grid: getattr(grid.fit, field)


def _cost(tokens: str) -> Metric:
    def metric(grid: Grid) -> Array:
        rate = np.where(grid.fit.fits, getattr(grid.steady, tokens), np.nan)
        hourly = grid.price * grid.configuration.layout.gpus
        return np.asarray(usd_per_million(hourly, 1.0)) / rate
    return metric


METRICS: Mapping[str, Metric] = {
    "fit.fits": lambda g: g.fit.fits,
    **{f"fit.{name}": _memory(name) for name in (
        "shortfall_bytes", "usable_bytes", "weights_bytes", "activation_bytes", "other_bytes", "kv_pool_bytes",
        "kv_bytes_per_token", "kv_capacity_tokens", "max_concurrency", "max_context_tokens")},
    "decode.batch": lambda g: g.batch,
    "decode.context_tokens": lambda g: g.context,
    "decode.step_time_s": lambda g: g.decode.time,
    "decode.tokens_per_s_per_user": lambda g: 1.0 / g.decode.time,
    "decode.tokens_per_s": lambda g: g.batch / g.decode.time,
    "decode.tokens_per_s_per_gpu": lambda g: g.batch / g.decode.time / g.configuration.layout.gpus,
    "decode.flop": lambda g: g.decode.flop,
    "decode.traffic.weights_bytes": lambda g: g.decode.weights,
    "decode.traffic.kv_bytes": lambda g: g.decode.cache,
    "decode.traffic.activation_bytes": lambda g: g.decode.activations,
    "decode.traffic.link_bytes": lambda g: g.decode.link,
    "decode.traffic.total_bytes": lambda g: g.decode.traffic,
    "decode.intensity_flop_per_byte": lambda g: g.decode.flop / g.decode.traffic,
    "decode.bound": lambda g: g.decode.bound,
    "decode.kv_fraction": lambda g: g.decode.cache / (g.decode.cache + g.decode.weights),
    "decode.fraction_of_peak": lambda g: g.decode.flop / (g.configuration.ideal.block_compute.peak * g.decode.time),
    "decode.bandwidth_fraction": lambda g: g.decode.traffic / (g.configuration.resolved.chip.bandwidth * g.decode.time),
    "decode.batch_critical": lambda g: g.configuration.batch_critical,
    "decode.batch_critical_effective": lambda g: g.configuration.batch_critical_effective,
    "decode.batch_critical_step": lambda g: np.nan if g.configuration.table.coarse else (
        _per_context(Crossings.critical_step)(g)),
    "decode.batch_crossover": _per_context(Crossings.crossover),
    "decode.batch_crossover_simple": lambda g: simple_crossover(g.configuration, np.asarray(g.context)),
    "prefill.tokens": lambda g: g.prompt_tokens,
    "prefill.time_s": lambda g: g.prefill.time,
    "prefill.tokens_per_s": lambda g: g.prompt_tokens / g.prefill.time,
    "prefill.flop": lambda g: g.prefill.flop,
    "prefill.traffic.weights_bytes": lambda g: g.prefill.weights,
    "prefill.traffic.kv_bytes": lambda g: g.prefill.cache,
    "prefill.traffic.activation_bytes": lambda g: g.prefill.activations,
    "prefill.traffic.link_bytes": lambda g: g.prefill.link,
    "prefill.traffic.total_bytes": lambda g: g.prefill.traffic,
    "prefill.intensity_flop_per_byte": lambda g: g.prefill.flop / g.prefill.traffic,
    "prefill.bound": lambda g: g.prefill.bound,
    "serving.concurrency": _served(lambda s: s.concurrency),
    "serving.request_rate": _served(lambda s: s.request_rate),
    **{f"serving.{kind}_s.{q}": _latency(f"{kind}_{q}") for kind, quantiles in LATENCIES.items() for q in quantiles},
    "serving.tokens_per_s_per_user": _latency("speed_mean"),
    "serving.output_tokens_per_s": _served(lambda s: s.output_tokens_per_s),
    "serving.total_tokens_per_s": _served(lambda s: s.total_tokens_per_s),
    "serving.output_tokens_per_s_per_gpu": lambda g: _served(lambda s: s.output_tokens_per_s)(g)
    / g.configuration.layout.gpus,
    "serving.utilization": _served(lambda s: s.utilization),
    "serving.saturated": _served(lambda s: s.saturated),
    "serving.max_request_rate": _served(lambda s: s.max_request_rate),
    "serving.limit": lambda g: np.where(g.fit.fits, g.steady.limit, 0),
    "cost.usd_per_million_output_tokens": _cost("output_tokens_per_s"),
    "cost.usd_per_million_tokens": _cost("total_tokens_per_s"),
    "cost.usd_per_hour": lambda g: np.where(g.fit.fits, g.price * g.configuration.layout.gpus, np.nan),
    "deployment.tensor_parallel": lambda g: float(g.configuration.layout.tensor),
    "deployment.gpus": lambda g: float(g.configuration.layout.gpus),
}
"""Contract path → column; NaN where a plan answers null."""

DEFAULT = ("fit.fits", "fit.max_concurrency", "decode.step_time_s", "decode.tokens_per_s", "decode.bound")
