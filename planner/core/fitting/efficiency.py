"""Curves fitted to kernel tables: robust least squares on log time, scored on shapes the fit has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fitting.forms import Form, Values, form_of
from planner.core.fitting.measurement import KernelTable, folds, without
from planner.core.fitting.siblings import Siblings, informed
from planner.core.quantities.arrays import Array

# Log residuals beyond this count linearly, not squared: one kernel's tile cliff must not bend the curve.
_ROBUST = 0.1
# Weight of the priors against one row: worth a hundredth of a row's 10 % error.
_PRIOR_WEIGHT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFit:
    """One fitted curve with its error on unseen shapes."""

    table: KernelTable
    values: Mapping[str, float]
    """Parameter → value, SI units."""
    spread: float
    """Robust standard deviation of ln(measured/fitted) [1]."""
    error: float
    """Leave-shapes-out mean absolute relative error [1]."""
    bias: float
    """Leave-shapes-out mean of fitted/measured - 1 [1]."""
    rows: int
    at_bounds: tuple[str, ...] = field(default_factory=tuple)


def solve_curve(table: KernelTable) -> Values:
    """The best parameters of one kernel table by itself.

    Parameters
    ----------
    table : KernelTable
        Gated rows.

    Returns
    -------
    mapping
        Parameter → value, SI units.

    Raises
    ------
    InvalidQuantity
        Fewer rows than parameters need.
    """
    return _solve(_checked(table), table)[1]


def fit_curve(table: KernelTable, like: Siblings | None = None, known: Sequence[Values] = ()) -> CurveFit:
    """The curve of one kernel table.

    Parameters
    ----------
    table : KernelTable
        Gated rows.
    like : Siblings or None
        What the table has in common with siblings.
    known : sequence of mapping
        Their :func:`solve_curve` values, as usual values where this table's rows leave a parameter open.

    Returns
    -------
    CurveFit
        Parameters fitted on all rows, error from folds that leave whole shapes out.

    Raises
    ------
    InvalidQuantity
        Fewer rows than parameters need.
    """
    form = informed(_checked(table), known, like or Siblings())
    chosen, values = _solve(form, table)
    ratio = np.log(table.time / chosen.predict(values, table))
    spread = 1.4826 * float(np.median(np.abs(ratio - np.median(ratio))))
    held = _leave_shapes_out(form, table)
    relative = held / table.time - 1
    return CurveFit(table=table, values=values, spread=spread, error=float(np.mean(np.abs(relative))),
                    bias=float(np.mean(relative)), rows=table.time.size, at_bounds=_at_bounds(form, values))


def _checked(table: KernelTable) -> Form:
    form = form_of(table)
    if table.time.size < len(form.parameters) + form.spare:
        raise InvalidQuantity(f"{table.name}: {table.time.size} rows cannot carry {len(form.parameters)} parameters.")
    return form


def _leave_shapes_out(form: Form, table: KernelTable) -> Array:
    number = folds(table.shapes)
    held = np.empty_like(table.time)
    if number.max() < 1:
        chosen, values = _solve(form, table)
        return chosen.predict(values, table)
    for fold in np.unique(number):
        out = number == fold
        chosen, values = _solve(form, without(table, out, "held_out"))
        held[out] = chosen.predict(values, without(table, ~out, "trained_on"))
    return held


def _solve(form: Form, table: KernelTable) -> tuple[Form, dict[str, float]]:
    """The form that the rows call for, and its best parameters."""
    if form.threshold is not None:
        name = form.threshold.name
        tried = [_least(form, table, {name: size}) for size in form.threshold.candidates]
        return form, min(tried, key=lambda found: found[0])[1]
    values = _least(form, table, {})[1]
    other = form.fallback
    if other is None or values[other.parameter] <= other.beyond:
        return form, values
    form = replace(form, predict=other.predict, fallback=None)
    return form, _least(form, table, {})[1]


def _least(form: Form, table: KernelTable, fixed: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """Cost and values of the best parameters beside fixed ones."""
    from scipy.optimize import least_squares  # noqa: PLC0415  # scipy costs a second to import

    names = [p.name for p in form.parameters]
    usual = np.log([p.usual for p in form.parameters])
    low, high = (np.log([getattr(p, side) for p in form.parameters]) for side in ("low", "high"))
    width = np.array([p.prior for p in form.parameters])
    measured = np.log(table.time)

    def values(x: Array) -> dict[str, float]:
        return {**dict(zip(names, np.exp(x).tolist(), strict=True)), **fixed}

    def residuals(x: Array) -> Array:
        fitted = np.log(form.predict(values(x), table))
        return np.concatenate([fitted - measured, _PRIOR_WEIGHT * (x - usual) / width])

    solution = least_squares(residuals, np.clip(usual, low, high), bounds=(low, high), loss="soft_l1",
                             f_scale=_ROBUST, x_scale="jac", max_nfev=200)
    return float(solution.cost), values(solution.x)


def _at_bounds(form: Form, values: Mapping[str, float]) -> tuple[str, ...]:
    near = 1.005
    return tuple(p.name for p in form.parameters
                 if values[p.name] > p.high / near or values[p.name] < p.low * near)
