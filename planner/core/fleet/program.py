"""The mixed-integer programme of a scenario: rows named after the promises they stand for.

minimise Σ worth · units, subject to, for every slice: capacity ≥ required load (also after the loss of k replicas),
slots of replicas ≤ GPUs of the units that are there, and supply, lead time, power, rack, GPU and money limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.fleet.columns import Columns, Pair, columns
from planner.core.fleet.cost import api_spending, commitment_spending, commitment_worth, rental_worth
from planner.core.fleet.offers import Offer
from planner.core.fleet.power import meter_power
from planner.core.fleet.rows import Rows
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array

MOST_SHARE = 1e3
"""[1] HiGHS keeps whole numbers to 1e-6: coefficients stay far below its inverse."""
STRUCTURE = "structure"
"""Name of rows that define what the variables mean; no conflict can be blamed on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A scenario ready for a solver."""

    scenario: Scenario
    columns: Columns
    cost: Array
    """(column,) present value per unit [USD]."""
    upper: Array
    """(column,) largest value."""
    integer: npt.NDArray[np.int64]
    """(column,) 1 where only whole numbers make sense."""
    rows: Rows


def program(scenario: Scenario) -> Program:
    """The mixed-integer programme of a scenario.

    Parameters
    ----------
    scenario : Scenario
        The question.

    Returns
    -------
    Program
        Costs, bounds and named rows.
    """
    asked = frame(scenario, columns(scenario))
    demand_rows(scenario, asked.columns, asked.rows)
    _spare_rows(scenario, asked.columns, asked.rows)
    pool_rows(scenario, asked.columns, asked.rows)
    return asked


def frame(scenario: Scenario, place: Columns) -> Program:
    """Costs, bounds and the rows on units alone: supply, lead time, power, racks, GPUs and money.

    Parameters
    ----------
    scenario : Scenario
        The question.
    place : Columns
        Positions of the variables.

    Returns
    -------
    Program
        Without rows on replicas and demand.
    """
    rows = Rows()
    _supply_rows(scenario, place, rows)
    _site_rows(scenario, place, rows)
    _money_rows(scenario, place, rows)
    cost, upper = np.zeros(place.count), np.full(place.count, np.inf)
    for i, pair in enumerate(place.pairs):
        upper[place.replica(i, 0):place.replica(i, 0) + place.slices] = pair.most
    for i, offer in enumerate(place.rentals):
        cost[place.rental(i, 0):place.rental(i, 0) + place.slices] = rental_worth(offer, scenario)
    for i, commitment in enumerate(place.commitments):
        cost[place.start(i, 0):place.start(i, 0) + place.periods] = commitment_worth(commitment, scenario)
    middle = scenario.calendar.worth_in_middle()[scenario.moments.period]
    for i, api in enumerate(scenario.apis):
        cost[place.api(i, 0):place.api(i, 0) + place.slices] = api_spending(api, scenario) * middle
    upper[sum(place.sizes[:3]):] = 1.0
    integer = np.ones(place.count, dtype=np.int64)
    integer[sum(place.sizes[:3]):sum(place.sizes[:4])] = 0
    return Program(scenario=scenario, columns=place, cost=cost, upper=upper, integer=integer, rows=rows)


def share(pair: Pair, need: float, spare: int = 0) -> float:  # noqa: ARG001 - spares have rows of their own in the exact programme
    """Part of a need one replica carries; beyond a thousandfold the solver's tolerance would blur whole numbers.

    Parameters
    ----------
    pair : Pair
        The replica.
    need : float
        [load].
    spare : int
        Replicas that may fail; of no account here [1].

    Returns
    -------
    float
        [1].
    """
    return float(min(pair.capacity / need, MOST_SHARE))


def demand_rows(scenario: Scenario, place: Columns, rows: Rows,
                carried: Callable[[Pair, float, int], float] = share) -> None:
    """Add that capacity meets demand, and that firm units carry their part of it.

    Parameters
    ----------
    scenario : Scenario
        The question.
    place : Columns
        Positions of the variables.
    rows : Rows
        What to add to: per workload and slice with load, in that order.
    carried : callable
        Part of a need [load] that a replica carries when so many may fail [1].
    """
    for w, workload in enumerate(scenario.workloads):
        mine = [(i, p) for i, p in enumerate(place.pairs) if p.workload == w]
        firm = [(i, p) for i, p in mine if scenario.pools[p.pool].firm]
        apis = [a for a, api in enumerate(scenario.apis) if api.workload == workload.id]
        for s, need in enumerate(required(scenario.moments.peak[w], workload.headroom)):
            if need <= 0:
                continue
            hosted = [(place.api(a, s), 1.0) for a in apis]
            served = [(place.replica(i, s), carried(p, need, workload.spare)) for i, p in mine]
            rows.add(f"demand of {workload.id}", [*served, *hosted], lower=1.0)
            if workload.spot_share < 1.0 and len(firm) < len(mine):
                rows.add(f"spot share of {workload.id}",
                         [*((place.replica(i, s), carried(p, need, 0)) for i, p in firm), *hosted],
                         lower=1.0 - workload.spot_share)
            if apis:
                rows.add(STRUCTURE, hosted, upper=1.0)


def _spare_rows(scenario: Scenario, place: Columns, rows: Rows) -> None:
    for mark, i in enumerate(place.marked):
        pair = place.pairs[i]
        workload = scenario.workloads[pair.workload]
        mine = [(j, p) for j, p in enumerate(place.pairs) if p.workload == pair.workload]
        apis = [a for a, api in enumerate(scenario.apis) if api.workload == workload.id]
        for s, need in enumerate(required(scenario.moments.peak[pair.workload], workload.headroom)):
            if need <= 0:
                continue
            rows.add(STRUCTURE, [(place.replica(i, s), 1.0), (place.used(mark, s), -max(pair.most[s], 1.0))], upper=0.0)
            lost = workload.spare * share(pair, need)
            rows.add(f"spares of {workload.id}", [*((place.replica(j, s), share(p, need)) for j, p in mine),
                                                  *((place.api(a, s), 1.0) for a in apis),
                                                  (place.used(mark, s), -lost)], lower=1.0 - _slack(lost))


def _slack(lost: float) -> float:
    """Room for the solver's feasibility tolerance where a coefficient is large [1]."""
    return 1e-9 * max(lost, 1.0)


