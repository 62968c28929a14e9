"""Elementary functions on a number or an array: one formula serves a single plan and a million-point sweep.

numpy spends a microsecond on each call even for one number; a plan makes hundreds. These take Python's own arithmetic
when every argument is a plain number, and numpy's otherwise. Both agree but for transcendental rounding.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from planner.core.quantities.arrays import Numeric

Number: TypeAlias = Any
"""A plain number where every input was one, else an array over the grid; the units are those of the formula."""

_PLAIN = (float, int)


def maximum(a: Numeric, b: Numeric) -> Number:
    """The larger of two, any unit, any shape."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return max(a, b)
    return np.maximum(a, b)


def minimum(a: Numeric, b: Numeric) -> Number:
    """The smaller of two, any unit, any shape."""
    if isinstance(a, _PLAIN) and isinstance(b, _PLAIN):
        return min(a, b)
    return np.minimum(a, b)


def clip(a: Numeric, low: Numeric, high: Numeric) -> Number:
    """The value, at least ``low`` and at most ``high``."""
    return minimum(maximum(a, low), high)


def where(condition: Number, a: Numeric, b: Numeric) -> Number:
    """``a`` where the condition holds, else ``b``; both are evaluated."""
    if isinstance(condition, bool | np.bool_):
        return a if condition else b
    return np.where(condition, a, b)


def sqrt(a: Numeric) -> Number:
    """The square root of a number that is at least zero."""
    return math.sqrt(a) if isinstance(a, _PLAIN) else np.sqrt(a)


def exp(a: Numeric) -> Number:
    """The exponential; zero where it underflows."""
    return math.exp(a) if isinstance(a, _PLAIN) else np.exp(a)


def expm1(a: Numeric) -> Number:
    """The exponential less one."""
    return math.expm1(a) if isinstance(a, _PLAIN) else np.expm1(a)


def log(a: Numeric) -> Number:
    """The natural logarithm of a positive number."""
    return math.log(a) if isinstance(a, _PLAIN) else np.log(a)


def log1p(a: Numeric) -> Number:
    """The natural logarithm of one more."""
    return math.log1p(a) if isinstance(a, _PLAIN) else np.log1p(a)


def floor(a: Numeric) -> Number:
    """The whole number below."""
    if isinstance(a, _PLAIN):
        return float(math.floor(a)) if math.isfinite(a) else a
    return np.floor(a)


def ceil(a: Numeric) -> Number:
    """The whole number above."""
    if isinstance(a, _PLAIN):
        return float(math.ceil(a)) if math.isfinite(a) else a
    return np.ceil(a)


def isfinite(a: Numeric) -> Number:
    """Whether the number is neither infinite nor NaN."""
    return math.isfinite(a) if isinstance(a, _PLAIN) else np.isfinite(a)


def together(*values: Numeric) -> tuple[Number, ...]:
    """Values broadcast against one another; plain numbers stay as they are when all of them are."""
    if all(isinstance(value, _PLAIN) for value in values):
        return values
    return tuple(np.broadcast_arrays(*values))


def spread(value: Number, like: Numeric) -> Number:
    """A value on the grid of another."""
    return value if isinstance(like, _PLAIN) else np.broadcast_to(value, np.shape(like))
