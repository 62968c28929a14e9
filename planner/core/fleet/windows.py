"""Bounds from stretches of time: each is solved whole on its own, at prices, and what it must cost becomes a row.

A search over twelve quarters hardly raises its bound; one over four ends. The relaxed programme prices what every
stretch asks for, and what of a unit's cost is left over is shared out among the stretches it is there in. The least a
whole fleet can pay in a stretch at those prices is often well above the prices' own sum, and is a row that every fleet
keeps: together they bound better than a long search does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.fleet.clock import Clock
from planner.core.fleet.program import Program
from planner.core.fleet.projection import ROOM, Projection, dense, projection
from planner.core.fleet.rows import Rows
from planner.core.fleet.solver import duals, solve
from planner.core.quantities.arrays import Array

WINDOW = 4
"""[period] Of one stretch: a quarter more doubles its time, a quarter less halves what it adds (measured)."""
WINDOWS_SHARE, BOUND_SHARE = 0.45, 0.85
"""[1] Shares of the time after which the last stretch, and the search over all of them, end."""
LEAST_S = 0.05
"""[s] Even an overdue search gets this long; it is what presolve takes."""
WORTHWHILE = 1e-3
"""[1] Of a stretch's share of all costs: what must be paid in one that costs less is no row worth having."""
PART = 0.1
"""[1] Of the gap asked for may be left in a stretch."""


def bounded(relaxed: Program, clock: Clock, gap: float, told: Callable[[float], bool]) -> tuple[float, Array | None]:
    """A bound of a relaxation with whole units, and the cheapest solution met.

    Parameters
    ----------
    relaxed : Program
        Whole units, divisible replicas.
    clock : Clock
        The time.
    gap : float
        Relative gap to aim for [1].
    told : callable
        Is told every better bound [USD] and says whether it is good enough.

    Returns
    -------
    tuple
        The bound [USD], and (column,) units, or None when none were found.

    References
    ----------
    Guignard and Kim, Lagrangean decomposition: a model yielding stronger Lagrangean bounds, Math. Prog. 39, 1987,
    doi:10.1007/BF02592954 (copies of a variable, a price on each).
    """
    own = projection(relaxed)
    if own.relax() is None:
        return 0.0, None
    least = 0.0
    try:
        least = duals(own.asked)[0] * (1.0 - ROOM)
        if told(least):
            return least, None
        add_windows(own, WINDOW, clock, PART * gap)
        least = max(least, duals(own.asked)[0] * (1.0 - ROOM))
    except InvalidQuantity:  # no prices in time; what is known so far bounds as well
        pass
    if told(least):
        return least, None
    found = solve(own.asked, own.asked.cost, gap=gap / 4, time_limit_s=max(clock.left(BOUND_SHARE), LEAST_S))
    least = max(least, 0.0 if found.bound is None else float(found.bound))
    told(least)
    return least, None if found.x is None else np.asarray(found.x)


def add_windows(own: Projection, periods: int, clock: Clock, gap: float) -> None:
    """Add, for stretches of so many periods, that every fleet pays what the cheapest one pays there.

    Parameters
    ----------
    own : Projection
        A relaxation that has been relaxed.
    periods : int
        Length of a stretch [period].
    clock : Clock
        The time.
    gap : float
        Relative gap to stop at in a stretch [1].

    Notes
    -----
    With c_j the cost of a column, y_r the price of a row and W the stretches, π_Wj = Σ_{r in W} y_r · a_rj + a share of
    what is left of c_j, so that Σ_W π_Wj ≤ c_j. For every stretch Σ_j π_Wj · x_j ≥ z_W, the least over all whole x
    that keep the stretch's rows.
    """
    stretches = _stretches(own, periods)
    if len(stretches) == 1:
        return
    (value, prices), matrix = duals(own.asked), dense(own.asked)
    there = np.array([own.spans[:, sorted(w)].any(axis=1) for w in stretches])
    left = np.maximum(own.asked.cost - prices @ matrix, 0.0) / np.maximum(there.sum(axis=0), 1)
    for number, window in enumerate(stretches):
        mine = np.array([home <= window for home in own.home[:len(prices)]], dtype=np.bool_)
        cost = np.where(there[number], prices[mine] @ matrix[mine] + left, 0.0)
        part = _part(own, np.flatnonzero(mine), matrix, cost, there[number])
        limit = clock.left(WINDOWS_SHARE) / (len(stretches) - number)
        answer = solve(part, part.cost, gap=gap, time_limit_s=max(limit, LEAST_S))
        least = 0.0 if answer.bound is None else float(answer.bound)
        if WORTHWHILE * value / len(stretches) < least < np.inf:
            own.add(cost / least, home=window)


def _stretches(own: Projection, periods: int) -> list[frozenset[int]]:
    """Slices of stretches as equal as can be."""
    total, period = own.asked.columns.periods, own.asked.scenario.moments.period
    edges = np.round(np.linspace(0, total, -(-total // periods) + 1)).astype(int)
    return [frozenset(np.flatnonzero((period >= a) & (period < b)).tolist())
            for a, b in itertools.pairwise(edges)]


def _part(own: Projection, rows: npt.NDArray[np.int64], matrix: Array, cost: Array,
          there: npt.NDArray[np.bool_]) -> Program:
    """A stretch's programme; columns that are the same in it are one, at the least of their costs."""
    asked, cost = own.asked, cost.copy()
    upper, mine = np.where(there, asked.upper, 0.0), matrix[rows]
    first: dict[bytes, int] = {}
    for c in np.flatnonzero(upper > 0):
        if not asked.integer[c]:
            continue
        one = first.setdefault(mine[:, c].tobytes(), int(c))
        if one != c:
            cost[one] = min(cost[one], cost[c])
            upper[one], upper[c] = upper[one] + upper[c], 0.0
    part = Rows()
    for r, row in zip(rows, mine, strict=True):
        part.add(asked.rows.name[r], [(int(c), float(row[c])) for c in np.flatnonzero(row) if upper[c] > 0],
                 lower=asked.rows.lower[r], upper=asked.rows.upper[r])
    return replace(asked, rows=part, cost=cost, upper=upper)
