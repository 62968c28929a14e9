"""What-if: every plain way to serve a scenario, ranked; why the others lost; what moves the answer; what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.fleet.attribution import attribute
from planner.core.fleet.cost import ledger
from planner.core.fleet.payback import break_even_month, break_even_utilization, net_spending
from planner.core.fleet.plan import Plan
from planner.core.fleet.ways import Way, ways
from planner.core.quantities.format import counted
from planner.services.catalog import CatalogService
from planner.services.pointers import at
from planner.services.procurement import doubt, sensitivity
from planner.services.procurement.describe import describe, money_section
from planner.services.procurement.fixed import judged_fleets
from planner.services.procurement.gaps import missing_facts, size_range
from planner.services.procurement.money import currency_note, to_cent, unit_price
from planner.services.procurement.ranges import check_ranges
from planner.services.procurement.reading import Read, ScenarioReader
from planner.services.procurement.replicas import ReplicaService

Answer = dict[str, Any]
Fields = Mapping[str, Any]
CONVENTIONS = (
    ("Running cost is spread over each period, capital is paid when a unit starts, residuals come at the end; present "
     "values use the cost of capital."),
    "A replica's capacity is its largest load within the objective; headroom and spares come on top.",
)


class ProcurementService:
    """Answers procurement what-ifs."""

    def __init__(self, catalog: CatalogService, replicas: ReplicaService,
                 today: Callable[[], date] = date.today) -> None:
        self.reader = ScenarioReader(catalog, replicas)
        self.today = today

    def answer(self, document: Fields, *, against: Fields | None = None, sensitive: bool = True,
               uncertain: bool = True, workspace: str = "default") -> Answer:
        """Return the answer to a complete scenario document."""
        check_ranges(document["ranges"])
        lacking = missing_facts(document)
        if any(fact["fact"] in {"model", "input_tokens", "output_tokens"} for fact in lacking):
            found_range = size_range(self.reader, document, self.today(), workspace)
            return {**heading(document), "best": None, "options": [], "missing": lacking, "range": found_range,
                    "assumptions": found_range.pop("notes")}
        read = self.reader.read(document, self.today(), workspace)
        found = ways(read.scenario)
        best = next((way for way in found if way.works), None)
        answer: Answer = {
            **heading(document), "explanation": "", "best": None if best is None else best.id,
            "options": [_option(way, best, read) for way in found],
            "fleets": judged_fleets(read), "missing": lacking + _unpriced(read), **evidence(read),
        }
        if best is None or best.plan is None:
            answer["explanation"] = _no_way(read)
            return answer
        rival = next((w for w in found if w.works and w is not best and w.plan is not None), None)
        answer |= {"plan": describe(best.plan, read), "break_even": _break_even(found, read),
                   "explanation": _explained(best, rival)}
        if sensitive:
            answer["sensitivity"] = sensitivity.section(read, best, rival, found)
        if uncertain:
            answer["uncertainty"] = doubt.section(read, best)
        if against is not None:
            answer["against"] = self._against(best.plan, against, workspace)
        return answer

    def _against(self, plan: Plan, document: Fields, workspace: str) -> Answer:
        with at("/against"):
            check_ranges(document["ranges"])
            other = self.reader.read(document, self.today(), workspace)
        best = next((way for way in ways(other.scenario) if way.works), None)
        if best is None or best.plan is None:
            return {"name": document["name"], "best": None, "explanation": _no_way(other)}
        difference = ledger(plan).npv - ledger(best.plan).npv
        return {"name": document["name"], "best": best.id, **money_section(best.plan),
                "npv_difference_usd": to_cent(difference), "attribution_usd": attribution(best.plan, plan)}


def heading(document: Fields) -> Answer:
    """Return what every answer starts with."""
    return {"name": document["name"], "currency": "USD", "price_currency": document["currency"],
            "currency_note": currency_note(document),
            "horizon_months": document["horizon_months"], "months_per_period": document["months_per_period"],
            "as_of": document["as_of"], "assumptions": [], "warnings": []}


def evidence(read: Read) -> Answer:
    """Return what an answer rests on: prices, rejected layouts, assumptions, warnings."""
    notes = [*read.notes, *CONVENTIONS]
    if read.document["power_fraction"] == 1.0:
        notes.append("Energy takes every unit at its power limit all the time: a bound from above.")
    return {
        "prices": read.book.quoted, "assumptions": notes, "warnings": list(dict.fromkeys(read.warnings)),
        "rejected": [{"sku": r.sku, "layout": r.layout, "weights": r.weights, "reason": r.reason}
                     for r in read.rejected],
    }


def attribution(before: Plan, after: Plan) -> Answer | None:
    """Return what each driver adds to the undiscounted hardware cost; None when one side has no hardware."""
    if not (before.gpus().any() and after.gpus().any()) or before.api_share or after.api_share:
        return None
    try:
        return {driver: to_cent(usd) for driver, usd in attribute(before, after).items()}
    except InvalidQuantity:
        return None


def _option(way: Way, best: Way | None, read: Read) -> Answer:
    row: Answer = {"id": way.id, "kind": way.kind, "sku": way.sku, "works": way.works, "broken": list(way.broken)}
    if way.plan is None:
        return {**row, "npv_usd": None, "why": "; ".join(way.broken)}
    hours = read.scenario.calendar.months
    row |= {**money_section(way.plan), "gpus_peak": round(float(way.plan.gpus().max())),
            "usd_per_month": to_cent((way.npv or 0.0) / hours), "why": "cheapest"}
    if best is None or best.plan is None or way is best:
        row["why"] = "cheapest" if way is best else "breaks: " + "; ".join(way.broken)
        return row
    ratio = None if not best.npv else (way.npv or 0.0) / best.npv
    row |= {"npv_over_best": unit_price(ratio), "attribution_usd": attribution(best.plan, way.plan)}
    row["why"] = _why(way, best, row["attribution_usd"])
    return row


def _why(way: Way, best: Way, parts: Answer | None) -> str:
    if not way.works:
        return "breaks: " + "; ".join(way.broken)
    dearer = (way.npv or 0.0) - (best.npv or 0.0)
    text = f"costs {dearer:,.0f} USD more than {best.id} in present value"
    if parts is None:
        return text
    named = ", ".join(f"{name} {usd:+,.0f}" for name, usd in sorted(parts.items(), key=lambda kv: -kv[1])
                      if round(usd))
    return text + (f"; before discounting {sum(parts.values()):+,.0f}: {named} USD" if named else "")


def _unpriced(read: Read) -> list[Answer]:
    return [{"fact": f"price of {sku}", "why": "no price is catalogued or given, so it is not ranked",
             "hint": "Add it under prices, with date and source."} for sku in read.unpriced]


def _no_way(read: Read) -> str:
    if not read.scenario.candidates:
        reasons = "; ".join(dict.fromkeys(f"{r.sku} {r.layout} {r.weights}: {r.reason}" for r in read.rejected[:4]))
        return "Nothing that was tried can serve the workloads. " + reasons
    return "No single way keeps every limit; the fleet optimiser may mix them, and names the limits in conflict."


def _explained(best: Way, rival: Way | None) -> str:
    plan = best.plan
    if plan is None:
        return ""
    money, peak = money_section(plan), round(float(plan.gpus().max()))
    text = (f"Of single ways, {best.id} is cheapest: {money['npv_usd']:,.2f} USD in present value, "
            f"{counted(peak, 'GPU')} at the busiest moment.")
    if rival is not None and best.npv and rival.npv:
        text += f" Next is {rival.id} at {rival.npv / best.npv:.2f} times the cost."
    return text + " A fleet may mix SKUs, terms and models and cost less: the fleet optimiser finds it."


def _break_even(found: tuple[Way, ...], read: Read) -> Answer:
    """Months from which owning stays cheaper than renting the same SKU, and the use at which hardware meets an API."""
    months = []
    for own in (w for w in found if w.kind in {"buy", "own_base"} and w.plan is not None):
        for rent in (w for w in found if w.kind == "rent" and w.sku == own.sku and w.plan is not None):
            if own.plan is not None and rent.plan is not None:
                month = break_even_month(own.plan, rent.plan)
                net = break_even_month(own.plan, rent.plan, net_spending)
                months.append({"own": own.id, "rent": rent.id, "works": own.works and rent.works,
                               "month": None if month is None else round(month, 2),
                               "month_net_of_book_value": None if net is None else round(net, 2)})
    return {"rent_or_buy": months, "against_api": _against_api(found, read)}


def _against_api(found: tuple[Way, ...], read: Read) -> list[Answer]:
    scenario = read.scenario
    rows: list[Answer] = []
    if len(scenario.workloads) != 1:
        return rows
    workload = scenario.workloads[0]
    seconds = scenario.calendar.period_s * scenario.calendar.periods
    for way in (w for w in found if w.works and w.plan is not None and w.kind != "api"):
        if way.plan is None:
            continue
        capacity = float(scenario.moments.share @ way.plan.capacity(workload.id)) / scenario.calendar.periods
        cost = (ledger(way.plan).npv if not scenario.calendar.discount_rate else money_section(way.plan)["total_usd"])
        for api in scenario.apis:
            price = api.usd_per_request(workload.input_tokens, workload.output_tokens) * workload.rate_per_load
            if price <= 0:
                continue
            use = break_even_utilization(cost / seconds, capacity, price)
            rows.append({"way": way.id, "api": api.id, "utilization": unit_price(use),
                         "cheaper": "hardware" if use <= 1 else "api"})
    return rows
