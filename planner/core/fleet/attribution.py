"""Why one plan costs more than another: demand, performance, utilisation, price and power, adding up exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.cost import ledger, requests
from planner.core.fleet.offers import RUNNING_PARTS
from planner.core.fleet.plan import Plan

ENERGY = RUNNING_PARTS[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drivers:
    """The factors whose product is a plan's cost without energy, and energy beside them."""

    requests: float
    """Over the horizon [1]."""
    gpu_s_per_request: float
    """At full use [s]: performance."""
    gpu_s_held_per_used: float
    """[1]: the inverse of utilisation."""
    usd_per_gpu_s: float
    """Everything but energy, residuals deducted [USD/s]."""
    energy_usd: float
    """[USD]."""

    @property
    def usd(self) -> float:
        """Cost of the hardware over the horizon, residuals deducted [USD]."""
        return self.requests * self.gpu_s_per_request * self.gpu_s_held_per_used * self.usd_per_gpu_s + self.energy_usd


def drivers(plan: Plan) -> Drivers:
    """Factors of a plan's cost.

    Parameters
    ----------
    plan : Plan
        A plan with hardware; API spending is left out.

    Returns
    -------
    Drivers
        Their product and energy make the cost.
    """
    scenario, book = plan.scenario, ledger(plan)
    seconds = scenario.moments.share * scenario.calendar.period_s
    held = float(seconds @ plan.gpus())
    count = sum(float(requests(scenario, w.id).sum()) for w in scenario.workloads)
    used = sum(_used(plan, index) for index in range(len(scenario.workloads)))
    apis = {a.id for a in scenario.apis}
    energy = sum(float(row.sum()) for (_, part), row in book.spending.items() if part == ENERGY)
    rest = sum(float(row.sum()) for (offer, part), row in book.spending.items() if part != ENERGY and offer not in apis)
    rest -= sum(book.resale.values())
    return Drivers(requests=count, gpu_s_per_request=used / count, gpu_s_held_per_used=held / used,
                   usd_per_gpu_s=rest / held, energy_usd=energy)


def _used(plan: Plan, workload: int) -> float:
    """GPU-seconds a workload's requests need on the replicas chosen, were these always full [s]."""
    scenario = plan.scenario
    name, by_id = scenario.workloads[workload].id, {c.id: c for c in scenario.candidates}
    seconds = scenario.moments.share * scenario.calendar.period_s
    gpus = np.zeros(seconds.size)
    for (candidate, _), count in plan.replicas.items():
        if by_id[candidate].workload == name:
            gpus += count * by_id[candidate].gpus
    capacity = plan.capacity(name)
    load = scenario.moments.mean[workload]
    busy = capacity > 0
    return float(seconds[busy] @ (load[busy] * gpus[busy] / capacity[busy]))


def attribute(before: Plan, after: Plan) -> dict[str, float]:
    """What each driver adds to the cost from one plan to another.

    Parameters
    ----------
    before : Plan
        The plan compared with.
    after : Plan
        The plan explained.

    Returns
    -------
    dict
        demand, performance, utilization, price, power [USD]; they sum to the difference.

    Raises
    ------
    InvalidQuantity
        A plan that costs nothing but energy: logarithms have no zero.

    Notes
    -----
    Logarithmic-mean Divisia index: exact, and independent of any order of factors.

    References
    ----------
    Ang, The LMDI approach to decomposition analysis, Energy Policy 33(7), 2005, eq. 4, doi:10.1016/j.enpol.2003.10.010.
    """
    a, b = drivers(before), drivers(after)
    first, second = a.usd - a.energy_usd, b.usd - b.energy_usd
    if min(first, second) <= 0:
        raise InvalidQuantity("A plan that costs nothing but energy cannot be attributed.")
    mean = first if math.isclose(first, second, rel_tol=1e-12) else (second - first) / math.log(second / first)
    return {"demand": mean * math.log(b.requests / a.requests),
            "performance": mean * math.log(b.gpu_s_per_request / a.gpu_s_per_request),
            "utilization": mean * math.log(b.gpu_s_held_per_used / a.gpu_s_held_per_used),
            "price": mean * math.log(b.usd_per_gpu_s / a.usd_per_gpu_s), "power": b.energy_usd - a.energy_usd}
