"""Whether a plan, whatever its origin, keeps every promise of its scenario."""

from __future__ import annotations

import numpy as np

from planner.core.fleet.cost import capital_spent, total_spent
from planner.core.fleet.offers import Commitment
from planner.core.fleet.plan import Plan
from planner.core.fleet.readout import NEARLY
from planner.core.fleet.scenario import Candidate
from planner.core.fleet.sizing import ROUNDING, required
from planner.core.quantities.arrays import Array


def shortfalls(plan: Plan) -> tuple[str, ...]:
    """Promises a plan breaks, by name; empty for a plan that keeps them all.

    Parameters
    ----------
    plan : Plan
        Any plan of any origin.

    Returns
    -------
    tuple of str
        Names of broken constraints, in the optimiser's own words.
    """
    broken = [*_demand_shortfalls(plan), *_pool_shortfalls(plan), *_supply_shortfalls(plan), *_site_shortfalls(plan)]
    limits = plan.scenario.limits
    if limits.gpus is not None and plan.gpus().max() > limits.gpus + ROUNDING:
        broken.append("max_gpus")
    if limits.budget_usd is not None and total_spent(plan) > limits.budget_usd * (1 + ROUNDING):
        broken.append("budget")
    if limits.capital_usd is not None and capital_spent(plan) > limits.capital_usd * (1 + ROUNDING):
        broken.append("capital budget")
    return tuple(broken)


def _demand_shortfalls(plan: Plan) -> list[str]:
    moments, broken = plan.scenario.moments, []
    for index, workload in enumerate(plan.scenario.workloads):
        api = sum((plan.api_share.get(a.id, np.zeros(moments.period.size)) for a in plan.scenario.apis
                   if a.workload == workload.id), start=np.zeros(moments.period.size))
        asked = required(moments.peak[index], workload.headroom)
        have = plan.capacity(workload.id) - workload.spare * _largest(plan, workload.id)
        if (have < asked * (1 - api - NEARLY)).any():
            broken.append(f"demand of {workload.id}")
    return broken


def _largest(plan: Plan, workload: str) -> Array:
    """Capacity of the largest replica in use, per slice [load]."""
    largest = np.zeros(plan.scenario.moments.period.size)
    by_id, pools = {c.id: c for c in plan.scenario.candidates}, plan.scenario.pools
    for (name, index), count in plan.replicas.items():
        if by_id[name].workload == workload:
            largest = np.maximum(largest, np.where(count > 0, pools[index].capacity(by_id[name]), 0.0))
    return largest


def _pool_shortfalls(plan: Plan) -> list[str]:
    by_id: dict[str, Candidate] = {c.id: c for c in plan.scenario.candidates}
    broken = []
    for index, pool in enumerate(plan.scenario.pools):
        used = sum((pool.slot(by_id[name]) * count for (name, i), count in plan.replicas.items() if i == index),
                   start=np.zeros(plan.scenario.moments.period.size))
        if (used > pool.unit_gpus * plan.pool_units(pool) + ROUNDING).any():
            broken.append(f"units of {pool.label}")
    return broken


def _supply_shortfalls(plan: Plan) -> list[str]:
    broken, period = [], plan.scenario.moments.period
    for offer in plan.scenario.offers:
        starts = plan.acquired.get(offer.id) if isinstance(offer, Commitment) else plan.running.get(offer.id)
        if starts is None:
            continue
        when = np.arange(starts.size) if isinstance(offer, Commitment) else period
        if starts[when < offer.first_period].any():
            broken.append(f"lead time of {offer.id}")
        each, total = offer.supply_per_period, offer.supply_total
        too_fast = isinstance(offer, Commitment) and each is not None and starts.max() > each
        if too_fast or (total is not None and plan.units(offer).max() > total):
            broken.append(f"supply of {offer.id}")
    return broken


def _site_shortfalls(plan: Plan) -> list[str]:
    broken = []
    for site in plan.scenario.sites:
        if site.power_cap_w is not None and plan.site_power(site.id).max() > site.power_cap_w * (1 + ROUNDING):
            broken.append(f"power of {site.id}")
        if site.rack_cap is not None and racks(plan, site.id).max() > site.rack_cap * (1 + ROUNDING):
            broken.append(f"racks of {site.id}")
    return broken


def racks(plan: Plan, site: str) -> Array:
    """Racks the units on a site fill, in every slice (fractions, not rounded: racks are shared between SKUs).

    Parameters
    ----------
    plan : Plan
        The plan.
    site : str
        Its id.

    Returns
    -------
    ndarray
        (slice,) [1].
    """
    total = np.zeros(plan.scenario.moments.period.size)
    for offer in plan.scenario.offers:
        if offer.site == site and offer.on_site and offer.units_per_rack:
            total += plan.units(offer) / offer.units_per_rack
    return total
