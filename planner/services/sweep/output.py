"""Columns as JSON or as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.core.quantities.arrays import Array
from planner.services.sweep.metrics import LABELS
from planner.services.sweep.service import Columns

FLAGS = frozenset({"fit.fits", "serving.saturated"})


def as_document(columns: Columns) -> dict[str, Any]:
    """The contract's JSON: words for codes, booleans for flags, null for what a plan answers with null."""
    return {"axes": {axis.path: list(axis.values) for axis in columns.axes},
            "metrics": {name: values(name, column) for name, column in columns.metrics.items()},
            "shape": list(columns.shape), "refused": [dict(row) for row in columns.refused]}


def as_arrays(columns: Columns) -> dict[str, Any]:
    """The same document with numbers left in arrays, NaN for null, for a writer that knows arrays."""
    return {"axes": {axis.path: list(axis.values) for axis in columns.axes},
            "metrics": {name: values(name, column) if name in LABELS or name in FLAGS else column
                        for name, column in columns.metrics.items()},
            "shape": list(columns.shape), "refused": [dict(row) for row in columns.refused]}


def values(name: str, column: Array) -> list[Any]:
    """One column as JSON values."""
    missing = ~np.isfinite(column)
    if name in LABELS:
        words = np.array(LABELS[name], dtype=object)
        return _blanked(words[np.where(missing, 0, column).astype(np.int64)], missing)
    if name in FLAGS:
        return _blanked(np.where(missing, 0, column).astype(bool).astype(object), missing)
    return _blanked(column.astype(object), missing) if missing.any() else column.tolist()


def _blanked(column: Any, missing: Any) -> list[Any]:  # noqa: ANN401 - object arrays
    column[missing] = None
    found: list[Any] = column.tolist()
    return found


def flat(columns: Columns) -> Mapping[str, Any]:
    """Every axis and metric as a column of equal length, for tables."""
    shape = columns.shape
    found: dict[str, Any] = {}
    for index, axis in enumerate(columns.axes):
        grid = np.arange(shape[index]).reshape(tuple(-1 if i == index else 1 for i in range(len(shape))))
        places = np.broadcast_to(grid, shape).ravel()
        named = np.array(axis.values, dtype=None if axis.continuous else object)
        found[axis.path] = named[places]
    for name, column in columns.metrics.items():
        found[name] = column if name not in LABELS and name not in FLAGS else values(name, column)
    return found
