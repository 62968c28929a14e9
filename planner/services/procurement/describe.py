"""A plan of the fleet core in the answer's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.core.fleet.checks import racks
from planner.core.fleet.cost import ledger, requests, site_energy
from planner.core.fleet.economics import margins, unit_prices, week_of_use
from planner.core.fleet.offers import RESIDUAL, Commitment
from planner.core.fleet.plan import Plan
from planner.core.fleet.power import kilowatt_hours
from planner.core.quantities.arrays import Array
from planner.core.quantities.units import WATT_PER_KILOWATT
from planner.core.serving.latency import speed
from planner.services.procurement.money import dollars, finite, to_cent, unit_price, whole
from planner.services.procurement.reading import Read

Answer = dict[str, Any]


def money_section(plan: Plan) -> Answer:
    """Money over the horizon: parts that add up to the total, to the cent."""
    book = ledger(plan)
    lines = book.lines()
    parts: dict[str, int] = {}
    months = [0] * plan.scenario.calendar.periods
    for line in lines:
        parts[line.part] = parts.get(line.part, 0) + line.cents
        if line.part != RESIDUAL:
            months[line.period] += line.cents
    spent = sum(cents for part, cents in parts.items() if part != RESIDUAL)
    return {"npv_usd": to_cent(book.npv), "total_usd": dollars(spent + parts.get(RESIDUAL, 0)),
            "spent_usd": dollars(spent), "parts_usd": {part: dollars(cents) for part, cents in sorted(parts.items())},
            "by_period_usd": [dollars(cents) for cents in months]}


def describe(plan: Plan, read: Read) -> Answer:
    """Everything about one plan."""
    return {
        **money_section(plan), "gpus": gpus_section(plan), "fleet": _fleet(plan), "replicas": _replicas(plan, read),
        "api_share": {name: _by_period(plan, share) for name, share in plan.api_share.items()},
        "power": power_section(plan), "unit_prices": prices_section(plan), "workloads": workloads_section(read),
        "margins": [{"limit": m.limit, "factor": unit_price(m.factor)} for m in margins(plan)],
        "utilization_by_hour": _utilization(plan),
    }


def gpus_section(plan: Plan) -> Answer:
    """GPUs of the whole fleet."""
    by_period = _by_period(plan, plan.gpus())
    return {"peak": max(by_period), "first": by_period[0], "last": by_period[-1], "by_period": by_period}


def _by_period(plan: Plan, per_slice: Array) -> list[Any]:
    """The highest value inside each period; whole numbers where they are."""
    top = np.zeros(plan.scenario.calendar.periods)
    np.maximum.at(top, plan.scenario.moments.period, per_slice)
    return whole(top) if np.array_equal(top, np.round(top)) else [round(float(v), 6) for v in top]


def _fleet(plan: Plan) -> list[Answer]:
    found = []
    for offer in plan.scenario.offers:
        units = plan.units(offer)
        if not units.any():
            continue
        started = plan.acquired.get(offer.id) if isinstance(offer, Commitment) else None
        found.append({
            "offer": offer.id, "kind": offer.kind, "sku": offer.sku, "site": offer.site,
            "gpus_per_unit": offer.unit_gpus,
            "units_by_period": _by_period(plan, units),
            "started_by_period": None if started is None else whole(started),
            "priced": None if offer.stamp is None else {"date": offer.stamp.date, "source": offer.stamp.source,
                                                        "currency": offer.stamp.currency}})
    return found


def _replicas(plan: Plan, read: Read) -> list[Answer]:
    found = []
    for (name, index), count in plan.replicas.items():
        replica, pool = read.replicas[name], plan.scenario.pools[index]
        found.append({
            "workload": name.split(": ", 1)[0], "sku": replica.sku, "layout": replica.layout,
            "weights": replica.weights, "gpus_per_replica": replica.gpus, "pool": pool.label,
            "replicas_by_period": _by_period(plan, count.astype(np.float64)),
            "load_per_replica": unit_price(replica.load),
            "load_interval_90": None if replica.low is None else [unit_price(replica.low), unit_price(replica.high)],
            "rate_per_replica": unit_price(replica.rate), "ttft_s": finite(replica.ttft_s),
            "tpot_s": finite(replica.tpot_s), "limit": replica.limit,
            "tokens_per_s_per_user": unit_price(speed(replica.tpot_s)) if finite(replica.tpot_s) else None})
    return found


def power_section(plan: Plan) -> Answer:
    """Power, energy and carbon; the limit of every unit, rented ones included in energy and carbon."""
    scenario, sites = plan.scenario, []
    joules = site_energy(plan)
    for site in scenario.sites:
        used = float(joules[site.id].sum())
        if used <= 0:
            continue
        sites.append({
            "site": site.id, "peak_kw": unit_price(float(plan.site_power(site.id).max()) / WATT_PER_KILOWATT),
            "racks": unit_price(float(racks(plan, site.id).max())) or None,
            "energy_kwh": unit_price(float(kilowatt_hours(used))),
            "carbon_kg": None if site.carbon is None else unit_price(used * site.carbon)})
    total = sum(float(j.sum()) for j in joules.values())
    known = [s for s in scenario.sites if joules[s.id].any()]
    carbon = sum(float(joules[s.id].sum()) * s.carbon for s in known if s.carbon is not None)
    return {"sites": sites, "energy_kwh": unit_price(float(kilowatt_hours(total))),
            "carbon_kg": unit_price(carbon) if known and all(s.carbon is not None for s in known) else None}


def prices_section(plan: Plan) -> list[Answer]:
    """Unit prices of every workload over the horizon, idle time included."""
    return [{"workload": p.workload, "usd": to_cent(p.usd),
             "usd_per_million_input_tokens": unit_price(p.usd_per_million_input),
             "usd_per_million_output_tokens": unit_price(p.usd_per_million_output),
             "usd_per_million_tokens": unit_price(p.usd_per_million_tokens),
             "usd_per_request": unit_price(p.usd_per_request),
             "joules_per_output_token": unit_price(p.joules_per_output_token)} for p in unit_prices(plan)]


def workloads_section(read: Read) -> list[Answer]:
    """What is asked of the fleet, in its unit and in tokens; totals over all replicas."""
    scenario, found = read.scenario, []
    moments, seconds = scenario.moments, scenario.calendar.period_s * scenario.calendar.periods
    for w, workload in enumerate(scenario.workloads):
        count = float(requests(scenario, workload.id).sum())
        peaks = moments.peak[w]
        found.append({
            "workload": workload.id, "model": workload.model, "unit": workload.unit, "scope": "total, all replicas",
            "peak_first": unit_price(float(peaks[moments.period == 0].max())),
            "peak_last": unit_price(float(peaks[moments.period == moments.period[-1]].max())),
            "requests": unit_price(count), "input_tokens": workload.input_tokens,
            "output_tokens": workload.output_tokens,
            "mean_tokens_per_s": unit_price(count * (workload.input_tokens + workload.output_tokens) / seconds),
            "mean_output_tokens_per_s": unit_price(count * workload.output_tokens / seconds),
            "headroom": workload.headroom, "spare_replicas": workload.spare,
            "in_flight_share": read.loads[workload.id].share})
    return found


def _utilization(plan: Plan) -> list[Answer]:
    found = []
    for workload in plan.scenario.workloads:
        capacity = plan.capacity(workload.id)
        for period in sorted({0, plan.scenario.calendar.periods - 1}):
            if capacity[plan.scenario.moments.period == period].max() <= 0:
                continue
            hours = week_of_use(plan, workload.id, period)
            found.append({"workload": workload.id, "period": period + 1, "hours": [round(float(h), 4) for h in hours],
                          "mean": round(float(hours.mean()), 4), "peak": round(float(hours.max()), 4)})
    return found
