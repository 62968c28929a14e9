"""HiGHS itself: a programme in, its status, point and bound out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.quantities.arrays import Array

SOLVED, IMPOSSIBLE, UNFINISHED = "solved", "impossible", "unfinished"
"""Solved to its gap, proven infeasible, or neither in the time there was."""
TOLERANCE = 1e-6
"""HiGHS's own: a row or bound broken by less is kept, a number this close to a whole one is whole."""
SHORTEST_S = 0.01
"""[s] HiGHS takes a limit of zero for one it has reached already."""
PROBING_BY_DUALS = 1 << 20
"""HiGHS 1.16's number of a presolve rule, dual-fixing probing: with it a fleet 43 % above the cheapest was called
optimal, once in some thousand random ones (others met the like: github.com/ERGO-Code/HiGHS/issues/3073)."""
ALWAYS: dict[str, bool | float | str] = {"output_flag": False, "threads": 1, "parallel": "off", "random_seed": 0,
                                         "presolve_rule_off": PROBING_BY_DUALS}
"""One thread and one seed, so that an answer does not depend on the machine; nothing is printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What HiGHS answers."""

    status: str
    """solved | impossible | unfinished."""
    x: Array | None
    """(column,) the best point found."""
    value: float | None
    """What it costs."""
    bound: float | None
    """No point costs less."""
    prices: Array | None
    """(row,) change of the value per unit of a row's limit; None where whole numbers are asked for."""


class Highs:
    """One programme ``minimise cost·x, lower ≤ A·x ≤ upper, least ≤ x ≤ most``, to be solved again as it changes.

    Parameters
    ----------
    cost : ndarray
        (column,).
    entries : tuple of ndarray
        Rows, columns and values of A; values at the same place add up.
    limits : tuple of ndarray
        (row,) lower and upper.
    bounds : tuple of ndarray
        (column,) least and most.
    integer : ndarray, optional
        (column,) 1 where only whole numbers will do; nowhere when omitted.
    gap : float
        Relative gap to stop at, where whole numbers are asked for [1].
    time_limit_s : float
        [s].

    References
    ----------
    Huangfu and Hall, Parallelizing the dual revised simplex method, Math. Prog. Comp. 10, 2018,
    doi:10.1007/s12532-017-0130-5.
    """

    def __init__(self, cost: Array, entries: tuple[Any, Any, Any], limits: tuple[Array, Array],
                 bounds: tuple[Array, Array], integer: npt.NDArray[np.int64] | None = None, *, gap: float = 0.0,
                 time_limit_s: float = np.inf) -> None:
        # From 1.15 on highspy.Highs writes a banner to standard output as it registers callbacks, which nobody here
        # asks for; the class behind it has the same calls.
        from highspy._core import HighsLp, HighsVarType, MatrixFormat, _Highs  # noqa: PLC0415 - 17 ms and 6 MB

        columns, rows = cost.size, limits[0].size
        model = HighsLp()
        model.num_col_, model.num_row_ = columns, rows
        model.col_cost_, model.row_lower_, model.row_upper_ = cost, limits[0], limits[1]
        model.col_lower_, model.col_upper_ = bounds
        model.a_matrix_.format_ = MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = _by_column(entries, columns, rows)
        self._entries, self._limits, self._bounds = entries, limits, bounds
        self._whole = integer is not None and bool(integer.any())
        if integer is not None and self._whole:
            kinds = HighsVarType.kContinuous, HighsVarType.kInteger
            model.integrality_ = [kinds[int(one)] for one in integer]
        self._solver = _Highs()
        for name, value in {**ALWAYS, "mip_rel_gap": gap, "time_limit": max(time_limit_s, SHORTEST_S)}.items():
            self._solver.setOptionValue(name, value)
        self._solver.passModel(model)

    def solve(self) -> Answer:
        """Solve it, from where the last solution left off.

        Returns
        -------
        Answer
            Status, point, value, bound and prices.
        """
        from highspy import HighsModelStatus, SolutionStatus  # noqa: PLC0415 - 17 ms and 6 MB

        self._solver.run()
        status, info = self._solver.getModelStatus(), self._solver.getInfo()
        found = {HighsModelStatus.kOptimal: SOLVED, HighsModelStatus.kInfeasible: IMPOSSIBLE}.get(status, UNFINISHED)
        x = prices = value = bound = None
        if info.primal_solution_status == SolutionStatus.kSolutionStatusFeasible and found != IMPOSSIBLE:
            solution = self._solver.getSolution()
            # HiGHS keeps bounds to 1e-7: a point just below zero, rounded down, would be less than none.
            x, value = np.clip(solution.col_value, *self._bounds), float(info.objective_function_value)
            prices = None if self._whole else np.array(solution.row_dual)
        if self._whole:
            bound = float(info.mip_dual_bound)
        elif found == SOLVED:
            bound = value
        return Answer(status=found, x=x, value=value, bound=bound, prices=prices)

    def begin_at(self, x: Array) -> None:
        """Tell it a point to start from.

        Parameters
        ----------
        x : ndarray
            (column,); one that breaks rows or bounds is forgotten: HiGHS 1.16 may take it for a solution.
        """
        from highspy import HighsSolution  # noqa: PLC0415 - 17 ms and 6 MB

        row, column, value = (np.asarray(one) for one in self._entries)
        sums = np.bincount(row, weights=value * x[column], minlength=self._limits[0].size)
        for found, (lower, upper) in ((sums, self._limits), (x, self._bounds)):
            if (found < lower - TOLERANCE).any() or (found > upper + TOLERANCE).any():
                return
        solution = HighsSolution()
        solution.col_value = x.tolist()
        self._solver.setSolution(solution)

    def at_most(self, row: int, upper: float) -> None:
        """Change the limit of a row that has no lower one.

        Parameters
        ----------
        row : int
            Which.
        upper : float
            Its new limit.
        """
        self._limits[1][row] = upper
        self._solver.changeRowBounds(row, -np.inf, upper)


def _by_column(entries: tuple[Any, Any, Any], columns: int,
               rows: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], Array]:
    """The matrix column by column: where each begins, its rows, its values."""
    row, column, value = (np.asarray(one) for one in entries)
    place, which = np.unique(column.astype(np.int64) * rows + row.astype(np.int64), return_inverse=True)
    values = np.zeros(place.size)
    np.add.at(values, which, value)
    begins = np.searchsorted(place, np.arange(columns + 1, dtype=np.int64) * rows)
    return begins.astype(np.int32), (place % max(rows, 1)).astype(np.int32), values
