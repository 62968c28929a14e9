"""Array types and the checks every public formula starts with."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity

Array: TypeAlias = npt.NDArray[np.float64]
Numeric: TypeAlias = "float | int | Array"

Number: TypeAlias = Any
"""A plain number where the input was one, else an array."""

_PLAIN = (float, int)
LARGEST = 1e30
"""Nothing a planner is asked about exceeds this; beyond it products overflow [any unit]."""


def require_positive(name: str, value: Numeric) -> Number:
    """The value as float64, refused unless finite and above zero.

    Parameters
    ----------
    name : str
        What the reader calls the quantity; it is named in the refusal.
    value : float or ndarray
        Any unit, any shape.

    Returns
    -------
    float or ndarray
        The same numbers; a plain number stays one.

    Raises
    ------
    InvalidQuantity
        A NaN, an infinity, zero or a negative number.
    """
    if isinstance(value, _PLAIN) and 0.0 < value <= LARGEST:
        return float(value)
    array = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(array).all() and (array > 0).all() and (array <= LARGEST).all()):
        raise InvalidQuantity(f"{name} must be a finite number above zero, got {_shown(array)}.", pointer=name)
    return array


def require_non_negative(name: str, value: Numeric) -> Number:
    """The value as float64, refused unless finite and at least zero.

    Parameters
    ----------
    name : str
        What the reader calls the quantity.
    value : float or ndarray
        Any unit, any shape.

    Returns
    -------
    float or ndarray
        The same numbers; a plain number stays one.

    Raises
    ------
    InvalidQuantity
        A NaN, an infinity or a negative number.
    """
    if isinstance(value, _PLAIN) and 0.0 <= value <= LARGEST:
        return float(value)
    array = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all() and (array <= LARGEST).all()):
        raise InvalidQuantity(f"{name} must be a finite number, zero or more, got {_shown(array)}.", pointer=name)
    return array


def require_fraction(name: str, value: Numeric) -> Number:
    """The value as float64, refused unless within [0, 1].

    Parameters
    ----------
    name : str
        What the reader calls the quantity.
    value : float or ndarray
        Dimensionless, any shape.

    Returns
    -------
    float or ndarray
        The same numbers; a plain number stays one.

    Raises
    ------
    InvalidQuantity
        A NaN or a number outside [0, 1].
    """
    if isinstance(value, _PLAIN) and 0.0 <= value <= 1.0:
        return float(value)
    array = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all() and (array <= 1).all()):
        raise InvalidQuantity(f"{name} must lie between 0 and 1, got {_shown(array)}.", pointer=name)
    return array


def _shown(array: Array) -> str:
    return f"{array.item():g}" if array.size == 1 else f"an array of {array.size} numbers with one outside"
