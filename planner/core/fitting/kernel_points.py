"""Kernel measurements as columns: what was asked of the device and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array, require_non_negative, require_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelPoint:
    """One timed kernel."""

    kernel: str
    """Operator class: gemm, decode_attention, latent_attention, prompt_attention, pointwise."""
    dtype: str
    shape: str
    """Points of one shape are left out together when a fit is checked."""
    work: float
    """W [FLOP]."""
    traffic: float
    """Q, the streamed part: weights with input and output, or the cache read [byte]."""
    seconds: float
    """Median time [s]."""
    family: str = ""
    """Points of one family (a head geometry) are comparable with each other."""
    resident: bool = False
    """Its data may still lie in a cache, as activations do; the memory ceiling does not bound it."""
    io_traffic: float = 0.0
    """Queries and outputs beside the cache [byte]."""
    tokens: float = 1.0
    """Rows of the input, or sequences of the batch [1]."""
    inputs: float = 1.0
    """Inner dimension of a product [1]."""
    context: float = 1.0
    """Attended context of a sequence [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Points of one class as arrays of shape (point,)."""

    work: Array
    traffic: Array
    io_traffic: Array
    tokens: Array
    inputs: Array
    context: Array

    def take(self, rows: Array) -> Columns:
        """The columns at some rows.

        Parameters
        ----------
        rows : ndarray
            Row numbers or a mask, shape (point,).

        Returns
        -------
        Columns
            The same columns, shorter.
        """
        return Columns(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def columns(points: Sequence[KernelPoint]) -> tuple[Columns, Array]:
    """The columns and the times of points.

    Parameters
    ----------
    points : sequence of KernelPoint
        Points of one operator class.

    Returns
    -------
    tuple
        Columns and seconds, shape (point,) [s].

    Raises
    ------
    InvalidQuantity
        No points, a negative amount or a time that is not positive.
    """
    if not points:
        raise InvalidQuantity("A fit needs at least one kernel measurement.")
    table = {f.name: require_non_negative(f.name, np.array([getattr(p, f.name) for p in points]))
             for f in fields(Columns)}
    return Columns(**table), require_positive("seconds", np.array([p.seconds for p in points]))
