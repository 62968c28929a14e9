"""Moment-matched percentiles: log-normal laws through a mean and a variance."""

from __future__ import annotations

from planner.core.quantities import numeric as num
from planner.core.quantities.numeric import Number

Z50, Z95, Z99 = 0.0, 1.6448536269514722, 2.3263478740408408
"""Standard normal quantiles (Abramowitz & Stegun, table 26.1)."""


NOISE = 1e-9
"""Squared variation below which a variance is what is left of the squares it was subtracted from, and of a fixed point
that has settled to so many digits: 0.003 % of the mean [1]."""


def lognormal_quantile(mean: Number, variance: Number, z: Number | float) -> Number:
    """Quantile of a log-normal law with a given mean and variance.

    Parameters
    ----------
    mean : ndarray
        Above zero, any unit.
    variance : ndarray
        At least zero, that unit squared.
    z : float or ndarray
        Standard normal quantile wanted.

    Returns
    -------
    ndarray
        Equal to the mean when the variance is nothing beside it.
    """
    variation = variance / mean**2
    sigma2 = num.log1p(num.where(variation > NOISE, variation, 0.0))
    return mean * num.exp(z * num.sqrt(sigma2) - sigma2 / 2.0)


def normal_quantile(probability: Number) -> Number:
    """Standard normal quantile.

    Parameters
    ----------
    probability : ndarray
        Within (0, 1); values closer to the ends than 1e-12 are moved there.

    Returns
    -------
    ndarray
        z, absolute error below 4.5e-4.

    References
    ----------
    Abramowitz & Stegun, Handbook of Mathematical Functions, 26.2.23.
    """
    p = num.clip(probability, 1e-12, 1.0 - 1e-12)
    t = num.sqrt(-2.0 * num.log(num.minimum(p, 1.0 - p)))
    tail = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)))
    return num.where(p < 0.5, -tail, tail)