def there(place: Columns, offer: Offer, moment: int, period: int) -> list[tuple[int, float]]:
    """Columns whose sum is the units of an offer in a slice.

    Parameters
    ----------
    place : Columns
        Positions of the variables.
    offer : Offer
        One of the scenario's offers.
    moment : int
        The slice.
    period : int
        Its period.

    Returns
    -------
    list of tuple
        (column, coefficient).
    """
    for i, rental in enumerate(place.rentals):
        if rental is offer:
            return [(place.rental(i, moment), 1.0)]
    i = next(i for i, c in enumerate(place.commitments) if c is offer)
    first = max(0, period - place.commitments[i].term + 1)
    return [(place.start(i, start), 1.0) for start in range(first, period + 1)]


def pool_rows(scenario: Scenario, place: Columns, rows: Rows) -> None:
    """Add that replicas find their GPUs in units that are there.

    Parameters
    ----------
    scenario : Scenario
        The question.
    place : Columns
        Positions of the variables.
    rows : Rows
        What to add to.
    """
    for index, pool in enumerate(scenario.pools):
        users = [(i, p) for i, p in enumerate(place.pairs) if p.pool == index]
        if not users:
            continue
        for s, period in enumerate(scenario.moments.period):
            units = [(c, -float(pool.unit_gpus) * v) for offer in pool.offers
                     for c, v in there(place, offer, s, int(period))]
            rows.add(STRUCTURE, [*((place.replica(i, s), float(p.slot)) for i, p in users), *units], upper=0.0)


def _supply_rows(scenario: Scenario, place: Columns, rows: Rows) -> None:
    period = scenario.moments.period
    for i, rental in enumerate(place.rentals):
        for s in range(place.slices):
            if period[s] < rental.first_period:
                rows.add(f"lead time of {rental.id}", [(place.rental(i, s), 1.0)], upper=0.0)
            elif rental.supply_total is not None:
                rows.add(f"supply of {rental.id}", [(place.rental(i, s), 1.0)], upper=float(rental.supply_total))
    for i, offer in enumerate(place.commitments):
        for t in range(place.periods):
            if t < offer.first_period:
                rows.add(f"lead time of {offer.id}", [(place.start(i, t), 1.0)], upper=0.0)
            elif offer.supply_per_period is not None:
                rows.add(f"supply of {offer.id}", [(place.start(i, t), 1.0)], upper=float(offer.supply_per_period))
            if offer.supply_total is not None:
                rows.add(f"supply of {offer.id}", there(place, offer, 0, t), upper=float(offer.supply_total))


def _site_rows(scenario: Scenario, place: Columns, rows: Rows) -> None:
    for site in scenario.sites:
        local = [offer for offer in scenario.offers if offer.site == site.id and offer.on_site]
        for s, period in enumerate(scenario.moments.period):
            if site.power_cap_w is not None:
                rows.add(f"power of {site.id}", [(c, v * float(meter_power(offer.power_w, site.pue)) / site.power_cap_w)
                                                 for offer in local
                                                 for c, v in there(place, offer, s, int(period))], upper=1.0)
            if site.rack_cap is not None:
                filled = [(c, v / offer.units_per_rack) for offer in local if offer.units_per_rack
                          for c, v in there(place, offer, s, int(period))]
                rows.add(f"racks of {site.id}", filled, upper=float(site.rack_cap))
    if scenario.limits.gpus is not None:
        for s, period in enumerate(scenario.moments.period):
            rows.add("max_gpus", [(c, v * offer.unit_gpus) for offer in scenario.offers
                                  for c, v in there(place, offer, s, int(period))], upper=float(scenario.limits.gpus))


def _money_rows(scenario: Scenario, place: Columns, rows: Rows) -> None:
    limits, seconds = scenario.limits, scenario.moments.share * scenario.calendar.period_s
    if limits.budget_usd is not None:
        entries = [(place.rental(i, s), o.running_total * float(seconds[s])) for i, o in enumerate(place.rentals)
                   for s in range(place.slices)]
        entries += [(place.start(i, t), float(usd)) for i, c in enumerate(place.commitments)
                    for t, usd in enumerate(commitment_spending(c, scenario))]
        entries += [(place.api(i, s), float(usd)) for i, a in enumerate(scenario.apis)
                    for s, usd in enumerate(api_spending(a, scenario))]
        scale = limits.budget_usd or 1.0
        rows.add("budget", [(c, v / scale) for c, v in entries], upper=limits.budget_usd / scale)
    if limits.capital_usd is not None:
        scale = limits.capital_usd or 1.0
        paid = [(place.start(i, t), c.capital_total / scale) for i, c in enumerate(place.commitments)
                for t in range(place.periods)]
        rows.add("capital budget", paid, upper=limits.capital_usd / scale)
