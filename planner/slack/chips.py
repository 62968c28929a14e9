"""Everything understood, echoed in small pieces, so that a misreading is visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.core.quantities.format import prefixed, seconds, significant
from planner.slack.elements import escaped

_WARN = {
    "currency": "The price was given in another currency; it is used at face value, without conversion.",
    "node_price": "The price was read as the whole box's and divided by its GPUs.",
    "itl_as_tpot": "Inter-token latency is taken as time per output token.",
    "unknown_model": "Nothing was put in the unknown model's place; the nearest ones are offered.",
    "unknown_sku": "Nothing was put in the unknown GPU's place; the nearest ones are offered.",
}


def warning(code: str) -> str:
    """A warning of the grammar in words."""
    return _WARN.get(code, code)


def chips(parse: Mapping[str, Any]) -> list[str]:
    """What was said, as short phrases."""
    found = [str(name) for name in parse.get("models") or ([parse["model"]] if "model" in parse else [])]
    counts = parse.get("gpus") or [None] * len(parse.get("skus", ()))
    found += [f"{n} × {s}" if n else str(s) for s, n in zip(parse.get("skus", ()), counts, strict=False)]
    for key, write in _WRITERS.items():
        if key in parse:
            value = parse[key]
            found.append(" / ".join(write(v) for v in value) if isinstance(value, list) else write(value))
    return [escaped(text) for text in found]


def _slo(value: Mapping[str, float]) -> str:
    parts = [f"TTFT ≤ {seconds(value['ttft_s'])}"] if "ttft_s" in value else []
    parts += [f"TPOT ≤ {seconds(value['tpot_s'])}"] if "tpot_s" in value else []
    return " and ".join(parts) + (f" at p{100 * value['percentile']:g}" if "percentile" in value else "")


def _price(value: Mapping[str, Any]) -> str:
    prices = value["usd_per_gpu_hour"]
    return " / ".join(f"${p:g}" for p in (prices if isinstance(prices, list) else [prices])) + " per GPU hour"


_WRITERS: Mapping[str, Callable[[Any], str]] = {
    "tensor_parallel": lambda v: f"TP{v}",
    "pipeline_parallel": lambda v: f"PP{v}",
    "data_parallel": lambda v: f"DP{v}",
    "expert_parallel": lambda v: f"EP{v}",
    "weights": lambda v: f"weights {v}",
    "kv_cache": lambda v: f"KV {v}",
    "context_tokens": lambda v: f"context {v:,.0f}",
    "input_tokens": lambda v: f"prompt {v:,.0f}",
    "output_tokens": lambda v: f"answer {v:,.0f}",
    "concurrency": lambda v: f"{v:,.0f} in flight",
    "users": lambda v: f"{v:,.0f} users",
    "request_rate": lambda v: f"{significant(v)} requests/s",
    "slo": _slo,
    "price": _price,
    "api_price": lambda v: f"API ${v['usd_per_million_tokens']:g} per M tokens",
    "budget_usd": lambda v: f"budget ${v:,.0f}",
    "power_w": lambda v: prefixed(v, "W"),
    "engine": str,
    "memory_utilization": lambda v: f"{v:.0%} of memory",
    "prefix_cache_hit": lambda v: f"{v:.0%} prefix hits",
    "tokens_per_month": lambda v: f"{significant(v)} tokens a month",
}
