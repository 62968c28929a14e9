"""Axes as people type them: NAME=a,b,c or NAME=first:last:count."""

from __future__ import annotations

from typing import Any

from planner.core.errors import InvalidQuantity
from planner.services.plan.reading import SHORT
from planner.services.sweep.axes import CONTINUOUS

_MOST = 1_000_000  # values of one axis: as many as a sweep has points


def axes_of(texts: list[str]) -> dict[str, list[Any]]:
    """Return the axes of the command line by their dotted fields."""
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, _, listed = text.partition("=")
        if not listed:
            raise InvalidQuantity(f"--axis {text!r} has no values.", hint="Write NAME=a,b,c or NAME=first:last:count.")
        path = SHORT[name][0] if name in SHORT else name
        spaced = listed.count(":") == 2
        found[path] = _spread(listed, name) if spaced else [_value(v, name, path) for v in listed.split(",")]
    return found


def _value(text: str, name: str, path: str) -> Any:  # noqa: ANN401 - a number or a word
    if name in SHORT:
        return SHORT[name][1](text, name)
    if path in CONTINUOUS:
        return _number(text, name)
    return int(text) if text.isdigit() else text


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidQuantity(f"--axis {name}: {text[:40]!r} is not a number.",
                              hint="Write NAME=a,b,c or NAME=first:last:count.") from None


def _spread(text: str, name: str) -> list[float]:
    """Return geometrically spaced numbers, rounded to whole ones where they are large."""
    import numpy as np

    first, last, count = (_number(part, name) for part in text.split(":"))
    if not (first > 0 and last > 0 and count >= 1):
        raise InvalidQuantity(f"--axis {name}={text}: first, last and count must be above zero.")
    if count > _MOST:
        raise InvalidQuantity(f"--axis {name}={text}: one axis holds at most {_MOST:,} values.")
    spaced = np.geomspace(first, last, int(count))
    return sorted({float(round(v)) if v >= 10 else float(v) for v in spaced})
