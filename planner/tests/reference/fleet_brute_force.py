"""The cheapest fleet by trying every combination: slow, scalar, and sharing only unit costs with the optimiser."""

from __future__ import annotations

import itertools
import math
from functools import cache

from planner.core.fleet.offers import Commitment, Purchase
from planner.core.fleet.scenario import Scenario


def unit_cost(offer, start, share, scenario):
    """Present value of one unit, written out: capital at the start, running cost mid-period, resale at the end."""
    calendar = scenario.calendar
    years = calendar.months_per_period / 12
    rate = 1 + calendar.discount_rate
    per_period = sum(offer.running.values()) * calendar.period_s
    if not isinstance(offer, Commitment):
        return per_period * share * rate ** -((start + 0.5) * years)
    total = sum(offer.capital.values()) * rate ** -(start * years)
    for period in range(start, start + offer.term):
        if period < calendar.periods:
            total += per_period * rate ** -((period + 0.5) * years)
        elif not isinstance(offer, Purchase):
            total += per_period * rate ** -((calendar.periods - 0.5) * years)
    if isinstance(offer, Purchase):
        age = min((calendar.periods - start) / offer.term, 1.0)
        value = sum(offer.capital.values()) * (1 - (1 - offer.residual_fraction) * age)
        total -= value * rate ** -(calendar.periods * years)
    return total


def servable(scenario, moment, gpus):
    """Whether some replicas on that many GPUs per pool carry every workload through a slice."""
    pools = scenario.pools

    def place(w, left):
        if w == len(scenario.workloads):
            return True
        workload = scenario.workloads[w]
        need = scenario.moments.peak[w, moment] * (1 + workload.headroom)
        if need <= 0:
            return place(w + 1, left)
        options = [(c, i) for c in scenario.candidates if c.workload == workload.id for i, p in enumerate(pools)
                   if p.takes(c) and (workload.sites is None or p.site in workload.sites)]
        ranges = [range(left[i] // pools[i].slot(c) + 1) for c, i in options]
        for counts in itertools.product(*ranges):
            capacity = [n * pools[i].capacity(c) for n, (c, i) in zip(counts, options, strict=True)]
            largest = max((pools[i].capacity(c) for n, (c, i) in zip(counts, options, strict=True) if n), default=0.0)
            firm = sum(v for v, (_, i) in zip(capacity, options, strict=True) if pools[i].firm)
            if sum(capacity) - workload.spare * largest < need * (1 - 1e-7):
                continue
            if firm < need * (1 - workload.spot_share) * (1 - 1e-7):
                continue
            rest = list(left)
            for n, (c, i) in zip(counts, options, strict=True):
                rest[i] -= n * pools[i].slot(c)
            if min(rest) >= 0 and place(w + 1, rest):
                return True
        return False

    return place(0, list(gpus))


def cheapest(scenario: Scenario, most: int) -> float:
    """Least present value over every plan with at most that many units of each offer at a time; inf when none works."""
    pools, moments, periods = scenario.pools, scenario.moments, scenario.calendar.periods
    rentals = [o for o in scenario.offers if not isinstance(o, Commitment)]
    commitments = [o for o in scenario.offers if isinstance(o, Commitment)]
    possible = cache(lambda moment, gpus: servable(scenario, moment, gpus))
    pool_of = {o.id: i for i, p in enumerate(pools) for o in p.offers}
    cap = scenario.limits.gpus if scenario.limits.gpus is not None else math.inf

    def supply(offer):
        return most if offer.supply_total is None else min(most, offer.supply_total)

    @cache
    def rent(moment, owned):
        best = math.inf
        period = int(moments.period[moment])
        ranges = [range(supply(o) + 1) if period >= o.first_period else range(1) for o in rentals]
        for counts in itertools.product(*ranges):
            gpus = list(owned)
            for n, o in zip(counts, rentals, strict=True):
                gpus[pool_of[o.id]] += n * o.unit_gpus
            cost = sum(n * unit_cost(o, period, moments.share[moment], scenario)
                       for n, o in zip(counts, rentals, strict=True))
            if cost < best and sum(gpus) <= cap and possible(moment, tuple(gpus)):
                best = cost
        return best

    cells = [(o, t) for o in commitments for t in range(periods)]
    ranges = [range(min(supply(o), o.supply_per_period if o.supply_per_period is not None else most) + 1)
              if t >= o.first_period else range(1) for o, t in cells]
    prices = [unit_cost(o, t, 1.0, scenario) for o, t in cells]
    best = math.inf
    for counts in itertools.product(*ranges):
        total = sum(n * price for n, price in zip(counts, prices, strict=True))
        if total >= best or not _allowed(scenario, cells, counts, periods):
            continue
        for moment in range(moments.period.size):
            period = int(moments.period[moment])
            owned = [0] * len(pools)
            for n, (o, t) in zip(counts, cells, strict=True):
                owned[pool_of[o.id]] += n * o.unit_gpus * (t <= period < t + o.term)
            total += rent(moment, tuple(owned))
        best = min(best, total)
    return best


def _allowed(scenario, cells, counts, periods):
    """Supply at once, capital and power limits of a set of commitments."""
    capital = sum(n * sum(o.capital.values()) for n, (o, _) in zip(counts, cells, strict=True))
    if scenario.limits.capital_usd is not None and capital > scenario.limits.capital_usd:
        return False
    for period in range(periods):
        there = [(n, o) for n, (o, t) in zip(counts, cells, strict=True) if t <= period < t + o.term]
        for offer in {o.id: o for _, o in there}.values():
            if offer.supply_total is not None and sum(n for n, o in there if o is offer) > offer.supply_total:
                return False
        for site in scenario.sites:
            watts = sum(n * o.power_w * site.pue for n, o in there if o.site == site.id and o.on_site)
            if site.power_cap_w is not None and watts > site.power_cap_w * (1 + 1e-9):
                return False
    return True
