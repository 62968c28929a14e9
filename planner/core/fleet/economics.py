"""What a plan means: dollars and joules per token, margins, when buying pays, how busy it is by hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.cost import capital_spent, ledger, requests, site_energy, total_spent
from planner.core.fleet.demand import DAYS_PER_WEEK, hours_of_period
from planner.core.fleet.plan import Plan
from planner.core.fleet.scenario import Scenario, Workload
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array
from planner.core.quantities.units import HOURS_PER_DAY, MEGA

HOURS_PER_WEEK = DAYS_PER_WEEK * int(HOURS_PER_DAY)
OWNED = "owned"
"""Kind of offers that are used up before anything is bought: running out of them breaks nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPrices:
    """Prices of one workload over the horizon, idle time included."""

    workload: str
    usd: float
    """Its share of the fleet's cost by GPU-seconds held, residuals deducted [USD]."""
    usd_per_million_input: float | None
    """[USD]; null when prefill and decode cannot be told apart."""
    usd_per_million_output: float | None
    """[USD]; null as above."""
    usd_per_million_tokens: float
    """[USD], input and output together."""
    usd_per_request: float
    """[USD]."""
    joules_per_output_token: float | None
    """[J], at the meter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Margin:
    """How far one limit is from breaking."""

    limit: str
    factor: float
    """Demand may grow this much before it breaks [1]; spending and power are taken as proportional to demand."""


def unit_prices(plan: Plan) -> tuple[UnitPrices, ...]:
    """Unit prices of every workload: cost by GPU-seconds held, split into input and output by GPU-seconds used.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    tuple of UnitPrices
        In workload order.
    """
    return tuple(_unit_price(plan, workload) for workload in plan.scenario.workloads)


def _unit_price(plan: Plan, workload: Workload) -> UnitPrices:
    held, prefill, decode = _held(plan, workload)
    hosted, api = _hosted(plan, workload), _api_usd(plan, workload)
    total = sum(_held(plan, w)[0] for w in plan.scenario.workloads)
    usd = api + (_fleet_usd(plan) * held / total if total else 0.0)
    count = float(requests(plan.scenario, workload.id).sum())
    inputs, outputs = count * workload.input_tokens, count * workload.output_tokens
    joules = sum(float(j.sum()) for j in site_energy(plan).values()) * (held / total if total else 0.0)
    split = None if prefill + decode <= 0 or api else usd * prefill / (prefill + decode)
    return UnitPrices(
        workload=workload.id, usd=usd, usd_per_request=usd / count,
        usd_per_million_tokens=usd / (inputs + outputs) * MEGA,
        usd_per_million_input=None if split is None else split / inputs * MEGA,
        usd_per_million_output=None if split is None else (usd - split) / outputs * MEGA,
        joules_per_output_token=joules / (outputs * hosted) if hosted > 0 and joules else None)


def _held(plan: Plan, workload: Workload) -> tuple[float, float, float]:
    """GPU-seconds its replicas hold, and GPU-seconds of prefill and decode per request weighted by capacity."""
    scenario, held, prefill, decode = plan.scenario, 0.0, 0.0, 0.0
    seconds = scenario.moments.share * scenario.calendar.period_s
    by_id = {c.id: c for c in scenario.candidates}
    for (name, index), count in plan.replicas.items():
        candidate, pool = by_id[name], scenario.pools[index]
        if candidate.workload != workload.id:
            continue
        held += float(seconds @ count) * pool.slot(candidate)
        carried = float(seconds @ count) * pool.capacity(candidate)
        prefill += carried * candidate.prefill_gpu_s
        decode += carried * candidate.decode_gpu_s
    return held, prefill, decode


def _hosted(plan: Plan, workload: Workload) -> float:
    """Share of a workload's requests the fleet itself serves [1]."""
    count = requests(plan.scenario, workload.id)
    away = sum((plan.api_share[a.id] for a in plan.scenario.apis
                if a.workload == workload.id and a.id in plan.api_share), start=np.zeros(count.size))
    return 1.0 - float(count @ away) / float(count.sum())


