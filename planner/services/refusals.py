"""Refusals told inside an answer: of one plan of a comparison, one configuration of a sweep, a job."""

from __future__ import annotations

from typing import Any

from planner.core.errors import PlannerError
from planner.services.pointers import rooted


def told(error: PlannerError) -> dict[str, Any]:
    """Return a refusal with what a problem document says of it; facts, candidates and pointers only where known."""
    found: dict[str, Any] = {"code": error.code, "detail": error.detail, "hint": error.hint}
    extra = {"fact": getattr(error, "fact", None), "candidates": list(getattr(error, "candidates", ()))}
    found |= {name: value for name, value in extra.items() if value}
    if error.pointer is not None:
        found["errors"] = [{"pointer": rooted(error.pointer), "message": error.detail}]
    return found
