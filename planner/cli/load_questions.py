"""Sizing, frontier and simulation questions from the command line, checked by the API's own schemas."""

from __future__ import annotations

from typing import Any


def given(**fields: object) -> dict[str, Any]:
    """Return the fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def tokens(text: str | None, name: str) -> float | None:
    """Return a count of tokens such as 2k (2000)."""
    from planner.core.quantities.parse import count

    return None if text is None else count(text, name)


def deployment_name(deployment: dict[str, Any]) -> str:
    """Return a layout as people write it."""
    parts = [f"TP{deployment['tensor_parallel']}"]
    parts += [f"{short}{deployment[name]}" for name, short in (
        ("pipeline_parallel", "PP"), ("data_parallel", "DP"), ("expert_parallel", "EP")) if deployment.get(name, 1) > 1]
    return " ".join([*parts, str(deployment["weights"])])
