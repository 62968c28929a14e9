"""Fleets of whole replicas, found by way of whole units: more room for rounding is made only where it is short."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from planner.core.fleet.clock import Clock
from planner.core.fleet.columns import Columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import rents
from planner.core.fleet.divisible import focused
from planner.core.fleet.master import Master, choose
from planner.core.fleet.patterns import Pattern
from planner.core.fleet.plan import Plan
from planner.core.fleet.program import Program
from planner.core.fleet.readout import units_of
from planner.core.fleet.solver import solve
from planner.core.quantities.arrays import Array

FIRST_ROOM, MORE_ROOM = 0.4, 0.3
"""[1] Load stored for whole replicas over the smallest one, at first and again where they did not fit; half a replica
is the mean loss of rounding up."""
FIRST_SHARE, LAST_SHARE, LATEST_SHARE = 0.5, 0.8, 0.95
"""[1] Share of the time after which the first fleet must be there, no further one is begun, and all is finished."""
LEAST_CHOICE_S = 0.2
"""[s] Even an overdue choice of terms gets this long: a fleet without terms is none."""
LEAST_S = 0.05
"""[s] Even an overdue slice gets this long; it is what presolve and one heuristic take."""
WORKERS = 2
"""[1] Slices fitted at once; they share the two cores with the bound."""
WINDOW = 5
"""[period] Searched anew around a slice that falls short: the next starts of a unit lie within it."""
WINDOW_S = 1.0
"""[s] for one window, whose few units HiGHS settles in less."""
NEARBY = 0.01
"""[1] What room in a few slices may cost; a window that takes more was not searched to its end."""
FIT_S = 0.5
"""[s] to fit whole replicas on the units of a slice; one that takes longer gets more units."""


@dataclass(slots=True, kw_only=True)
class Search:
    """A search for cheap fleets of whole replicas."""

    master: Master
    place: Columns
    """Variables of the exact programme."""
    relaxed: Program
    """Whole units, divisible replicas."""
    start: Array
    """(column,) its own relaxation's solution."""
    clock: Clock
    gap: float
    """Relative gap to aim for [1]."""
    seen: dict[tuple[float, ...], Pattern | None] = field(default_factory=dict)
    """Patterns by slice, units there, and units committed to."""
    mixed: Master = field(init=False)
    """Patterns of all fleets so far, which may be mixed."""

    def __post_init__(self) -> None:
        """Begin without patterns."""
        self.mixed = replace(self.master, patterns=[], seen=set())

    def best(self) -> Plan | None:
        """The cheapest fleet found in time.

        Returns
        -------
        Plan or None
            With whole replicas, or None.
        """
        plan = self._with_room(None)
        if self.clock.left(FIRST_SHARE) > 0:
            # There is time to look beyond the offers the relaxation uses.
            self.start = np.ones_like(self.start)
            plan = self._with_room(plan)
        return plan

    def _with_room(self, plan: Plan | None) -> Plan | None:
        """The cheapest of a plan and the fleets found while room is made where replicas do not fit."""
        slices = self.place.slices
        room = np.full(slices, FIRST_ROOM)
        x = self._units(room, None, np.ones(slices, dtype=np.bool_))
        while x is not None:
            found, short = self.with_replicas(x)
            plan = cheaper(plan, found)
            if not short.any() or self.clock.left(LAST_SHARE) <= 0:
                break
            room[short] += MORE_ROOM
            x = self._units(room, x, short)
        return plan

    def _units(self, room: Array, before: Array | None, short: npt.NDArray[np.bool_]) -> Array | None:
        """Whole units for this much room: at first all of them, then those around the slices that fell short."""
        few = focused(self.relaxed, self.place, self.start, room)
        if before is not None:
            periods = self.master.scenario.moments.period[short]
            fixed = ~_around(few.columns, self.master.scenario.moments.period, periods)
            least = np.where(fixed, before, 0.0)
            answer = solve(replace(few, upper=np.where(fixed, before, few.upper)), few.cost, gap=self.gap / 10,
                           time_limit_s=WINDOW_S, least=least)
            if answer.x is not None and answer.fun <= (1.0 + NEARBY) * float(few.cost @ before):
                return _rounded(few, np.asarray(answer.x))
        limit = self.clock.left(FIRST_SHARE if before is None else LAST_SHARE)
        answer = solve(few, few.cost, gap=self.gap / 4, time_limit_s=max(limit, LEAST_S))
        return None if answer.x is None else _rounded(few, np.asarray(answer.x))

    def with_replicas(self, x: Array) -> tuple[Plan | None, npt.NDArray[np.bool_]]:
        """The fleet with whole replicas.

        Parameters
        ----------
        x : ndarray
            (column,) of a fleet of whole units and divisible replicas.

        Returns
        -------
        tuple
            The plan, None when none was found in time, and (slice,) whether whole replicas took more units.
        """
        master, plan = self.master, units_of(self.relaxed, x)
        units = np.array([plan.pool_units(pool) for pool in master.scenario.pools])
        kept = replace(plan, running={})
        owned = np.array([kept.pool_units(pool) for pool in master.scenario.pools])
        with ThreadPoolExecutor(WORKERS) as pool:
            patterns = list(pool.map(lambda s: self._pattern(s, units[:, s], owned[:, s]), range(self.place.slices)))
        short = np.array([p is None or bool((p.units > units[:, s]).any()) for s, p in enumerate(patterns)])
        own = replace(master, patterns=[], seen=set())
        new = [self.mixed.add(pattern) for pattern in patterns if own.add(pattern)]
        found = None
        if len(new) == len(patterns):
            found = choose(own, self.place, gap=1e-4, time_limit_s=max(self.clock.left(1.0), LEAST_CHOICE_S))
        elif {p.moment for p in self.mixed.patterns} != set(range(self.place.slices)):
            return None, short
        if len(self.mixed.patterns) > len(patterns) and self.clock.left(LATEST_SHARE) > 0:
            found = cheaper(found, choose(self.mixed, self.place, gap=1e-3,
                                          time_limit_s=max(self.clock.left(1.0), LEAST_CHOICE_S)))
        return found, short

    def _pattern(self, moment: int, units: Array, owned: Array) -> Pattern | None:
        """Whole replicas on these units, else on what is owned and the cheapest rents."""
        key = (float(moment), *units.tolist(), *owned.tolist())
        if key not in self.seen:
            one, (prices, most) = self.master.slices[moment], rents(self.master.scenario)
            shares = self.master.share_prices()[moment]
            limit = max(WORKERS * self.clock.left(LATEST_SHARE) / (self.place.slices - moment), LEAST_S)
            pattern, _ = one.cheapest(np.zeros_like(units), shares, gap=self.gap, time_limit_s=min(limit, FIT_S),
                                      at_most=units, at_least=units)
            if pattern is None:
                pattern, _ = one.cheapest(prices[moment], shares, gap=self.gap, time_limit_s=limit, at_least=owned,
                                          at_most=owned + most[moment])
            self.seen[key] = pattern
        return self.seen[key]


def _around(own: Columns, period: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """(column,) what may change: replicas, shares, and units of periods near the wanted ones."""
    near = np.zeros(own.periods, dtype=np.bool_)
    for t in wanted:
        near[max(0, t - WINDOW + 1):t + 2] = True
    free = np.ones(own.count, dtype=np.bool_)
    for i in range(len(own.rentals)):
        free[own.rental(i, 0):own.rental(i, 0) + own.slices] = near[period]
    for i in range(len(own.commitments)):
        free[own.start(i, 0):own.start(i, 0) + own.periods] = near
    return free


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
