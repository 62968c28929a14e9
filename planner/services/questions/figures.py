"""Figures read out of a plan's answer: value, text and interval; nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner.core.quantities.format import binary_bytes, seconds, significant
from planner.services.questions.reply import Figure

Format = Callable[[float], str]


def rate(value: float) -> str:
    """Tokens a second."""
    return f"{significant(value)} tok/s"


def dollars(value: float) -> str:
    """Money, to the cent below a hundred."""
    return f"${value:,.2f}" if abs(value) < 100 else f"${value:,.0f}"


def whole(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


FIGURES: Mapping[str, tuple[str, str, Format]] = {
    "user": ("Per user", "serving.tokens_per_s_per_user", rate),
    "served": ("Total", "serving.output_tokens_per_s", rate),
    "decode": ("Decode total", "decode.tokens_per_s", rate),
    "tpot": ("TPOT mean", "serving.tpot_s.mean", seconds),
    "ttft": ("TTFT p95", "serving.ttft_s.p95", seconds),
    "cost": ("Cost per million output tokens", "cost.usd_per_million_output_tokens", dollars),
    "room": ("Requests the KV cache holds", "fit.max_concurrency", whole),
    "context": ("Longest context in memory", "fit.max_context_tokens", whole),
    "weights": ("Weights per GPU", "fit.weights_bytes", binary_bytes),
    "pool": ("KV cache per GPU", "fit.kv_pool_bytes", binary_bytes),
    "short": ("Short by, per GPU", "fit.shortfall_bytes", binary_bytes),
    "crossover": ("KV crossover", "decode.batch_crossover", significant),
    "critical": ("B*", "decode.batch_critical", significant),
    "reach": ("Most requests per second", "serving.max_request_rate", significant),
    "batch": ("Batch at this load", "decode.batch", significant),
    "step": ("Decode step", "decode.step_time_s", seconds),
}
_STEP_ALONE = ("Per user", "decode.tokens_per_s_per_user", rate)
"""Per user where no load is served: of the decode step alone."""
_BY_INTENT: Mapping[str, tuple[str, ...]] = {
    "fits": ("weights", "pool", "room", "context", "user", "short"),
    "batch": ("room", "crossover", "critical", "batch", "step"),
    "cost": ("cost", "served", "user", "room"),
    "why": ("user", "step", "crossover", "critical"),
}
_MISFIT = ("weights", "short")
"""What is said of a plan that does not fit: speeds it will never reach are left out."""
_PLAN = ("user", "served", "tpot", "ttft", "cost", "room")


def lookup(answer: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - a JSON value
    """The value at a dotted path, None when any part of it is missing."""
    value: Any = answer
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def paced(answer: Mapping[str, Any]) -> bool:
    """Whether a served user reads at a speed: an answer of one token has none."""
    return answer["serving"] is None or lookup(answer, "serving.tpot_s.mean") is not None


def figures_of(answer: Mapping[str, Any], intent: str) -> tuple[Figure, ...]:
    """The figures an intent shows, those without a value left out."""
    found = []
    for name in _BY_INTENT.get(intent, _PLAN) if answer["fit"]["fits"] else _MISFIT:
        figure = figure_of(answer, name)
        if name == "user" and not paced(answer):
            continue
        if figure.value is not None and not (name == "short" and not figure.value):
            found.append(figure)
    return tuple(found)


def figure_of(answer: Mapping[str, Any], name: str) -> Figure:
    """One named figure."""
    label, path, text = FIGURES[name]
    if name == "user" and not lookup(answer, path):
        label, path, text = _STEP_ALONE
    value = lookup(answer, path)
    low, high = (answer.get("intervals") or {}).get(path) or (None, None)
    return Figure(label=label, path=path, value=value, text="–" if value is None else text(value),
                  low=None if low is None else text(low), high=None if high is None else text(high))
