"""Prediction intervals from log-scale residual spread."""

from __future__ import annotations

from math import exp, sqrt

from planner.core.hardware.efficiency.overhead import Spread

Z90 = 1.6448536269514722
"""Standard normal quantile of 0.95: a central 90 % interval [1]."""


def student_quantile(z: float, degrees: float) -> float:
    """Student-t quantile from the normal quantile of the same probability.

    Parameters
    ----------
    z : float
        Normal quantile [1].
    degrees : float
        Degrees of freedom ν [1].

    Returns
    -------
    float
        Asymptotic expansion in 1/ν, within 1 % for ν ≥ 4 at 95 % [1].

    References
    ----------
    Abramowitz & Stegun, Handbook of Mathematical Functions, 1964, eq. 26.7.5.
    """
    return (z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3))


def factors(spread: Spread, *, known: bool) -> tuple[float, float]:
    """Lower and upper factor of a central 90 % interval around a prediction.

    Parameters
    ----------
    spread : Spread
        Residual spread of the profile.
    known : bool
        The chip, engine and model family were measured together.

    Returns
    -------
    tuple of float
        exp(bias ∓ t·σ) with σ² = within² + between² [1].
    """
    between = spread.between if known else spread.between_unseen
    half = student_quantile(Z90, spread.degrees) * sqrt(spread.within**2 + between**2)
    return exp(spread.bias - half), exp(spread.bias + half)
