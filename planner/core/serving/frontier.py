"""Pareto frontiers: what cannot be bettered in one quantity without losing another."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.core.quantities.arrays import Array

Marks: TypeAlias = npt.NDArray[np.bool_]


def pareto(first: Array, second: Array) -> Marks:
    """Marks of the points that no other point beats in both quantities, more being better.

    Parameters
    ----------
    first : ndarray
        Such as tokens/s per user, shape (point,).
    second : ndarray
        Such as tokens/s per GPU, shape (point,).

    Returns
    -------
    ndarray
        Booleans, shape (point,); of equal points the first is marked, and a nan never is.
    """
    usable = np.isfinite(first) & np.isfinite(second)
    order = np.lexsort((np.arange(first.size), -np.where(usable, second, -np.inf), -np.where(usable, first, -np.inf)))
    ranked = np.where(usable, second, -np.inf)[order]
    best_before = np.concatenate(([-np.inf], np.maximum.accumulate(ranked)[:-1]))
    marks = np.zeros(first.shape, dtype=np.bool_)
    marks[order] = ranked > best_before
    return marks & usable
