"""Error measures of predictions, and the local correction that a few own measurements allow.

The correction is the mean of a Gaussian process over log residuals: one level per deployment, and a part that changes
slowly with load, lengths and layout; its variance is the interval that remains.

References
----------
Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, §2.2 (eq. 2.25-2.26), §4.2 (kernels).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.hardware.efficiency.overhead import Spread
from planner.core.quantities.arrays import Array

_SHARED = 0.5  # of the within-deployment variance that changes slowly with the load; the rest is left as noise
_REACH = 1.6  # length scale of that part: a factor of five in load, a factor of three in lengths or layout
_SCALES = np.array([0.8, 1.2, 0.8, 1.2, 2.0])  # weight of ln users, ln input, ln output, ln tensor, ln data
# What a model on a chip has in common whatever its layout and lengths, of the variance between deployments; the rest is
# common to alike layouts and lengths only. Chosen on left-out groups: one own row then helps the others of its group.
_EVERYWHERE = 0.3
_ALIKE = np.array([0.0, 0.6, 0.4, 1.2, 1.2])


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorMeasures:
    """Absolute percentage errors of one quantity."""

    n: int
    mape: float
    median_ape: float
    p90_ape: float
    bias: float
    """Mean of predicted/measured - 1 [1]."""
    coverage_90: float | None
    mape_interval: tuple[float, float] | None = None
    """90 % bootstrap interval over groups [1]."""


def measures(predicted: Array, measured: Array, group: npt.NDArray[np.int64], *, low: Array | None = None,
             high: Array | None = None, draws: int = 400, seed: int = 20261129) -> ErrorMeasures | None:
    """Error measures of a column.

    Parameters
    ----------
    predicted : ndarray
        Any unit.
    measured : ndarray
        Same unit; rows without a number are left out.
    group : ndarray
        Group number of each row, for the bootstrap.
    low : ndarray or None
        Lower ends of the 90 % intervals.
    high : ndarray or None
        Upper ends.
    draws : int
        Bootstrap draws of whole groups.
    seed : int
        Of the draws.

    Returns
    -------
    ErrorMeasures or None
        None without a row that has both numbers.
    """
    keep = np.isfinite(predicted) & np.isfinite(measured) & (np.nan_to_num(measured) > 0)
    if not keep.any():
        return None
    ratio = predicted[keep] / measured[keep] - 1
    error = np.abs(ratio)
    covered = None
    if low is not None and high is not None:
        covered = float(np.mean((measured[keep] >= low[keep]) & (measured[keep] <= high[keep])))
    return ErrorMeasures(
        n=int(keep.sum()), mape=float(error.mean()), median_ape=float(np.median(error)),
        p90_ape=float(np.quantile(error, 0.9)), bias=float(ratio.mean()), coverage_90=covered,
        mape_interval=_bootstrap(error, group[keep], draws, seed))


def _bootstrap(error: Array, group: npt.NDArray[np.int64], draws: int, seed: int) -> tuple[float, float] | None:
    names = np.unique(group)
    if names.size < 2 or draws < 1:
        return None
    sums = np.array([error[group == g].sum() for g in names])
    counts = np.array([(group == g).sum() for g in names])
    chosen = np.random.default_rng(seed).integers(0, names.size, (draws, names.size))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.quantile(means, [0.05, 0.95])
    return float(low), float(high)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCorrection:
    """ln(measured/predicted) at asked points after a few own rows, with its standard deviation."""

    mean: Array
    deviation: Array


def local_correction(features: Array, residual: Array, asked: Array, spread: Spread) -> LocalCorrection:
    """What a few own rows of a deployment say about its other loads.

    Parameters
    ----------
    features : ndarray
        ln users, ln input, ln output, ln tensor, ln data of the own rows, shape (row, 5).
    residual : ndarray
        ln(measured/predicted) of the own rows, shape (row,).
    asked : ndarray
        Features of the points asked, shape (point, 5).
    spread : Spread
        The profile's own uncertainty, which the rows narrow.

    Returns
    -------
    LocalCorrection
        Shrunk towards the profile's bias; shapes (point,).
    """
    within, between = spread.within**2, spread.between**2
    own = _kernel(features, features, within, between) + (1 - _SHARED) * within * np.eye(residual.size)
    cross = _kernel(asked, features, within, between)
    solved = np.linalg.solve(own, np.column_stack([residual - spread.bias, cross.T]))
    mean = spread.bias + cross @ solved[:, 0]
    left = between + within - np.einsum("ij,ji->i", cross, solved[:, 1:])
    return LocalCorrection(mean=mean, deviation=np.sqrt(np.maximum(left, 0.1 * within)))


def _kernel(a: Array, b: Array, within: float, between: float) -> Array:
    gap = a[:, None, :] - b[None, :, :]
    near = np.exp(-0.5 * ((gap * _SCALES) ** 2).sum(axis=-1) / _REACH**2)
    alike = np.exp(-0.5 * ((gap * _ALIKE) ** 2).sum(axis=-1))
    return np.asarray(between * (_EVERYWHERE + (1 - _EVERYWHERE) * alike) + _SHARED * within * near)
