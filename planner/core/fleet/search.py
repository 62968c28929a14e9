"""Fleets of whole replicas, found by way of whole units: a few of them at a time are exchanged for cheaper ones.

First units with divisible replicas and a little room for whole ones; then exchanges with whole ones looked at in every
slice they touch, what they lack fined; now and again the cheapest fleet is put together from all slices met so far.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from planner.core.fleet.clock import Clock
from planner.core.fleet.columns import Columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.exchange import Exchange, exchange
from planner.core.fleet.highs import SOLVED
from planner.core.fleet.master import Master
from planner.core.fleet.packing import Packing
from planner.core.fleet.patterns import Pattern
from planner.core.fleet.plan import Counts, Plan
from planner.core.fleet.program import Program
from planner.core.fleet.projection import ROUNDS, Projection, projection
from planner.core.fleet.readout import trimmed, units_of
from planner.core.fleet.recombine import recombined
from planner.core.fleet.refit import refitted
from planner.core.fleet.solver import duals, solve
from planner.core.quantities.arrays import Array

FIRST_ROOM = 0.005
"""[1] Part of a slice's load stored for whole replicas, before they are looked at themselves."""
START_SHARES, LAST_SHARE = (0.05, 0.15, 0.4), 0.94
"""[1] Shares of the time after which searches for the first fleet of units end, each with the rows the last one broke,
and exchanges end."""
COOL = 0.03, 1.5e-3
"""[1] Mean rise an exchange may bring over a unit's mean cost, at first and at last."""
TURNS_PER_S, FEW = 20000.0, 300
"""[1/s] Most exchanges in a programme of hardly any columns, several times what a core tries (measured), and columns
that halve it [1]."""
TIMES, CHOICE_SHARE = 6, 0.035
"""[1] Times that exchanges are followed by the cheapest fleet put together from all slices met, and the share
of the time that each may take."""
FINES = (1.0, 10.0)
"""[1] Weight of what whole replicas lack, at first and at last."""
FINE, FEE = 1.5, 0.03
"""[1] What missing load costs over what load is worth, and what it costs over a unit however little is missing."""
LEAST_WORTH = 0.3
"""[1] Of the mean worth of a slice's load: one that costs nothing at the margin still has to be carried."""
MOST_MORE, DEAREST = 6, 10
"""[1] Units added to a slice where whole replicas lack something, and columns tried each time, the cheapest first."""
ROOMS = (0.01, 0.03, 0.1)
"""[1] Parts of the load stored for whole replicas where they were not found otherwise."""
START_GAP = 0.002
"""[1] Exchanges start from a fleet this close: they are faster than a search at what is left."""
LEAST_S = 0.05
"""[s] Even an overdue slice gets this long; it is what presolve and one heuristic take."""


