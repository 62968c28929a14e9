"""HiGHS behind two calls: solve a programme's rows whole or relaxed, and name the rows that cannot be kept together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.program import STRUCTURE, Program
from planner.core.quantities.arrays import Array

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

SOLVED, IMPOSSIBLE = 0, 2
"""scipy.optimize.milp's status of a programme solved to its gap, and of one proven infeasible."""
CONFLICT_TIME_S = 1.0
"""[s] per feasibility test of the conflict filter; a test that runs out counts as feasible, so the set stays sound."""
SHORTEST_S = 0.01
"""[s] HiGHS takes a limit below zero for none at all."""
DUALS_TIME_S = 3.0
"""[s] for the prices of a relaxation: it takes milliseconds where it takes anything to be of use."""


def warm_up() -> None:
    """Import the solver, so that no time limit pays for it."""
    import scipy.optimize  # noqa: F401, PLC0415 - scipy costs a second to import


def _constraint(asked: Program, names: Iterable[str] | None) -> LinearConstraint:
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - scipy costs a second to import
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy costs a second to import

    rows = asked.rows
    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.name), asked.columns.count))
    lower, upper = np.array(rows.lower), np.array(rows.upper)
    if names is not None:
        kept = set(names) | {STRUCTURE}
        off = np.array([name not in kept for name in rows.name], dtype=bool)
        lower[off], upper[off] = -np.inf, np.inf
    return LinearConstraint(matrix, lower, upper)


def solve(asked: Program, cost: Array, *, gap: float, time_limit_s: float, names: Iterable[str] | None = None,
          relaxed: bool = False, least: Array | None = None) -> Any:  # noqa: ANN401 - scipy's OptimizeResult carries no types
    """What HiGHS answers to a programme.

    Parameters
    ----------
    asked : Program
        Bounds, whole-number marks and rows.
    cost : ndarray
        (column,) what to minimise per unit.
    gap : float
        Relative gap to stop at [1].
    time_limit_s : float
        [s].
    names : iterable of str, optional
        Rows to keep besides the structural ones; all when omitted.
    relaxed : bool
        Ask for the relaxation: another, easier question.
    least : ndarray, optional
        (column,) smallest values; zero when omitted.

    Returns
    -------
    OptimizeResult
        status, x, fun, mip_dual_bound.
    """
    from scipy.optimize import Bounds, milp  # noqa: PLC0415 - scipy costs a second to import

    integer = np.zeros_like(asked.integer) if relaxed else asked.integer
    upper = asked.upper if names is None else np.where(asked.integer == 1, np.inf, asked.upper)
    return milp(cost, integrality=integer, bounds=Bounds(np.zeros(upper.size) if least is None else least, upper),
                constraints=_constraint(asked, names),
                options={"mip_rel_gap": gap, "time_limit": max(time_limit_s, SHORTEST_S)})


def duals(asked: Program) -> tuple[float, Array]:
    """Value and row prices of a programme's relaxation.

    Parameters
    ----------
    asked : Program
        The programme; a row with two different limits is priced by its upper one.

    Returns
    -------
    tuple
        Value [USD] and (row,) change of the value per unit of each row's limit [USD].

    Raises
    ------
    InvalidQuantity
        The relaxation has no solution.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 - scipy costs a second to import
    from scipy.sparse import csr_array, diags_array  # noqa: PLC0415 - scipy costs a second to import

    rows = asked.rows
    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.name), asked.columns.count))
    lower, upper = np.array(rows.lower), np.array(rows.upper)
    equal = lower == upper
    least = ~np.isfinite(upper)
    sign = np.where(least, -1.0, 1.0)
    limit = np.where(least, -lower, upper)
    solver: Any = linprog
    answer = solver(asked.cost, A_ub=(diags_array(sign) @ matrix).tocsr()[~equal], b_ub=limit[~equal],
                    A_eq=matrix[equal], b_eq=upper[equal],
                    bounds=np.column_stack([np.zeros(asked.upper.size), asked.upper]), method="highs",
                    options={"time_limit": DUALS_TIME_S})
    if answer.status != 0:
        raise InvalidQuantity(f"The relaxed fleet has no solution: {answer.message}")
    marginals = np.zeros(len(rows.name))
    marginals[~equal], marginals[equal] = sign[~equal] * answer.ineqlin.marginals, answer.eqlin.marginals
    return float(answer.fun), marginals


def conflict(asked: Program) -> tuple[str, ...]:
    """A minimal set of named constraints that cannot all be kept.

    Parameters
    ----------
    asked : Program
        An infeasible programme.

    Returns
    -------
    tuple of str
        Names; without any one of them the others can be kept.

    References
    ----------
    Chinneck and Dravnieks, Locating minimal infeasible constraint sets in linear programs, ORSA J. Computing 3(2),
    1991, doi:10.1287/ijoc.3.2.157 (the deletion filter).
    """
    names = [n for n in dict.fromkeys(asked.rows.name) if n != STRUCTURE]
    names.sort(key=lambda n: n.startswith("demand"))
    zero = np.zeros_like(asked.cost)

    def impossible(kept: list[str], *, relaxed: bool) -> bool:
        answer = solve(asked, zero, gap=0.0, time_limit_s=CONFLICT_TIME_S, names=kept, relaxed=relaxed)
        return int(answer.status) == IMPOSSIBLE

    relaxed = impossible(names, relaxed=True)
    for name in list(names):
        rest = [n for n in names if n != name]
        if impossible(rest, relaxed=relaxed):
            names = rest
    return tuple(names)


