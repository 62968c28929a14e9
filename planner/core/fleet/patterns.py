"""One slice on its own: the cheapest replicas and units for its load when every unit has a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand
from planner.core.fleet.offers import Rental
from planner.core.fleet.power import Site
from planner.core.fleet.program import Program, program
from planner.core.fleet.readout import hosted_parts, whole
from planner.core.fleet.scenario import Limits, Pool, Scenario
from planner.core.fleet.solver import solve
from planner.core.quantities.arrays import Array

RELAXED_TIME_S = 1.0
"""[s] for a slice's relaxation, which takes milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A way to carry one slice: units per pool, API shares, and the replicas they are for."""

    moment: int
    units: Array
    """(pool,) [1]."""
    shares: Array
    """(api,) [1]."""
    replicas: Mapping[tuple[str, int], int]

    @property
    def key(self) -> tuple[float, ...]:
        """What tells two patterns of a slice apart."""
        return (self.moment, *self.units.tolist(), *np.round(self.shares, 9).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceProgram:
    """The programme of one slice, ready to be priced again and again."""

    moment: int
    asked: Program
    apis: tuple[int, ...]
    """Indices of the scenario's APIs that serve a workload with load in this slice."""

    def cheapest(self, unit_prices: Array, share_prices: Array, *, gap: float, time_limit_s: float,
                 at_most: Array | None = None, at_least: Array | None = None) -> tuple[Pattern | None, float]:
        """The cheapest pattern at these prices, and a bound no pattern is below.

        Parameters
        ----------
        unit_prices : ndarray
            (pool,) [USD] per unit.
        share_prices : ndarray
            (api,) [USD] for all requests of the slice.
        gap : float
            Relative gap to stop at [1].
        time_limit_s : float
            [s]; an unfinished slice still gives a pattern and a valid bound.
        at_most : ndarray, optional
            (pool,) units not to exceed [1].
        at_least : ndarray, optional
            (pool,) units that are there anyway [1].

        Returns
        -------
        tuple
            The pattern (None when none was found) and the bound [USD].
        """
        place, asked, cost = self.asked.columns, self.asked, self._cost(unit_prices, share_prices)
        if at_most is not None:
            upper = asked.upper.copy()
            upper[place.rental(0, 0):place.rental(0, 0) + at_most.size] = at_most
            asked = replace(asked, upper=upper)
        least = np.zeros(place.count)
        if at_least is not None:
            least[place.rental(0, 0):place.rental(0, 0) + at_least.size] = at_least
        answer = solve(asked, cost, gap=gap, time_limit_s=time_limit_s, least=least)
        bound = -np.inf if answer.bound is None else float(answer.bound)
        if answer.x is None:
            return None, bound
        return self._pattern(answer.x, unit_prices.size, share_prices.size), bound

    def relaxed(self, unit_prices: Array, share_prices: Array) -> float:
        """Cost of the slice at these prices were units divisible.

        Parameters
        ----------
        unit_prices : ndarray
            (pool,) [USD] per unit.
        share_prices : ndarray
            (api,) [USD] for all requests of the slice.

        Returns
        -------
        float
            [USD]; infinite where nothing carries the load.
        """
        answer = solve(self.asked, self._cost(unit_prices, share_prices), gap=0.0, time_limit_s=RELAXED_TIME_S,
                       relaxed=True)
        return np.inf if answer.value is None else answer.value

    def _cost(self, unit_prices: Array, share_prices: Array) -> Array:
        place = self.asked.columns
        cost = np.zeros(place.count)
        for i, _ in enumerate(place.rentals):
            cost[place.rental(i, 0)] = unit_prices[i]
        for i, api in enumerate(self.apis):
            cost[place.api(i, 0)] = share_prices[api]
        return cost

    def _pattern(self, x: Array, pools: int, apis: int) -> Pattern:
        place = self.asked.columns
        replicas = {(pair.candidate.id, pair.pool): round(float(x[place.replica(i, 0)]))
                    for i, pair in enumerate(place.pairs)}
        shares = np.zeros(apis)
        for i, api in enumerate(self.apis):
            shares[api] = hosted_parts(x[place.api(i, 0):place.api(i, 0) + 1])[0]
        return Pattern(moment=self.moment, units=whole(x, place.rental(0, 0), pools).astype(np.float64), shares=shares,
                       replicas={k: n for k, n in replicas.items() if n})


def slice_programs(scenario: Scenario) -> list[SliceProgram]:
    """The programme of every slice: its loads, one priced rental per pool, and only limits that hold within a slice.

    Parameters
    ----------
    scenario : Scenario
        The whole question.

    Returns
    -------
    list of SliceProgram
        In slice order.
    """
    offers = tuple(Rental(id=str(i), sku=p.key[0], site=p.key[1], unit_gpus=p.key[2], join_units=p.key[3],
                          availability=p.key[4], firm=p.key[5], supply_total=_supply(p))
                   for i, p in enumerate(scenario.pools))
    sites = tuple(Site(id=name) for name in dict.fromkeys(p.site for p in scenario.pools))
    found = []
    for moment in range(scenario.moments.period.size):
        peaks = scenario.moments.peak[:, moment]
        loads = tuple(replace(w, demand=Demand(hourly=np.array([peak])))
                      for w, peak in zip(scenario.workloads, peaks, strict=True) if peak > 0)
        if not loads:
            loads = (replace(scenario.workloads[0], demand=Demand(hourly=np.array([1e-9]))),)
        names = {w.id for w in loads}
        apis = tuple(i for i, api in enumerate(scenario.apis) if api.workload in names)
        part = Scenario(calendar=Calendar(periods=1), workloads=loads, offers=offers, sites=sites,
                        candidates=tuple(c for c in scenario.candidates if c.workload in names),
                        apis=tuple(scenario.apis[i] for i in apis), limits=Limits(gpus=scenario.limits.gpus))
        found.append(SliceProgram(moment=moment, asked=program(part), apis=apis))
    return found


def _supply(pool: Pool) -> int | None:
    """Units of a pool there can ever be at once; None when an offer has no end."""
    ends = [o.supply_total for o in pool.offers]
    return None if None in ends else sum(end for end in ends if end is not None)
