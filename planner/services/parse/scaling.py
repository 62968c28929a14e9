"""Edits by a factor: "double the load", "half of that", "twice the context"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from planner.services.parse.canvas import Canvas
from planner.services.parse.quantities import tidy

_FACTORS = {"hal": 0.5, "dou": 2.0, "twi": 2.0, "tri": 3.0, "qua": 4.0, "dop": 2.0, "ver": 2.0, "die": 0.5}
_SCALED = re.compile(
    r"(?<!\w)(?P<by>half|halve|double|twice|triple|quadruple|doppelte\w*|verdoppel\w*|die h[aä]lfte)\s"
    r"(?:of |der |die |das )?(?:the |our |that |as |this )?(?:(?:number|amount) of )?"
    r"(?P<what>that|it|them|many|gpus?|cards?|count|boxes|nodes|hardware|load|traffic|rate|rps|qps|requests|users"
    r"|people|concurrency|clients|context|ctx|window|kontext|prompts?|inputs?|answers?|outputs?|budget|last)(?!\w)"
)
_KEYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"load|traffic|last", ("request_rate", "concurrency", "users")),
    (r"rate|rps|qps|requests", ("request_rate", "concurrency")),
    (r"users|people", ("users", "concurrency")),
    (r"conc|clients", ("concurrency",)),
    (r"context|ctx|window|kontext", ("context_tokens", "input_tokens")),
    (r"prompt|input", ("input_tokens", "context_tokens")),
    (r"answer|output", ("output_tokens",)),
    (r"budget", ("budget_usd",)),
)


def read_scaling(canvas: Canvas, before: Mapping[str, Any], said: dict[str, Any]) -> int | None:
    """Scale a value of the earlier request; a count of GPUs is returned, everything else goes into ``said``."""
    match = _SCALED.search(canvas.open)
    if match is None:
        return None
    factor = _FACTORS[match["by"][:3]]
    keys = next((keys for pattern, keys in _KEYS if re.match(pattern, match["what"])), None)
    if keys is None:
        return _count(canvas, match, before, said, factor)
    key = next((k for k in keys if isinstance(before.get(k), int | float)), None)
    if key is not None and key not in said:
        canvas.claim(*match.span())
        said[key] = tidy(before[key] * factor)
    return None


def _count(
    canvas: Canvas, match: re.Match[str], before: Mapping[str, Any], said: Mapping[str, Any], factor: float
) -> int | None:
    """The scaled count of GPUs, when one was said for all and it stays whole."""
    counts = set(before.get("gpus") or ())
    if said and match["what"] in {"that", "it", "them"}:
        return None  # "double that: 80 rpm" is about what follows
    value = counts.pop() * factor if len(counts) == 1 and None not in counts else 0.0
    if value < 1 or not float(value).is_integer():
        return None
    canvas.claim(*match.span())
    return int(value)