def _api_usd(plan: Plan, workload: Workload) -> float:
    mine = {a.id for a in plan.scenario.apis if a.workload == workload.id}
    return sum(float(row.sum()) for (offer, _), row in ledger(plan).spending.items() if offer in mine)


def _fleet_usd(plan: Plan) -> float:
    """Cost of the hardware: everything but APIs, residuals deducted [USD]."""
    apis, book = {a.id for a in plan.scenario.apis}, ledger(plan)
    spent = sum(float(row.sum()) for (offer, _), row in book.spending.items() if offer not in apis)
    return spent - sum(book.resale.values())


def margins(plan: Plan) -> tuple[Margin, ...]:
    """Limits of a plan by how soon growing demand breaks them.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    tuple of Margin
        Nearest first.
    """
    scenario, found = plan.scenario, []
    for w, workload in enumerate(scenario.workloads):
        have = plan.capacity(workload.id)
        need = required(scenario.moments.peak[w], 0.0)
        busy = (have > 0) & (need > 0)
        if busy.any():
            found.append(Margin(limit=f"capacity for {workload.id}", factor=float((have[busy] / need[busy]).min())))
    for site in scenario.sites:
        used = float(plan.site_power(site.id).max())
        if site.power_cap_w is not None and used > 0:
            found.append(Margin(limit=f"power of {site.id}", factor=site.power_cap_w / used))
    limits = scenario.limits
    for name, cap, used in (("max_gpus", limits.gpus, float(plan.gpus().max())),
                            ("budget", limits.budget_usd, total_spent(plan)),
                            ("capital budget", limits.capital_usd, capital_spent(plan))):
        if cap is not None and used > 0:
            found.append(Margin(limit=name, factor=cap / used))
    for offer in scenario.offers:
        used = float(plan.units(offer).max())
        if offer.supply_total is not None and used > 0 and offer.kind != OWNED:
            found.append(Margin(limit=f"supply of {offer.id}", factor=offer.supply_total / used))
    return tuple(sorted(found, key=lambda m: (m.factor, m.limit)))


def utilization_by_hour(plan: Plan, workload: str, period: int) -> Array:
    """Load over capacity in every hour of a period's pattern.

    Parameters
    ----------
    plan : Plan
        The plan; with several blocks the capacity of the busiest is taken.
    workload : str
        Its id.
    period : int
        Which period, from 0.

    Returns
    -------
    ndarray
        (hour,) [1].

    Raises
    ------
    InvalidQuantity
        The workload has no replicas in the period (an API serves it).
    """
    scenario: Scenario = plan.scenario
    asked = next(w for w in scenario.workloads if w.id == workload)
    capacity = float(plan.capacity(workload)[scenario.moments.period == period].max())
    if capacity <= 0:
        raise InvalidQuantity(f"{workload} has no replicas in period {period + 1}.")
    return np.asarray(hours_of_period(asked.demand, scenario.calendar, period) / capacity)


def week_of_use(plan: Plan, workload: str, period: int) -> Array:
    """Load over capacity in the hours of one week: of a repeating pattern, or the week of the busiest hour.

    Parameters
    ----------
    plan : Plan
        The plan; with several blocks the capacity of the busiest is taken.
    workload : str
        Its id.
    period : int
        Which period, from 0; where demand grows or shrinks its busiest month is taken.

    Returns
    -------
    ndarray
        (168,) [1]; a pattern shorter than a week is repeated, as demand repeats it.

    Raises
    ------
    InvalidQuantity
        The workload has no replicas in the period (an API serves it).
    """
    demand = next(w for w in plan.scenario.workloads if w.id == workload).demand
    use = utilization_by_hour(plan, workload, period)
    if not demand.covers_horizon:  # the pattern stands there once a month
        months = use.reshape(-1, demand.hourly.size)
        use = months[int(months.max(axis=1).argmax())]
    if use.size <= HOURS_PER_WEEK:
        return np.resize(use, HOURS_PER_WEEK)
    start = int(use.argmax()) // HOURS_PER_WEEK * HOURS_PER_WEEK
    start = min(start, use.size - HOURS_PER_WEEK)
    return use[start:start + HOURS_PER_WEEK]