@dataclass(slots=True, kw_only=True)
class Search:
    """A search for cheap fleets of whole replicas."""

    master: Master
    place: Columns
    """Variables of the exact programme."""
    relaxed: Program
    """Whole units, divisible replicas."""
    clock: Clock
    found: float = np.inf
    """Cost of the cheapest fleet found [USD]."""
    least: float
    """The relaxation's cost [USD]: no fleet costs less."""
    gap: float
    """Relative gap to aim for [1]."""
    tried: dict[tuple[float, ...], tuple[Mapping[tuple[str, int], int] | None, float]] = field(default_factory=dict)
    """Whole replicas by slice and units there."""
    packing: Packing = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing packed."""
        self.packing = Packing(scenario=self.master.scenario, place=self.place)

    def best(self) -> Plan | None:
        """The cheapest fleet found in time.

        Returns
        -------
        Plan or None
            With whole replicas, or None.
        """
        own = projection(self.relaxed)
        relaxed = own.relax()
        own.leave_room(np.full(self.place.slices, FIRST_ROOM))
        below = None if relaxed is None else np.where(own.asked.integer == 1, np.floor(relaxed), relaxed)
        x = self._started(own, None if below is None else exchange(own).mended(below))
        if x is None:
            return None
        own.leave_room(np.zeros(self.place.slices))
        moves, judge = exchange(own), partial(self._fines, own, self._worth(own))
        shares = np.linspace(START_SHARES[-1], LAST_SHARE, TIMES + 1)
        for before, share in itertools.pairwise(shares):
            x = moves.improved(x, self.clock, until=float(share), heat=COOL, weight=FINES, judge=judge,
                               enough=self._enough, turns=self._turns(own, float(share - before)))
            if self._enough(moves.usd):
                break
            mended = self._whole(own, moves, x)
            if mended is not None:
                moves.keep(mended)
            self._recombine(own, moves, x)
            x = x if moves.whole is None else moves.whole
        whole = self._roomy(own, x) if moves.whole is None else moves.whole
        return refitted(self.master, self.place, own.asked, x, self.clock) if whole is None else self._plan(own, whole)

    def _recombine(self, own: Projection, moves: Exchange, x: Array) -> None:
        """Put the cheapest fleet together from all slices met; shares of APIs are no whole numbers and seldom meet."""
        count = len(self.master.scenario.pools)
        if self.master.scenario.apis:
            return
        met = [Pattern(moment=int(key[0]), units=np.array(key[1:1 + count]), shares=np.zeros(0), replicas=replicas)
               for key, (replicas, _) in self.tried.items() if replicas is not None]
        best = x if moves.whole is None else moves.whole
        units = np.array([own.units(best, s) for s in range(self.place.slices)])
        found = recombined(self.master, met, best, units, time_limit_s=CHOICE_SHARE * self.clock.limit_s)
        if found is None:
            return
        x, chosen = found
        for s, pattern in chosen.items():
            self.tried[(s, *own.units(x, s).tolist(), *own.hosted(x, s).tolist())] = pattern.replicas, 0.0
        moves.keep(x)

    def _roomy(self, own: Projection, x: Array) -> Array | None:
        """Whole replicas found where there is much room for them, once little was not enough."""
        for room in ROOMS:
            own.leave_room(np.full(self.place.slices, room))
            moves = exchange(own)
            more = moves.mended(x)
            whole = None if more is None else self._whole(own, moves, more)
            if whole is not None:
                return whole
        return None

    def told(self, bound: float) -> bool:
        """Whether the fleet found so far is close enough to a bound.

        Parameters
        ----------
        bound : float
            No fleet costs less [USD].

        Returns
        -------
        bool
            True when a better bound is not needed.
        """
        return bound >= (1.0 - self.gap) * self.found

    def _enough(self, usd: float) -> bool:
        """Whether a fleet is close enough to the relaxation; later bounds would make the answer depend on the time."""
        self.found = min(self.found, usd)
        return self.least >= (1.0 - self.gap) * self.found

    def _turns(self, own: Projection, share: float) -> int:
        return max(round(share * self.clock.limit_s * TURNS_PER_S * FEW / (FEW + own.asked.columns.count)), 1)

    def _missing(self, own: Projection, x: Array) -> Array:
        """(slice,) the part of a load that whole replicas do not carry."""
        return np.array([self._fitted(own, x, s)[1] for s in range(self.place.slices)])

    def _whole(self, own: Projection, moves: Exchange, x: Array) -> Array | None:
        """The units and the cheapest more of them, slice by slice, on which whole replicas carry all loads."""
        x = x.copy()
        for s in np.flatnonzero(self._missing(own, x)):
            for _ in range(MOST_MORE):
                missing = self._fitted(own, x, int(s))[1]
                if not missing:
                    break
                tried: list[tuple[float, int, int]] = []
                for c in moves.more(x, own.spans[:, s], DEAREST):
                    x[c] += 1.0
                    tried.append((self._fitted(own, x, int(s))[1], len(tried), c))
                    x[c] -= 1.0
                    if not tried[-1][0]:
                        break
                if not tried:
                    return None
                x[min(tried)[2]] += 1.0
        return None if self._missing(own, x).any() else x

    def _worth(self, own: Projection) -> Array:
        """(slice,) what all of a slice's load costs by the relaxation's prices, at least a part of the mean [USD]."""
        value, prices = duals(own.asked)
        worth = np.zeros(self.place.slices)
        np.add.at(worth, [s for s, _ in own.prices], prices[own.priced])
        return np.maximum(worth, LEAST_WORTH * value / worth.size)

    def _fines(self, own: Projection, worth: Array, x: Array, before: Array, moments: npt.NDArray[np.int64]) -> Array:
        """(slice,) what whole replicas lack at these slices' worth, else what they lacked before [USD]."""
        fines = before.copy()
        for s in moments:
            missing = self._fitted(own, x, int(s))[1]
            units = max(float(own.units(x, int(s)).sum()), 1.0)
            fines[s] = worth[s] * (FINE * missing + FEE / units) if missing > 0 else 0.0
        return fines

    def _fitted(self, own: Projection, x: Array, moment: int) -> tuple[Mapping[tuple[str, int], int] | None, float]:
        """Whole replicas on a slice's units, and the part of a load that is missing."""
        units = own.units(x, moment)
        hosted = own.hosted(x, moment)
        key = moment, *units.tolist(), *hosted.tolist()
        if key not in self.tried:
            self.tried[key] = self.packing.packed(moment, units, hosted)
        return self.tried[key]

    def _plan(self, own: Projection, x: Array) -> Plan:
        """The fleet with the whole replicas that fit on it."""
        replicas: dict[tuple[str, int], Counts] = {}
        for s in range(self.place.slices):
            for name, count in (self._fitted(own, x, s)[0] or {}).items():
                replicas.setdefault(name, np.zeros(self.place.slices, dtype=np.int64))[s] = count
        return trimmed(units_of(own.asked, x), self.place, replicas)

    def _started(self, own: Projection, first: Array | None) -> Array | None:
        """Whole units that keep every row, those the searches themselves break included."""
        x = first
        for share in START_SHARES:
            answer = solve(own.asked, own.asked.cost, gap=START_GAP, time_limit_s=max(self.clock.left(share), LEAST_S),
                           start=x)
            found = None if answer.x is None else _rounded(own.asked, answer.x)
            kept = found is not None and not own.tighten(found)
            for _ in range(ROUNDS):
                found = None if found is None else exchange(own).mended(found)
                if found is None or not own.tighten(found):
                    break
            x = _least(own, x if x is None or not own.tighten(x) else exchange(own).mended(x), found)
            if kept and answer.status == SOLVED:
                break
        return x


def _least(own: Projection, first: Array | None, second: Array | None) -> Array | None:
    """The cheaper of two fleets of units, either of which may be missing."""
    there = [x for x in (first, second) if x is not None]
    return min(there, key=lambda x: float(own.asked.cost @ x), default=None)


def _rounded(few: Program, x: Array) -> Array:
    """The solution with its whole numbers whole."""
    return np.where(few.integer == 1, np.round(x), x)


def cheaper(first: Plan | None, second: Plan | None) -> Plan | None:
    """The cheaper of two plans that work, either of which may be missing.

    Parameters
    ----------
    first : Plan or None
        A plan.
    second : Plan or None
        Another of the same scenario.

    Returns
    -------
    Plan or None
        None when both are missing.
    """
    if first is None or second is None:
        return second if first is None else first
    return first if ledger(first).npv <= ledger(second).npv else second
