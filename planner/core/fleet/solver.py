"""A programme's rows solved whole or relaxed, their prices, and the rows that cannot be kept together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.highs import IMPOSSIBLE, SOLVED, Answer, Highs
from planner.core.fleet.program import STRUCTURE, Program
from planner.core.quantities.arrays import Array

CONFLICT_TIME_S = 1.0
"""[s] per feasibility test of the conflict filter; a test that runs out counts as feasible, so the set stays sound."""
DUALS_TIME_S = 3.0
"""[s] for the prices of a relaxation: it takes milliseconds where it takes anything to be of use."""


def warm_up() -> None:
    """Import the solver, so that no time limit pays for it."""
    import highspy  # noqa: F401, PLC0415 - 17 ms and 6 MB


def solve(asked: Program, cost: Array, *, gap: float, time_limit_s: float, names: Iterable[str] | None = None,
          relaxed: bool = False, least: Array | None = None, start: Array | None = None) -> Answer:
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
    start : ndarray, optional
        (column,) a point to begin at.

    Returns
    -------
    Answer
        Status, point, value and bound.
    """
    rows = asked.rows
    lower, upper = np.array(rows.lower), np.array(rows.upper)
    most = asked.upper if names is None else np.where(asked.integer == 1, np.inf, asked.upper)
    if names is not None:
        kept = set(names) | {STRUCTURE}
        off = np.array([name not in kept for name in rows.name], dtype=bool)
        lower[off], upper[off] = -np.inf, np.inf
    model = Highs(cost, (rows.row, rows.column, rows.value), (lower, upper),
                  (np.zeros(cost.size) if least is None else least, most), None if relaxed else asked.integer,
                  gap=gap, time_limit_s=time_limit_s)
    if start is not None:
        model.begin_at(start)
    return model.solve()


def duals(asked: Program) -> tuple[float, Array]:
    """Value and row prices of a programme's relaxation.

    Parameters
    ----------
    asked : Program
        The programme; a row with two different limits is priced by the one that holds.

    Returns
    -------
    tuple
        Value [USD] and (row,) change of the value per unit of each row's limit [USD].

    Raises
    ------
    InvalidQuantity
        The relaxation has no solution.
    """
    answer = solve(asked, asked.cost, gap=0.0, time_limit_s=DUALS_TIME_S, relaxed=True)
    if answer.status != SOLVED or answer.value is None or answer.prices is None:
        raise InvalidQuantity(f"The relaxed fleet has no solution: {answer.status}.")
    return answer.value, answer.prices


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
        return answer.status == IMPOSSIBLE

    # What remains of a relaxation, which takes milliseconds, may have a part that only whole numbers cannot keep.
    for relaxed in (True, False) if impossible(names, relaxed=True) else (False,):
        for name in list(names):
            rest = [n for n in names if n != name]
            if impossible(rest, relaxed=relaxed):
                names = rest
    return tuple(names)
