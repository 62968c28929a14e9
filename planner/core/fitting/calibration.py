"""Curves fitted to kernels timed on the machine at hand, with intervals and an error on shapes left out.

References
----------
Huber-type robust loss in log time: Triggs et al., Bundle Adjustment, 2000, §4.3 (soft-L1). Intervals from the Jacobian:
Seber & Wild, Nonlinear Regression, 1989, eq. 5.14. Leave-group-out: Stone, JRSS B 36(2) 1974.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core.errors import MissingFact
from planner.core.fitting.calibration_forms import Ceilings, Form, form_of
from planner.core.fitting.kernel_points import Columns, KernelPoint, columns
from planner.core.quantities.arrays import Array

_RAMP_NODES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
_RAMP_MUST_GAIN = 0.85  # a ramp is kept only if it lowers the left-out error to this share: parsimony
_SOFT = 0.1  # [log time] residuals beyond 10 % weigh linearly
_NORMAL_90 = 1.6449  # two-sided 90 % quantile of the normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedCurve:
    """A fitted curve of one operator class and dtype."""

    kernel: str
    dtype: str
    ceilings: Ceilings
    parameters: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    """90 % interval of each parameter."""
    ramp: tuple[tuple[float, float], ...]
    """(tokens, compute share) nodes where the share changes with tokens; empty for one share."""
    points: int
    median_error: float
    """Median absolute relative error over the fitted points [1]."""
    left_out: tuple[float, ...]
    """Absolute relative error of every point, predicted by fits that never saw its shape; empty with few shapes [1]."""

    @property
    def left_out_error(self) -> float | None:
        """Median error on left-out points; None with too few shapes to leave any out [1]."""
        return float(np.median(self.left_out)) if self.left_out else None

    @property
    def left_out_p90(self) -> float | None:
        """90th percentile of the error on left-out points [1]."""
        return float(np.quantile(self.left_out, 0.9)) if self.left_out else None

    def time(self, x: Columns) -> Array:
        """Predicted time of kernels.

        Parameters
        ----------
        x : Columns
            What is asked, shape (point,).

        Returns
        -------
        ndarray
            t [s], shape (point,).
        """
        logs = np.log([*self.parameters.values(), *(v for _, v in self.ramp)])
        return _evaluate(form_of(self.kernel), logs, tuple(n for n, _ in self.ramp), x, self.ceilings)


def _evaluate(form: Form, logs: Array, nodes: tuple[float, ...], x: Columns, ceilings: Ceilings) -> Array:
    names = [p.name for p in form.parameters]
    values: dict[str, Array] = dict(zip(names, np.exp(logs[:len(names)]), strict=True))
    if nodes:
        values["compute"] = np.exp(np.interp(np.log(np.maximum(x.tokens, 1.0)), np.log(nodes), logs[len(names):]))
    return form.evaluate(values, x, ceilings)


def _solve(form: Form, nodes: tuple[float, ...], x: Columns, seconds: Array,
           ceilings: Ceilings) -> tuple[Array, Array]:
    """Log parameters and their standard errors."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a second to import; only fits need it

    compute = form.parameters[-1]
    rows = (*form.parameters, *(compute for _ in nodes))
    start, low, high = (np.log([getattr(p, k) for p in rows]) for k in ("start", "low", "high"))
    floor = np.log(seconds.min() / 2)
    start[0] = np.clip(floor, low[0] + 1e-6, high[0] - 1e-6)

    def misfit(logs: Array) -> Array:
        return np.asarray(np.log(_evaluate(form, logs, nodes, x, ceilings) / seconds))

    answer = least_squares(misfit, start, bounds=(low, high), loss="soft_l1", f_scale=_SOFT, x_scale="jac",
                           max_nfev=400)
    freedom = max(1, len(seconds) - len(rows))
    jacobian = np.asarray(answer.jac, dtype=np.float64)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * float(np.sum(answer.fun**2)) / freedom
    return np.asarray(answer.x), np.sqrt(np.maximum(np.diag(covariance), 0.0))


