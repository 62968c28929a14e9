"""Formats of a question that no format is named: refused with the field they stand in, before anything is tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.precision import cache_format, weight_format
from planner.services.plan.question import AUTO, Deployment
from planner.services.pointers import at


def check_weights(name: str, pointer: str) -> None:
    """Refuse a weight format that is none; auto is what the checkpoint declares."""
    if name != AUTO:
        with at(pointer):
            weight_format(name)


def check_cache(name: str, pointer: str) -> None:
    """Refuse a KV-cache format that is none; auto is what the checkpoint declares."""
    if name != AUTO:
        with at(pointer):
            cache_format(name)


def check_all_weights(names: Sequence[str], pointer: str) -> None:
    """Refuse the first of several weight formats that is none."""
    for place, name in enumerate(names):
        check_weights(name, f"{pointer}/{place}")


def deployment_of(document: Mapping[str, Any], field: str = "deployment") -> Deployment:
    """The deployment in a question's document, its formats checked."""
    made = Deployment(**document.get(field) or {})
    check_weights(made.weights, f"/{field}/weights")
    check_cache(made.kv_cache, f"/{field}/kv_cache")
    return made
