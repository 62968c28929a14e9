"""Prediction intervals from residuals of left-out groups: conformal half-widths told apart into within and between."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.execution.interval import Z90, factors, student_quantile
from planner.core.hardware.efficiency.overhead import Spread
from planner.core.quantities.arrays import Array

DEGREES = 8.0
"""Degrees of freedom of the Student law: about the number of independent groups behind a regime [1]."""
# Which coefficients are free was chosen on the same left-out groups, so their residuals are a little too small: nine
# tenths of rows nobody has looked at are inside where a little more of these are.
LEVEL = 0.925
PLAIN = 0.9  # for first tokens, of which one constant is fitted
# A chip under an engine without fitted runs, over a pair with some: nine tenths of 199 comparable published runs of
# such pairs (AMD, A100, L40S, B300, consumer cards, other engines) are inside then.
_UNSEEN = 1.5
_LEAST_ROWS = 5


def spread_of(left_out: Array, group: npt.NDArray[np.int64], level: float = LEVEL) -> Spread:
    """The spread whose 90 % interval covers nine tenths of left-out residuals, and a margin for how they were chosen.

    Parameters
    ----------
    left_out : ndarray
        ln(predicted/measured) of rows whose group was not fitted [1].
    group : ndarray
        Group number of each row.
    level : float
        Share of the residuals inside, 0–1.

    Returns
    -------
    Spread
        Of ln(measured/predicted).

    Raises
    ------
    InvalidQuantity
        Too few residuals.

    References
    ----------
    Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005, §2.2 (conformal quantiles).
    """
    residual = -np.asarray(left_out)
    if residual.size < _LEAST_ROWS:
        raise InvalidQuantity(f"{residual.size} residuals carry no interval.")
    bias = float(np.median(residual))
    rank = min(np.ceil((residual.size + 1) * level) / residual.size, 1.0)
    half = float(np.quantile(np.abs(residual - bias), rank))
    total = half / student_quantile(Z90, DEGREES)
    inside = _within(residual, group)
    within = min(inside, 0.999 * total)
    between = float(np.sqrt(total**2 - within**2))
    unseen = float(np.sqrt((_UNSEEN * total) ** 2 - within**2))
    return Spread(within=within, between=between, between_unseen=unseen, degrees=DEGREES, bias=bias)


def _within(residual: Array, group: npt.NDArray[np.int64]) -> float:
    """Robust standard deviation around each group's median."""
    centred = np.concatenate([residual[group == g] - np.median(residual[group == g]) for g in np.unique(group)])
    return 1.4826 * float(np.median(np.abs(centred)))


def coverage(residual: Array, spread: Spread, *, known: bool = True) -> float:
    """Share of residuals inside the 90 % interval.

    Parameters
    ----------
    residual : ndarray
        ln(predicted/measured) [1].
    spread : Spread
        Of ln(measured/predicted).
    known : bool
        Chip, engine and family were measured.

    Returns
    -------
    float
        Share, 0–1.
    """
    low, high = factors(spread, known=known)
    ratio = np.exp(-np.asarray(residual))
    return float(np.mean((ratio >= low) & (ratio <= high)))
