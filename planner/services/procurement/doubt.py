"""The answer under doubt: demand and performance drawn, GPUs and money at the median and the 90th percentile."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.core.fleet.plan import Plan
from planner.core.fleet.uncertainty import Doubt, monte_carlo, stress
from planner.core.fleet.ways import Way, size_pool
from planner.services.procurement.money import to_cent, unit_price
from planner.services.procurement.reading import Read

Answer = dict[str, Any]


def stressed(read: Read, plan: Plan) -> Answer | None:
    """How the optimiser's fleet stands the same doubt; None where everything goes to an API."""
    asked = read.document["uncertainty"]
    if not plan.replicas:
        return None
    found = stress(plan, Doubt(demand_cv=asked["demand_cv"], growth_sd=asked["growth_sd"]), draws=asked["draws"],
                   seed=asked["seed"])
    peak = float(plan.gpus().max())
    p50, p90 = (float(np.quantile(found.scale, share)) for share in (0.5, 0.9))
    return {
        "draws": asked["draws"], "seed": asked["seed"], "demand_cv": asked["demand_cv"],
        "growth_sd_per_month": asked["growth_sd"],
        "performance": "lognormal over the 90 % interval of the performance model, one draw per SKU",
        "scale_p50": unit_price(p50), "scale_p90": unit_price(p90), "gpus_p50": round(peak * p50),
        "gpus_p90": round(peak * p90),
        "shortfall_probability_by_period": [round(float(p), 4) for p in found.short],
    }


def section(read: Read, way: Way) -> Answer | None:
    """The uncertainty part of an answer; None for an API, which takes whatever comes."""
    plan, asked = way.plan, read.document["uncertainty"]
    if plan is None or not plan.replicas:
        return None
    index = next(i for _, i in plan.replicas)
    sized = size_pool(read.scenario, index)
    if isinstance(sized, str):
        return None
    draws = monte_carlo(plan, sized, Doubt(demand_cv=asked["demand_cv"], growth_sd=asked["growth_sd"]),
                        draws=asked["draws"], seed=asked["seed"])
    (gpus50, npv50), (gpus90, npv90) = draws.quantile(0.5), draws.quantile(0.9)
    return {
        "way": way.id, "draws": asked["draws"], "seed": asked["seed"], "demand_cv": asked["demand_cv"],
        "growth_sd_per_month": asked["growth_sd"],
        "performance": "lognormal over the 90 % interval of the performance model, one draw per SKU",
        "gpus_p50": round(gpus50), "gpus_p90": round(gpus90), "npv_p50_usd": to_cent(npv50),
        "npv_p90_usd": to_cent(npv90),
        "shortfall_probability_by_period": [round(float(p), 4) for p in draws.short],
    }