def _nodes(form: Form, tokens: Array) -> tuple[float, ...]:
    """Ramp nodes that measured token counts surround."""
    if not form.ramps:
        return ()
    inside = [n for n in _RAMP_NODES if tokens.min() <= n <= tokens.max()]
    return tuple(n for n in inside if np.any(np.abs(np.log(tokens / n)) < np.log(1.5)))


def _left_out(form: Form, nodes: tuple[float, ...], points: Sequence[KernelPoint],
              ceilings: Ceilings) -> Array:
    """Errors of points predicted from fits that never saw their shape; empty with fewer than three shapes."""
    shapes = sorted({p.shape for p in points})
    if len(shapes) < 3:
        return np.empty(0)
    x, seconds = columns(points)
    fold = np.array([shapes.index(p.shape) % min(len(shapes), 5) for p in points])
    errors = np.empty(len(points))
    for k in np.unique(fold):
        logs, _ = _solve(form, nodes, x.take(fold != k), seconds[fold != k], ceilings)
        errors[fold == k] = np.abs(_evaluate(form, logs, nodes, x.take(fold == k), ceilings) / seconds[fold == k] - 1)
    return errors


def fit_curve(points: Sequence[KernelPoint], ceilings: Ceilings) -> CalibratedCurve:
    """The curve of one operator class and dtype, robustly fitted in log time.

    Parameters
    ----------
    points : sequence of KernelPoint
        Points of one class and dtype that passed the plausibility gate.
    ceilings : Ceilings
        What the device reaches.

    Returns
    -------
    CalibratedCurve
        Parameters, 90 % intervals and residuals. The compute share follows the number of tokens only where that
        lowers the error on shapes left out.

    Raises
    ------
    MissingFact
        Fewer points than the curve has parameters, or an unknown class.
    """
    x, seconds = columns(points)
    form = form_of(points[0].kernel)
    if len(points) <= len(form.parameters):
        raise MissingFact(f"{len(points)} plausible {form.name} points in {points[0].dtype} are too few for a curve of "
                          f"{len(form.parameters)} parameters.", fact=f"calibration.{form.name}",
                          hint="Run the full suite, not the quick one, on an idle machine.")
    choices: dict[tuple[float, ...], Array] = {(): _left_out(form, (), points, ceilings)}
    ramp = _nodes(form, x.tokens)
    if ramp and len(points) > len(form.parameters) + len(ramp):
        choices[ramp] = _left_out(form, ramp, points, ceilings)
    nodes = _chosen(choices, ramp)
    logs, spread = _solve(form, nodes, x, seconds, ceilings)
    fitted = np.abs(_evaluate(form, logs, nodes, x, ceilings) / seconds - 1)
    return _packed(points[0], form, ceilings, nodes, (logs, spread), (fitted, choices[nodes]))


def _chosen(choices: Mapping[tuple[float, ...], Array], ramp: tuple[float, ...]) -> tuple[float, ...]:
    plain, ramped = choices[()], choices.get(ramp, np.empty(0))
    if not ramp or not plain.size or not ramped.size:
        return ()
    return ramp if np.mean(ramped) < _RAMP_MUST_GAIN * np.mean(plain) else ()


def _packed(first: KernelPoint, form: Form, ceilings: Ceilings, nodes: tuple[float, ...],
            solution: tuple[Array, Array], errors: tuple[Array, Array]) -> CalibratedCurve:
    (logs, spread), (fitted, left_out) = solution, errors
    count = len(form.parameters)
    names = [p.name for p in form.parameters]
    bands = np.exp(np.clip([logs - _NORMAL_90 * spread, logs + _NORMAL_90 * spread], -80, 80))
    return CalibratedCurve(
        kernel=form.name, dtype=first.dtype, ceilings=ceilings, points=len(fitted),
        parameters=dict(zip(names, np.exp(logs[:count]).tolist(), strict=True)),
        intervals={n: (float(bands[0, i]), float(bands[1, i])) for i, n in enumerate(names)},
        ramp=tuple(zip(nodes, np.exp(logs[count:]).tolist(), strict=True)),
        median_error=float(np.median(fitted)),
        left_out=tuple(left_out.tolist()))
