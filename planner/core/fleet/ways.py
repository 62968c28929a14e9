"""Plain ways to serve a scenario: one SKU rented, reserved, bought, or owned at the base and rented above; or an API.

Each is sized exactly and costs milliseconds, so it can be asked again for every change of an assumption; the optimiser
mixes what these keep apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import Pair, pairs
from planner.core.fleet.cost import api_spending, commitment_worth, ledger, rental_worth
from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.plan import Counts, Plan, active_units
from planner.core.fleet.power import meter_power
from planner.core.fleet.scenario import Pool, Scenario
from planner.core.fleet.sizing import ROUNDING
from planner.core.quantities.arrays import Array

TOPPED_BY = 3
"""[1] Rentals tried above a base: the cheapest of a pool, which all serve alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to serve everything, with its cost or the reasons it cannot."""

    id: str
    """Offers it uses, joined by ' + '."""
    kind: str
    """rent | spot | reserve | buy | own_base | reserve_base | api | inventory."""
    sku: str | None
    plan: Plan | None
    npv: float | None
    """[USD]."""
    broken: tuple[str, ...] = ()
    """Promises it breaks; empty for a way that works."""

    @property
    def works(self) -> bool:
        """It keeps every promise."""
        return self.plan is not None and not self.broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """What one pool needs to carry every workload alone."""

    pool: Pool
    index: int
    chosen: tuple[Pair, ...]
    """One per workload."""
    units: Counts
    """(slice,) [1]."""


def size_pool(scenario: Scenario, index: int) -> Sized | str:
    """Units a pool needs to carry every workload alone, with the replica of each workload that takes the fewest GPUs.

    Parameters
    ----------
    scenario : Scenario
        The question.
    index : int
        Which pool.

    Returns
    -------
    Sized or str
        The units, or the name of the workload nothing on this pool can carry.
    """
    pool, chosen = scenario.pools[index], []
    gpus = np.zeros(scenario.moments.period.size)
    for w, workload in enumerate(scenario.workloads):
        mine = [p for p in pairs(scenario, w) if p.pool == index]
        if not mine or (workload.spot_share < 1.0 and not pool.firm):
            return workload.id
        best = min(mine, key=lambda p: (float(scenario.moments.share @ p.most) * p.slot, p.slot, p.candidate.id))
        chosen.append(best)
        gpus += best.slot * best.most
    return Sized(pool=pool, index=index, chosen=tuple(chosen), units=np.ceil(gpus / pool.unit_gpus).astype(np.int64))


def ways(scenario: Scenario, only: Iterable[str] | None = None) -> tuple[Way, ...]:
    """Every plain way, cheapest first; those that do not work last.

    Parameters
    ----------
    scenario : Scenario
        The question.
    only : iterable of str, optional
        Ids to work out; all when omitted.

    Returns
    -------
    tuple of Way
        By present value.
    """
    wanted = None if only is None else set(only)
    found: list[Way] = []
    for index, pool in enumerate(scenario.pools):
        names = _combinations(pool)
        if wanted is not None and not wanted & {_name(combination) for combination in names}:
            continue
        sized = size_pool(scenario, index)
        for combination in names:
            if wanted is not None and _name(combination) not in wanted:
                continue
            if isinstance(sized, str):
                found.append(Way(id=_name(combination), kind=_kind(combination), sku=pool.sku, plan=None, npv=None,
                                 broken=(f"no layout on {pool.label} carries {sized} within its objective",)))
            else:
                found.append(_way(scenario, sized, combination))
    api = _api_way(scenario)
    if api is not None and (wanted is None or api.id in wanted):
        found.append(api)
    return tuple(sorted(found, key=lambda w: (not w.works, w.npv if w.npv is not None else np.inf, w.id)))


def _combinations(pool: Pool) -> list[tuple[Offer, ...]]:
    """Offers used together: what is owned first, then one commitment, one rental, or a base of one under the other."""
    owned = tuple(o for o in pool.offers if o.kind == "owned")
    rentals = sorted((o for o in pool.offers if not isinstance(o, Commitment) and o.kind != "owned"),
                     key=lambda o: (o.running_total, o.id))
    commitments = [o for o in pool.offers if isinstance(o, Commitment)]
    found: list[tuple[Offer, ...]] = [(*owned, o) for o in (*rentals, *commitments)]
    found += [(*owned, c, r) for c in commitments for r in rentals[:TOPPED_BY]]
    return found + ([owned] if owned else [])


def _name(combination: tuple[Offer, ...]) -> str:
    return " + ".join(o.id for o in combination)


def _kind(combination: tuple[Offer, ...]) -> str:
    kinds = [o.kind for o in combination if o.kind != "owned"]
    if not kinds:
        return "inventory"
    plain = {"on_demand": "rent", "spot": "spot", "reserved": "reserve", "purchase": "buy"}
    if len(kinds) == 1:
        return plain[kinds[0]]
    return "own_base" if kinds[0] == "purchase" else "reserve_base"


def _way(scenario: Scenario, sized: Sized, combination: tuple[Offer, ...]) -> Way:
    left, period = sized.units.copy(), scenario.moments.period
    running: dict[str, Counts] = {}
    acquired: dict[str, Counts] = {}
    for offer in (o for o in combination if o.kind == "owned"):
        most = left if offer.supply_total is None else np.minimum(left, offer.supply_total)
        running[offer.id], left = most, left - most
    commitment = next((o for o in combination if isinstance(o, Commitment)), None)
    rental = next((o for o in combination if not isinstance(o, Commitment) and o.kind != "owned"), None)
    if commitment is not None:
        started = just_in_time(left, period, commitment, scenario.calendar.periods) if rental is None else \
            base_starts(left, scenario, commitment, rental, most_units(scenario, commitment))
        acquired[commitment.id] = started
        left = np.maximum(left - active_units(commitment, started)[period].astype(np.int64), 0)
    if rental is not None:
        running[rental.id] = left
    replicas = {(p.candidate.id, sized.index): p.most.astype(np.int64) for p in sized.chosen}
    plan = Plan(scenario=scenario, acquired=acquired, running=running, replicas=replicas)
    return Way(id=_name(combination), kind=_kind(combination), sku=sized.pool.sku, plan=plan, npv=ledger(plan).npv,
               broken=shortfalls(plan))


def just_in_time(need: Counts, period: Counts, offer: Commitment, periods: int) -> Counts:
    """Starts that cover a need with one commitment alone, each as late as it may be.

    Parameters
    ----------
    need : ndarray
        (slice,) units [1].
    period : ndarray
        (slice,) the period of each slice.
    offer : Commitment
        Its term says when a unit must be replaced.
    periods : int
        Periods of the horizon [1].

    Returns
    -------
    ndarray
        (period,) units starting [1].
    """
    most = np.zeros(periods, dtype=np.int64)
    np.maximum.at(most, period, need)
    started = np.zeros(periods, dtype=np.int64)
    for t in range(offer.first_period, periods):
        there = int(started[max(0, t - offer.term + 1):t].sum())
        started[t] = max(int(most[t]) - there, 0)
    return started


def most_units(scenario: Scenario, offer: Offer) -> float:
    """Units of an offer its supply and its site have room for, were it alone there.

    Parameters
    ----------
    scenario : Scenario
        Its sites.
    offer : Offer
        The offer.

    Returns
    -------
    float
        [1], inf without a limit.
    """
    site, caps = scenario.site(offer.site), [np.inf]
    if offer.supply_total is not None:
        caps.append(offer.supply_total)
    if offer.on_site and site.power_cap_w is not None and offer.power_w > 0:
        caps.append(np.floor(site.power_cap_w / float(meter_power(offer.power_w, site.pue)) * (1 + ROUNDING)))
    if offer.on_site and site.rack_cap is not None and offer.units_per_rack is not None:
        caps.append(site.rack_cap * offer.units_per_rack)
    return float(min(caps))


def base_starts(need: Counts, scenario: Scenario, offer: Commitment, rental: Offer, most: float = np.inf) -> Counts:
    """Starts of a commitment under a rental that cost least: each layer of need rents or commits, whichever is cheaper.

    Parameters
    ----------
    need : ndarray
        (slice,) units [1].
    scenario : Scenario
        Its calendar and slices.
    offer : Commitment
        The base.
    rental : Offer
        What tops it up.
    most : float
        Units of the base there is room for [1].

    Returns
    -------
    ndarray
        (period,) units starting [1].

    Notes
    -----
    Exact when units stay to the end of the horizon, because a lower layer is needed whenever a higher one is. With
    shorter terms a bound from above: a unit stays in its layer.
    """
    periods, period = scenario.calendar.periods, scenario.moments.period
    start, rent = commitment_worth(offer, scenario), rental_worth(rental, scenario)
    levels, inverse = np.unique(need, return_inverse=True)
    started = np.zeros(periods, dtype=np.int64)
    for rank, level in enumerate(levels):
        if level == 0:
            continue
        layers = int(min(level, most) - min(levels[rank - 1] if rank else 0, most))
        if layers == 0:
            break
        per_period = np.zeros(periods)
        np.add.at(per_period, period, np.where(inverse >= rank, rent, 0.0))
        for t in _cheapest_starts(per_period, start, offer):
            started[t] += layers
    return started


def _cheapest_starts(rent: Array, start: Array, offer: Commitment) -> list[int]:
    """Periods in which one layer commits, by dynamic programming over rent now or commit for a term."""
    periods = rent.size
    value, commits = np.zeros(periods + 1), np.zeros(periods, dtype=bool)
    for t in range(periods - 1, -1, -1):
        value[t] = rent[t] + value[t + 1]
        if t >= offer.first_period:
            committed = start[t] + value[min(t + offer.term, periods)]
            if committed < value[t]:
                value[t], commits[t] = committed, True
    starts, t = [], 0
    while t < periods:
        if commits[t]:
            starts.append(t)
            t += offer.term
        else:
            t += 1
    return starts


def _api_way(scenario: Scenario) -> Way | None:
    """Everything through the cheapest API of each workload; None when one has none."""
    shares = {}
    for workload in scenario.workloads:
        mine = [a for a in scenario.apis if a.workload == workload.id]
        if not mine:
            return None
        shares[min(mine, key=lambda a: (float(api_spending(a, scenario).sum()), a.id)).id] = \
            np.ones(scenario.moments.period.size)
    plan = Plan(scenario=scenario, api_share=shares)
    return Way(id=" + ".join(shares), kind="api", sku=None, plan=plan, npv=ledger(plan).npv, broken=shortfalls(plan))
