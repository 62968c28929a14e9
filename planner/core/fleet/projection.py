"""The fleet in units alone: what replicas ask of units is projected onto rows of units, found where they are broken.

The relaxation with divisible replicas (``divisible``) has, for every slice, rows on demand and rows that give replicas
their GPUs. For any prices of demand, the GPUs of a pool are worth what their best replica carries; the worth of all
units must reach that of the load. Such rows, for all prices, say as much as the replicas did, with half the
variables and half the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from planner.core.fleet.highs import TOLERANCE
from planner.core.fleet.program import STRUCTURE, Program
from planner.core.fleet.readout import hosted_parts
from planner.core.fleet.rows import Rows
from planner.core.fleet.service import Service
from planner.core.fleet.solver import solve
from planner.core.quantities.arrays import Array

ROOM = 1e-9
"""[1] Relative room left for rounding in a row worked out from others, so that no plan is cut off."""
SEEN = 1e-8
"""[1] Least coefficient in a row whose others are about one."""
ROUNDS = 20
"""[1] Of rows on demand; four to ten are enough."""
RELAXED_S = 3.0
"""[s] for one relaxation, which takes milliseconds."""


@dataclass(slots=True, kw_only=True)
class Projection:
    """A programme of units and API shares whose rows on demand are added where a solution breaks them."""

    asked: Program
    """Columns and rows on units alone, and the rows found so far."""
    services: list[Service]
    prices: list[tuple[int, Array]] = field(default_factory=list)
    """Slice and prices of every row on demand."""
    priced: list[int] = field(default_factory=list)
    """Rows on demand."""
    spans: npt.NDArray[np.bool_] = field(init=False)
    """(column, slice) where a column is there."""
    pools: npt.NDArray[np.int64] = field(init=False)
    """(column,) pool of a unit; one more than the last for what is no unit."""

    def __post_init__(self) -> None:
        """Work out where columns are."""
        self.spans = _spans(self.asked)
        self.pools = _pools(self.asked)

    def add(self, coefficients: Array) -> None:
        """Add a row ``coefficients · x ≥ 1``.

        Parameters
        ----------
        coefficients : ndarray
            (column,) [1].
        """
        # HiGHS leaves out coefficients below 1e-9, which would make the row stricter.
        seen = np.where(np.abs(coefficients) < SEEN, np.where(coefficients > 0, SEEN, 0.0), coefficients)
        self.asked.rows.add(STRUCTURE, [(int(c), float(seen[c])) for c in np.flatnonzero(seen)],
                            lower=1.0 - ROOM)

    def tighten(self, x: Array) -> int:
        """Add the row each slice is furthest from keeping.

        Parameters
        ----------
        x : ndarray
            (column,) units and shares.

        Returns
        -------
        int
            Rows added [1].
        """
        found = 0
        for service in self.services:
            prices = service.broken(x)
            if prices is not None:
                self.price(service.moment, prices)
                found += 1
        return found

    def price(self, moment: int, prices: Array) -> None:
        """Add the row on units that follows from prices of a slice's demand.

        Parameters
        ----------
        moment : int
            The slice.
        prices : ndarray
            (demand row,) not all zero.
        """
        self.add(self.services[moment].row(prices))
        self.prices.append((moment, prices))
        self.priced.append(len(self.asked.rows.name) - 1)

    def units(self, x: Array, moment: int) -> Array:
        """Units of every pool in a slice.

        Parameters
        ----------
        x : ndarray
            (column,) units and shares.
        moment : int
            The slice.

        Returns
        -------
        ndarray
            (pool,) [1].
        """
        count = len(self.asked.scenario.pools)
        units = np.bincount(self.pools, weights=x * self.spans[:, moment], minlength=count + 1)[:count]
        return units.astype(np.float64)

    def hosted(self, x: Array, moment: int) -> Array:
        """Part of the requests that APIs answer in a slice.

        Parameters
        ----------
        x : ndarray
            (column,) units and shares.
        moment : int
            The slice.

        Returns
        -------
        ndarray
            (workload,) [1].
        """
        scenario = self.asked.scenario
        shares = np.zeros(len(scenario.workloads))
        order = {w.id: n for n, w in enumerate(scenario.workloads)}
        for a, api in enumerate(scenario.apis):
            at = self.asked.columns.api(a, moment)
            shares[order[api.workload]] += float(hosted_parts(x[at:at + 1])[0])
        return np.clip(shares, 0.0, 1.0)

    def leave_room(self, room: Array) -> None:
        """Ask the rows on demand for more than divisible replicas need.

        Parameters
        ----------
        room : ndarray
            (slice,) part of the load [1].
        """
        for row, (moment, _) in zip(self.priced, self.prices, strict=True):
            self.asked.rows.lower[row] = 1.0 + float(room[moment])

    def relax(self) -> Array | None:
        """The relaxation's solution, once it keeps every row on demand.

        Returns
        -------
        ndarray or None
            (column,); None when there is none.
        """
        x = None
        for _ in range(ROUNDS):
            answer = solve(self.asked, self.asked.cost, gap=0.0, time_limit_s=RELAXED_S, relaxed=True)
            if answer.x is None:
                return x
            x = np.asarray(answer.x)
            if not self.tighten(x):
                break
        return x


def projection(relaxed: Program) -> Projection:
    """A relaxation's programme in units alone, without rows on demand yet.

    Parameters
    ----------
    relaxed : Program
        Whole units, divisible replicas.

    Returns
    -------
    Projection
        Every solution of the relaxation is one of it at the same cost.
    """
    old = relaxed.columns
    first = old.sizes[0]
    place = replace(old, pairs=(), marked=())
    matrix = dense(relaxed)
    with_replicas = np.abs(matrix[:, :first]).sum(axis=1) > 0
    asked = Program(scenario=relaxed.scenario, columns=place, cost=relaxed.cost[first:].copy(),
                    upper=relaxed.upper[first:].copy(), integer=relaxed.integer[first:].copy(),
                    rows=Rows())
    own = Projection(asked=asked, services=_services(relaxed, matrix, with_replicas))
    for row in np.flatnonzero(~with_replicas):
        columns = np.flatnonzero(matrix[row, first:])
        lower, upper = relaxed.rows.lower[row], relaxed.rows.upper[row]
        if columns.size == 1 and lower == -np.inf and matrix[row, first + columns[0]] > 0:
            c = int(columns[0])
            most = upper / matrix[row, first + c]
            # HiGHS 1.12 calls a feasible programme infeasible where a whole number's limit is none itself.
            asked.upper[c] = min(asked.upper[c], np.floor(most + TOLERANCE) if asked.integer[c] else most)
            continue
        asked.rows.add(relaxed.rows.name[row], [(int(c), float(matrix[row, first + c])) for c in columns], lower=lower,
                       upper=upper)
    return own


def _services(relaxed: Program, matrix: Array, with_replicas: npt.NDArray[np.bool_]) -> list[Service]:
    place, rows = relaxed.columns, relaxed.rows
    first, found = place.sizes[0], []
    demand = with_replicas & np.isfinite(np.array(rows.lower))
    gpus = with_replicas & ~np.isfinite(np.array(rows.lower))
    for s in range(place.slices):
        mine = matrix[:, [place.replica(i, s) for i in range(len(place.pairs))]]
        here = mine.any(axis=1)
        pools, loads = np.flatnonzero(gpus & here), np.flatnonzero(demand & here)
        pool = np.argmax(mine[pools] > 0, axis=0)
        slots = mine[pools].max(axis=0)
        found.append(Service(moment=s, carried=mine[loads] / slots, pool=pool.astype(np.int64),
                             least=np.array(rows.lower)[loads], hosted=matrix[loads][:, first:],
                             units=-matrix[pools][:, first:]))
    return found


def dense(asked: Program) -> Array:
    """A programme's rows as a matrix.

    Parameters
    ----------
    asked : Program
        The programme.

    Returns
    -------
    ndarray
        (row, column).
    """
    matrix = np.zeros((len(asked.rows.name), asked.columns.count))
    np.add.at(matrix, (asked.rows.row, asked.rows.column), asked.rows.value)
    return matrix


def _spans(asked: Program) -> npt.NDArray[np.bool_]:
    place, period = asked.columns, asked.scenario.moments.period
    spans = np.zeros((place.count, place.slices), dtype=np.bool_)
    for i in range(len(place.rentals)):
        for s in range(place.slices):
            spans[place.rental(i, s), s] = True
    for i, offer in enumerate(place.commitments):
        for t in range(place.periods):
            spans[place.start(i, t)] = (period >= t) & (period < t + offer.term)
    for i in range(place.apis):
        for s in range(place.slices):
            spans[place.api(i, s), s] = True
    return spans


def _pools(asked: Program) -> npt.NDArray[np.int64]:
    place, pools = asked.columns, asked.scenario.pools
    found = np.full(place.count, len(pools), dtype=np.int64)
    number = {offer.id: p for p, pool in enumerate(pools) for offer in pool.offers}
    for i, offer in enumerate(place.rentals):
        found[place.rental(i, 0):place.rental(i, 0) + place.slices] = number[offer.id]
    for i, offer in enumerate(place.commitments):
        found[place.start(i, 0):place.start(i, 0) + place.periods] = number[offer.id]
    return found
