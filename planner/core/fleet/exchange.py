"""Fleets improved by exchanging a few units at a time: what is given up is replaced by the cheapest one or two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from planner.core.fleet.clock import Clock
from planner.core.fleet.projection import Projection, dense
from planner.core.quantities.arrays import Array

MOST_GIVEN_UP = 3
"""[1] Units given up at once; two replace what three did, so that fleets shrink as well as change."""
SEED = 1
"""Draws are the same whenever a question is asked."""
MOST_MENDED = 200
"""[1] Units added to a fleet before it is given up; a fleet from nearby lacks a few."""
UNIT_TOLERANCE = 1e-9
"""[1] Of a row whose largest coefficient is one."""


CONSIDERED = 0.8
"""[1] Of all columns, by draw, as replacements: pairs are tried in a third of the time, and differ."""
MOST_CONSIDERED = 500
"""[1] Columns at once: pairs grow with their square."""
HARDEST, CHUNK = 3, 128
"""[1] Rows all pairs are held against first, and pairs held against all rows at once, the cheapest first."""
Range: TypeAlias = tuple[float, float]
"""From and to."""
Judge: TypeAlias = Callable[[Array, Array, npt.NDArray[np.int64]], Array]


def never(usd: float) -> bool:  # noqa: ARG001 - one of many answers to the same question
    """Whether a cost is low enough: none is.

    Parameters
    ----------
    usd : float
        [USD].

    Returns
    -------
    bool
        False.
    """
    return False


@dataclass(slots=True, kw_only=True)
class Exchange:
    """Rows ``matrix · x ≥ least`` of whole units, and the exchanges tried on them."""

    matrix: Array
    """(row, column), the largest of each row one."""
    least: Array
    """(row,)."""
    cost: Array
    """(column,) [USD]."""
    upper: Array
    """(column,) [1]; columns that are no whole numbers stay as they are."""
    spans: npt.NDArray[np.bool_]
    """(column, slice) where a column is there."""
    draws: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))
    whole: Array | None = None
    """(column,) the cheapest fleet met on which whole replicas carry everything."""
    usd: float = np.inf
    """Its cost [USD]."""
    limits: npt.NDArray[np.bool_] = field(init=False)
    """(row,) rows a unit more may break."""

    def __post_init__(self) -> None:
        """Work out which rows are limits."""
        self.limits = np.asarray((self.matrix < 0).any(axis=1))

    def improved(self, start: Array, clock: Clock, *, until: float, turns: int, heat: Range, weight: Range = (0.0, 0.0),
                 judge: Judge | None = None, enough: Callable[[float], bool] = never) -> Array:
        """The cheapest fleet met on the way from one that keeps every row.

        Parameters
        ----------
        start : ndarray
            (column,) whole units.
        clock : Clock
            The time.
        until : float
            Share of the time after which to stop [1].
        turns : int
            Exchanges to try; where they end before the time does, the answer does not depend on the machine [1].
        heat : tuple
            Mean rise that an exchange may bring at first and at last, over what one of the fleet's units costs in the
            mean: a unit is much of a small fleet [1].
        weight : tuple
            Weight of what whole replicas lack at first and at last [1].
        judge : callable, optional
            (slice,) what it costs that whole replicas do not carry the load [USD], given units, what it was before, and
            the slices to look at; the cheapest fleet for which it is nothing is sought.
        enough : callable, optional
            Whether a fleet of that cost, on which whole replicas carry everything, ends the search.

        Returns
        -------
        ndarray
            (column,) the start where nothing better was met.

        References
        ----------
        Kirkpatrick, Gelatt and Vecchi, Optimization by simulated annealing, Science 220, 1983,
        doi:10.1126/science.220.4598.671.
        """
        x, best = start.copy(), start.copy()
        usd = float(self.cost @ x)
        fined = np.zeros(self.spans.shape[1])
        if judge is not None:
            fined = judge(x, fined, np.arange(fined.size))
            if not fined.any():
                self.keep(x)
        least = usd + weight[1] * float(fined.sum())
        slack, begun, turn = self.matrix @ x - self.least, clock.spent(), 0
        while (part := max(turn / turns, (clock.spent() - begun) / max(until - begun, 1e-9))) < 1.0:
            if enough(self.usd) or not ((x > 0.5) & (self.upper > 0)).any():
                break
            turn += 1
            fine, rise = _between(weight, part), usd / max(float(x.sum()), 1.0) * _between(heat, part)
            given = self._given_up(x)
            worth = float(self.cost[given].sum())
            most = worth - rise * float(np.log(self.draws.uniform(1e-9, 1.0)))
            after = x.copy()
            after[given] -= 1.0
            taken = self._replacement(after, slack - self.matrix[:, given].sum(axis=1),
                                      most + fine * float(fined[self.spans[given].any(axis=0)].sum()), given)
            if taken is None:
                continue
            np.add.at(after, taken, 1.0)
            more, fines = float(self.cost[taken].sum()) - worth, fined
            if judge is not None:
                fines = judge(after, fined, np.flatnonzero(self.spans[np.concatenate([given, taken])].any(axis=0)))
                if more + fine * float((fines - fined).sum()) > most - worth:
                    continue
            x, usd, fined = after, usd + more, fines
            slack = self.matrix @ x - self.least
            if judge is not None and not fined.any():
                self.keep(x)
            if usd + weight[1] * float(fined.sum()) < least * (1.0 - 1e-9):
                best, least = x.copy(), usd + weight[1] * float(fined.sum())
        return best

    def more(self, x: Array, there: npt.NDArray[np.bool_], number: int) -> list[int]:
        """The cheapest columns of which one more breaks no row.

        Parameters
        ----------
        x : ndarray
            (column,) whole units.
        there : ndarray
            (column,) those to look at.
        number : int
            How many [1].

        Returns
        -------
        list of int
            The cheapest first.
        """
        slack = self.matrix[self.limits] @ x - self.least[self.limits]
        kept = (self.matrix[self.limits] + slack[:, None] >= -UNIT_TOLERANCE).all(axis=0)
        free = np.flatnonzero(kept & there & (x < self.upper))
        return [int(c) for c in free[np.argsort(self.cost[free], kind="stable")][:number]]

    def keep(self, x: Array) -> None:
        """Remember a fleet on which whole replicas carry everything, if it is the cheapest.

        Parameters
        ----------
        x : ndarray
            (column,) units.
        """
        usd = float(self.cost @ x)
        if usd < self.usd * (1.0 - 1e-9):
            self.whole, self.usd = x.copy(), usd

    def mended(self, x: Array) -> Array | None:
        """The fleet and more units, the cheapest one or two that mend most rows at a time.

        Parameters
        ----------
        x : ndarray
            (column,) whole units.

        Returns
        -------
        ndarray or None
            (column,) that keeps every row; None when none was found.
        """
        x = x.copy()
        for _ in range(MOST_MENDED):
            slack = self.matrix @ x - self.least
            if (slack >= -UNIT_TOLERANCE).all():
                return x
            taken = self._replacement(x, slack, np.inf, np.empty(0, dtype=np.int64))
            if taken is None:
                kept = (self.matrix >= 0) | (self.matrix + slack[:, None] >= -UNIT_TOLERANCE)
                usable = (x < self.upper) & kept.all(axis=0)
                mends = np.minimum(self.matrix, np.maximum(-slack, 0.0)[:, None]).clip(min=0.0).sum(axis=0)
                value = np.where(usable & (mends > 0), mends / np.maximum(self.cost, 1e-9), 0.0)
                if value.max(initial=0.0) <= 0.0:
                    return None
                taken = np.array([int(np.argmax(value))])
            np.add.at(x, taken, 1.0)
        return None

    def _given_up(self, x: Array) -> npt.NDArray[np.int64]:
        """One to three of the units there are."""
        there = np.flatnonzero((x > 0.5) & (self.upper > 0))
        number = int(self.draws.integers(1, MOST_GIVEN_UP + 1))
        given = self.draws.choice(there, size=min(number, there.size), replace=False)
        return np.asarray(given, dtype=np.int64)

    def _replacement(self, rest: Array, slack: Array, most: float,
                     given: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
        """The cheapest none, one or two columns that mend every row for less than ``most`` [USD]; None when none do."""
        short = slack < -UNIT_TOLERANCE
        if not short.any():
            return np.empty(0, dtype=np.int64)
        free = (self.cost < most) & (rest < self.upper)
        free[given] = False
        free &= self.draws.random(free.size) < min(CONSIDERED, MOST_CONSIDERED / free.size)
        order = np.flatnonzero(free)
        order = order[np.argsort(self.cost[order], kind="stable")]
        rows = np.flatnonzero(short | self.limits)
        gain, need, cost = self.matrix[np.ix_(rows, order)], -slack[rows] - UNIT_TOLERANCE, self.cost[order]
        if not order.size:
            return None
        alone = np.flatnonzero((gain >= need[:, None]).all(axis=0))
        found = order[alone[:1]] if alone.size else None
        most = min(most, float(cost[alone[0]])) if alone.size else most
        pair = _pair(gain, need, cost, most, rest[order] + 2.0 <= self.upper[order])
        return found if pair is None else order[pair]


def _between(given: Range, part: float) -> float:
    """A value on the way, by equal ratios; zero for a range that ends there."""
    return given[0] * (given[1] / given[0]) ** part if given[0] > 0 else 0.0


def _pair(gain: Array, need: Array, cost: Array, most: float,
          twice: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64] | None:
    """Positions of the cheapest two columns, sorted by cost, that together meet a need for less than ``most``."""
    if cost.size == 0 or 2 * cost[0] >= most:
        return None
    second = int(np.searchsorted(cost, most - cost[0]))
    first = int(np.searchsorted(cost[:second], most / 2, side="right"))
    gain, cost = gain[:, :second], cost[:second]
    largest = gain.max(axis=1)
    mine = np.flatnonzero((gain[:, :first] + largest[:, None] >= need[:, None]).all(axis=0))
    if not mine.size:
        return None
    together = cost[mine][:, None] + cost[None, :]
    meets = together < most
    meets[np.arange(mine.size), mine] &= twice[mine]
    for row in np.argsort(-need / np.maximum(largest, 1e-12))[:HARDEST]:
        meets &= gain[row, mine][:, None] + gain[row][None, :] >= need[row]
    one, two = np.nonzero(meets)
    order = np.argsort(together[one, two], kind="stable")
    for start in range(0, order.size, CHUNK):
        some = order[start:start + CHUNK]
        i, j = mine[one[some]], two[some]
        whole = np.flatnonzero((gain[:, i] + gain[:, j] >= need[:, None]).all(axis=0))
        if whole.size:
            return np.array([i[whole[0]], j[whole[0]]], dtype=np.int64)
    return None


def exchange(own: Projection) -> Exchange:
    """A programme of units ready for exchanges.

    Parameters
    ----------
    own : Projection
        Its rows, those with two limits taken apart.

    Returns
    -------
    Exchange
        The same rows, each scaled to a largest coefficient of one.
    """
    matrix, lower, upper = dense(own.asked), np.array(own.asked.rows.lower), np.array(own.asked.rows.upper)
    over, under = np.isfinite(lower), np.isfinite(upper)
    rows, limit = np.vstack([matrix[over], -matrix[under]]), np.concatenate([lower[over], -upper[under]])
    scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-12)
    return Exchange(matrix=rows / scale[:, None], least=limit / scale, cost=own.asked.cost,
                    upper=np.where(own.asked.integer == 1, own.asked.upper, 0.0), spans=own.spans)
