"""The fleet optimiser's answer: the cheapest mix with its lower bound, or the limits that cannot be kept together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from planner.core.fleet.optimise import INFEASIBLE, Solution, optimise
from planner.core.fleet.ways import Way, ways
from planner.core.quantities.format import counted
from planner.services.catalog import CatalogService
from planner.services.procurement import doubt
from planner.services.procurement.describe import describe, money_section
from planner.services.procurement.money import to_cent, unit_price
from planner.services.procurement.ranges import check_ranges
from planner.services.procurement.reading import Read, ScenarioReader
from planner.services.procurement.replicas import ReplicaService
from planner.services.procurement.whatif import attribution, evidence, heading

Answer = dict[str, Any]
Fields = Mapping[str, Any]
MOST_ATTRIBUTED = 64
"""[1] Plain ways, cheapest first, whose distance is taken apart by driver: each costs two whole ledgers."""


class FleetService:
    """Answers fleet questions."""

    def __init__(self, catalog: CatalogService, replicas: ReplicaService,
                 today: Callable[[], date] = date.today) -> None:
        self.reader = ScenarioReader(catalog, replicas)
        self.today = today

    def answer(self, document: Fields, *, gap: float = 5e-3, time_limit_s: float = 8.0,
               workspace: str = "default") -> Answer:
        """Return the cheapest fleet of a complete scenario document."""
        check_ranges(document["ranges"])
        read = self.reader.read(document, self.today(), workspace)
        found = optimise(read.scenario, gap=gap, time_limit_s=time_limit_s)
        plan = found.plan
        return {
            **heading(document), "status": found.status, "npv_usd": to_cent(found.npv),
            "lower_bound_usd": to_cent(found.lower_bound), "lower_bound": to_cent(found.lower_bound),
            "gap": None if found.gap is None else round(found.gap, 6), "asked_gap": gap,
            "conflict": list(found.conflict),
            "plan": None if plan is None else describe(plan, read), "explanation": _explained(found),
            "uncertainty": None if plan is None else doubt.stressed(read, plan),
            "plain_ways": [_lost(way, found, taken_apart=place < MOST_ATTRIBUTED)
                           for place, way in enumerate(ways(read.scenario))],
            "missing": [{"fact": f"price of {sku}", "why": "no price is catalogued or given"} for sku in read.unpriced],
            **evidence(read),
        }


def _lost(way: Way, found: Solution, *, taken_apart: bool) -> Answer:
    """A plain way beside the optimum: by how much it is dearer and why."""
    row: Answer = {"id": way.id, "kind": way.kind, "sku": way.sku, "works": way.works, "broken": list(way.broken),
                   "npv_usd": to_cent(way.npv)}
    if way.plan is None or found.plan is None or not found.npv:
        return row
    row["npv_over_fleet"] = unit_price((way.npv or 0.0) / found.npv)
    row["attribution_usd"] = attribution(found.plan, way.plan) if taken_apart else None
    return row


def _explained(found: Solution) -> str:
    if found.status == INFEASIBLE:
        return "No fleet keeps these together: " + ", ".join(found.conflict) + ". Without any one of them there is one."
    if found.plan is None:
        return "No fleet was found within the time limit; nothing is proven."
    money, peak = money_section(found.plan), round(float(found.plan.gpus().max()))
    proof = f"proven within {found.gap or 0.0:.2%} of the best"
    return (f"The cheapest fleet found costs {money['npv_usd']:,.2f} USD in present value ({proof}), "
            f"{counted(peak, 'GPU')} at most.")


__all__ = ["FleetService", "Read"]
