r"""A few shared coefficients fitted to whole served runs: robust, group-balanced, with priors, scored out of group.

.. math:: \min_x \sum_i w_i\,\rho_\delta(r_i(x)) + \sum_j ((x_j - x^0_j)/s_j)^2, \quad r = \ln(predicted/measured)

ρ is the pseudo-Huber loss; x are logarithms of the coefficients. A left-out group's coefficients come from the other
groups' rows with the common Jacobian, iterated; its score evaluates the model itself.

References
----------
Nocedal and Wright, Numerical Optimization, 2006, §10.3 (Gauss-Newton, Levenberg-Marquardt); Holland and Welsch,
Commun. Stat. A 6(9) 1977, doi 10.1080/03610927708827533 (iterated weights).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.quantities.arrays import Array

Values = Mapping[str, float]
Index = npt.NDArray[np.int64]
Residuals = Callable[[Values, Index], Array]
"""(coefficients, row numbers) → ln(predicted/measured) of those rows; nan where nothing was measured."""

_STEP = 0.02  # finite difference on the logarithm of a coefficient: 2 %
_HALVINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """One shared coefficient: its usual value before any served run was seen, its bounds and its prior."""

    name: str
    usual: float
    low: float
    high: float
    prior: float = 0.7
    """Standard deviation of the prior on ln(value/usual) [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Measured rows, as many as residuals."""

    group: Index
    """Group number of each row."""
    weight: Array
    """Weight of each row [1]."""
    scale: Array
    """Residual beyond which a row counts linearly [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedFit:
    """The fitted coefficients with their scores."""

    values: Values
    residuals: Array
    """In sample [1]."""
    left_out: Array
    """Each row with the coefficients of the other groups [1]."""
    fold_values: tuple[Values, ...]
    """Coefficients by left-out group number."""


def group_weights(group: Index) -> Array:
    """Row weights that let groups count by the square root of their size: (median size / size)^½.

    Parameters
    ----------
    group : ndarray
        Group number of each row.

    Returns
    -------
    ndarray
        Weight of each row [1].
    """
    number, sizes = np.unique(group, return_counts=True)
    share = np.sqrt(np.median(sizes) / sizes)
    return np.asarray(share[np.searchsorted(number, group)])


class _Problem:
    """Residuals and Jacobian over log coefficients."""

    def __init__(self, coefficients: Sequence[Coefficient], residuals: Residuals, rows: Rows) -> None:
        self.names = [c.name for c in coefficients]
        self.start = np.log([c.usual for c in coefficients])
        self.low = np.log([c.low for c in coefficients])
        self.high = np.log([c.high for c in coefficients])
        self.precision = np.array([1 / c.prior**2 for c in coefficients])
        self.model, self.rows = residuals, rows

    def values(self, x: Array) -> dict[str, float]:
        return dict(zip(self.names, np.exp(x).tolist(), strict=True))

    def residuals(self, x: Array, keep: Index) -> Array:
        return self.model(self.values(x), keep)

    def jacobian(self, x: Array, at: Array, keep: Index) -> Array:
        columns = []
        for index in range(x.size):
            moved = x.copy()
            step = _STEP if x[index] + _STEP <= self.high[index] else -_STEP
            moved[index] += step
            columns.append((self.residuals(moved, keep) - at) / step)
        return np.nan_to_num(np.stack(columns, axis=1))

    def loss(self, x: Array, r: Array, weight: Array) -> float:
        scaled = np.nan_to_num(r) / self.rows.scale
        robust = 2 * self.rows.scale**2 / 0.01 * (np.sqrt(1 + scaled**2) - 1)  # in units of a 10 % residual
        return float((weight * robust).sum() + (self.precision * (x - self.start) ** 2).sum())

    def newton(self, x: Array, r: Array, jacobian: Array, weight: Array, damping: float = 0.0) -> Array:
        """One reweighted Gauss-Newton step from x."""
        known = np.nan_to_num(r)
        w = weight / np.sqrt(1 + (known / self.rows.scale) ** 2) / 0.01
        hessian = jacobian.T @ (w[:, None] * jacobian) + np.diag(self.precision)
        hessian += damping * np.diag(np.diag(hessian))
        gradient = jacobian.T @ (w * known) + self.precision * (x - self.start)
        return np.clip(x - np.linalg.solve(hessian, gradient), self.low, self.high)


def fit_shared(coefficients: Sequence[Coefficient], residuals: Residuals, rows: Rows, *, iterations: int = 8,
               fold_iterations: int = 6) -> SharedFit:
    """Shared coefficients and their leave-one-group-out residuals.

    Parameters
    ----------
    coefficients : sequence of Coefficient
        What is fitted; priors must not come from the rows.
    residuals : callable
        The model.
    rows : Rows
        Groups, weights and robust scales.
    iterations : int
        Gauss-Newton steps on all rows.
    fold_iterations : int
        Steps per left-out group on the common Jacobian.

    Returns
    -------
    SharedFit
        Deterministic: nothing is drawn at random.
    """
    problem = _Problem(coefficients, residuals, rows)
    everything = np.arange(rows.group.size)
    x = problem.start.copy()
    r = problem.residuals(x, everything)
    loss = problem.loss(x, r, rows.weight)
    jacobian = problem.jacobian(x, r, everything)
    for _ in range(iterations):
        moved = problem.newton(x, r, jacobian, rows.weight)
        for _half in range(_HALVINGS):
            fresh = problem.residuals(moved, everything)
            better = problem.loss(moved, fresh, rows.weight)
            if better < loss:
                break
            moved = (x + moved) / 2
        if better >= loss * (1 - 1e-4):
            break
        x, r, loss = moved, fresh, better
        jacobian = problem.jacobian(x, r, everything)
    return _left_out(problem, x, r, jacobian, fold_iterations)


def _left_out(problem: _Problem, x: Array, r: Array, jacobian: Array, iterations: int) -> SharedFit:
    rows = problem.rows
    left_out = np.full(r.shape, np.nan)
    folds = []
    for group in np.unique(rows.group):
        out = rows.group == group
        weight = np.where(out, 0.0, rows.weight)
        y = x.copy()
        for _ in range(iterations):
            y = problem.newton(y, r + jacobian @ (y - x), jacobian, weight)
        keep = np.flatnonzero(out)
        left_out[keep] = problem.residuals(y, keep)
        folds.append(problem.values(y))
    return SharedFit(values=problem.values(x), residuals=r, left_out=left_out, fold_values=tuple(folds))
