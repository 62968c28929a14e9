"""The soft knee between arms that overlap, and curves stacked over operators.

No exponent but a square: squares and one square root cost nanoseconds on a million-point grid, and kernels do not tell
the exponent (docs/adr/ on efficiency forms).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array, Numeric

Curve = TypeVar("Curve")


def knee(memory_time: Numeric, compute_time: Numeric, *others: Numeric) -> Array:
    r"""Time of an operator whose arms overlap imperfectly.

    .. math:: t = \sqrt{t_m^2 + t_c^2 + \dots}

    Parameters
    ----------
    memory_time : float or ndarray
        Traffic over effective bandwidth [s], shape (op, *grid) or broadcastable.
    compute_time : float or ndarray
        Work over effective peak [s], same shape.
    *others : float or ndarray
        Further arms that run beside these two [s], same shape.

    Returns
    -------
    ndarray
        t [s]: never below the largest arm, at most √n above it for n arms.

    Notes
    -----
    Homogeneous of degree one: where every arm grows linearly in a quantity, so does the result.
    """
    squares = np.square(memory_time) + np.square(compute_time)
    for other in others:
        squares = squares + np.square(other)
    return np.asarray(np.sqrt(squares))


def stack(curves: Sequence[Curve], trailing: int) -> Curve:
    """One curve whose parameters are columns over operators, ready to broadcast against ``[op, *grid]``.

    Parameters
    ----------
    curves : sequence
        Curves of one class, one per operator.
    trailing : int
        Grid axes behind the operator axis [1].

    Returns
    -------
    Curve
        The same class; every parameter has shape (op, 1, …).

    Raises
    ------
    InvalidQuantity
        No curves, or things that are not curves.
    """
    if not curves or not is_dataclass(curves[0]):
        raise InvalidQuantity("stack needs at least one efficiency curve.")
    shape = (len(curves),) + (1,) * trailing
    columns: dict[str, Any] = {f.name: np.array([getattr(c, f.name) for c in curves], dtype=np.float64).reshape(shape)
                               for f in fields(curves[0])}
    kind: type[Any] = type(curves[0])
    stacked: Curve = kind(**columns)
    return stacked
