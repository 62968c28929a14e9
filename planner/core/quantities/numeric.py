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
_ARRAY = np.ndarray


def maximum(a: Numeric, b: Numeric) -> Number:
    """The larger of two, any unit, any shape."""
    if a.__class__ is _ARRAY or b.__class__ is _ARRAY:
        return np.maximum(a, b)
    return a if a >= b else b  # noqa: FURB136 - half the time of max()


def minimum(a: Numeric, b: Numeric) -> Number:
    """The smaller of two, any unit, any shape."""
    if a.__class__ is _ARRAY or b.__class__ is _ARRAY:
        return np.minimum(a, b)
    return a if a <= b else b  # noqa: FURB136 - half the time of min()


def clip(a: Numeric, low: Numeric, high: Numeric) -> Number:
    """The value, at least ``low`` and at most ``high``."""
    if a.__class__ is _ARRAY or low.__class__ is _ARRAY or high.__class__ is _ARRAY:
        return np.minimum(np.maximum(a, low), high)
    raised = a if a >= low else low  # noqa: FURB136 - as above
    return raised if raised <= high else high  # noqa: FURB136 - as above


def where(condition: Number, a: Numeric, b: Numeric) -> Number:
    """``a`` where the condition holds, else ``b``; both are evaluated."""
    if condition.__class__ is _ARRAY:
        return np.where(condition, a, b)
    return a if condition else b


def sqrt(a: Numeric) -> Number:
    """The square root of a number that is at least zero."""
    return np.sqrt(a) if a.__class__ is _ARRAY else math.sqrt(a)


def exp(a: Numeric) -> Number:
    """The exponential; zero where it underflows."""
    return np.exp(a) if a.__class__ is _ARRAY else math.exp(a)


def expm1(a: Numeric) -> Number:
    """The exponential less one."""
    return np.expm1(a) if a.__class__ is _ARRAY else math.expm1(a)


def log(a: Numeric) -> Number:
    """The natural logarithm of a positive number."""
    return np.log(a) if a.__class__ is _ARRAY else math.log(a)


def log2(a: Numeric) -> Number:
    """The logarithm of a positive number to the base two."""
    return np.log2(a) if a.__class__ is _ARRAY else math.log2(a)


def log1p(a: Numeric) -> Number:
    """The natural logarithm of one more."""
    return np.log1p(a) if a.__class__ is _ARRAY else math.log1p(a)


def floor(a: Numeric) -> Number:
    """The whole number below."""
    if a.__class__ is _ARRAY:
        return np.floor(a)
    return float(math.floor(a)) if math.isfinite(a) else a


def ceil(a: Numeric) -> Number:
    """The whole number above."""
    if a.__class__ is _ARRAY:
        return np.ceil(a)
    return float(math.ceil(a)) if math.isfinite(a) else a


def isfinite(a: Numeric) -> Number:
    """Whether the number is neither infinite nor NaN."""
    return np.isfinite(a) if a.__class__ is _ARRAY else math.isfinite(a)


def together(*values: Numeric) -> tuple[Number, ...]:
    """Values broadcast against one another; plain numbers stay as they are when all of them are."""
    if all(isinstance(value, _PLAIN) for value in values):
        return values
    return tuple(np.broadcast_arrays(*values))


def spread(value: Number, like: Numeric) -> Number:
    """A value on the grid of another."""
    return value if isinstance(like, _PLAIN) else np.broadcast_to(value, np.shape(like))

