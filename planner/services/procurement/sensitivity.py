"""What moves the answer: every assumption at both ends, a two-way table, and the prices at which the order turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from planner.core.fleet import changes
from planner.core.fleet.cost import ledger
from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.plan import Plan
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sensitivity import Assumption, Measure, Piece, price_crossover, tornado, two_way
from planner.core.fleet.ways import Way, ways
from planner.core.quantities.units import SECONDS_PER_HOUR
from planner.services.procurement.money import to_cent, unit_price
from planner.services.procurement.ranges import assumptions
from planner.services.procurement.reading import Read

Answer = dict[str, Any]
DEMAND_STEPS = (0.6, 0.8, 1.0, 1.25, 1.5)
PRICE_STEPS = (0.7, 0.85, 1.0, 1.15, 1.3)
RENT, CARD = "rent", "card"


def measure_of(way: Way) -> Measure:
    """The present value of a way, sized again for each change; infinite where it no longer works."""
    def measure(scenario: Scenario) -> float:
        found = ways(scenario, only=[way.id])
        return found[0].npv if found and found[0].works and found[0].npv is not None else float("inf")
    return measure


def section(read: Read, best: Way, rival: Way | None, found_ways: Sequence[Way]) -> Answer:
    """The sensitivity part of an answer."""
    plans = [way.plan for way in (best, rival) if way is not None and way.plan is not None]
    found = assumptions(read, plans)
    bars = tornado(read.scenario, found, measure_of(best))
    others = {} if rival is None else {b.assumption.name: b for b in tornado(read.scenario, found, measure_of(rival))}
    return {
        "measure": "present value [USD], the fleet sized again each time", "way": best.id,
        "rival": None if rival is None else rival.id, "base_usd": to_cent(best.npv),
        "tornado": [_bar(bar, others.get(bar.assumption.name)) for bar in bars],
        "two_way": _table(read, best, rival), "crossovers": crossovers(read, best, found_ways),
    }


def _bar(bar: Any, other: Any) -> Answer:  # noqa: ANN401 - two Bars
    asked: Assumption = bar.assumption
    row = {"assumption": asked.name, "unit": asked.unit, "base": unit_price(asked.base), "low": unit_price(asked.low),
           "high": unit_price(asked.high), "usd_at_low": to_cent(bar.at_low), "usd_at_high": to_cent(bar.at_high),
           "swing_usd": to_cent(bar.swing), "source": asked.source, "turns_the_order": False}
    if other is not None:
        row |= {"rival_usd_at_low": to_cent(other.at_low), "rival_usd_at_high": to_cent(other.at_high),
                "turns_the_order": other.at_low < bar.at_low or other.at_high < bar.at_high}
    return row


def _prices(offer: Offer) -> tuple[str, float] | None:
    """The part of an offer people bargain over, and its price as they state it."""
    if offer.running.get(RENT):
        return RENT, offer.running[RENT] * SECONDS_PER_HOUR / offer.unit_gpus
    if isinstance(offer, Commitment) and offer.capital.get(CARD):
        return CARD, offer.capital[CARD] / offer.unit_gpus
    return None


def _scaled(scenario: Scenario, factor: float, offer: Offer, part: str) -> Scenario:
    return changes.scale_parts(scenario, factor, frozenset({part}), lambda o: o.id == offer.id)


def _used(read: Read, way: Way) -> list[Offer]:
    plan = way.plan
    return [] if plan is None else [o for o in read.scenario.offers if plan.units(o).any()]


def crossovers(read: Read, best: Way, found_ways: Sequence[Way]) -> list[Answer]:
    """For the cheapest way of every other SKU: the price of each of its offers at which it equals the best, exactly."""
    rivals: dict[str | None, Way] = {}
    for way in found_ways:
        if way.works and way.plan is not None and way.sku is not None and way.sku != best.sku:
            rivals.setdefault(way.sku, way)
    return [row for rival in rivals.values() for row in _crossovers(read, best, rival)]


def _crossovers(read: Read, best: Way, rival: Way) -> list[Answer]:
    mine = {o.id for o in _used(read, best)}
    found = []
    for offer in _used(read, rival):
        priced = _prices(offer)
        if priced is None or offer.id in mine or best.npv is None:
            continue
        part, price = priced
        factor = price_crossover(_piece(read, rival, offer, part), best.npv, 1.0)
        found.append({"offer": offer.id, "part": part, "unit": "USD per GPU-hour" if part == RENT else "USD per GPU",
                      "now": unit_price(price), "equal_at": None if factor is None else unit_price(price * factor),
                      "way": rival.id, "against": best.id})
    return found


def _piece(read: Read, way: Way, offer: Offer, part: str) -> Callable[[float], Piece]:
    def at(factor: float) -> Piece:
        found = ways(_scaled(read.scenario, factor, offer, part), only=[way.id])
        plan = found[0].plan
        if plan is None:
            return Piece(constant=float("inf"), slope=0.0)
        free = ledger(_moved(plan, read, 0.0, offer, part)).npv
        return Piece(constant=free, slope=ledger(_moved(plan, read, 1.0, offer, part)).npv - free)
    return at


def _moved(plan: Plan, read: Read, factor: float, offer: Offer, part: str) -> Plan:
    return changes.moved(plan, _scaled(read.scenario, factor, offer, part))


def _table(read: Read, best: Way, rival: Way | None) -> Answer | None:
    """Demand against the best way's main price: its present value, and where the rival is cheaper."""
    priced = [(o, p) for o in _used(read, best) if (p := _prices(o)) is not None]
    if not priced:
        return None
    offer, (part, price) = priced[0]
    demand = Assumption(name="demand", unit="×", base=1.0, low=DEMAND_STEPS[0], high=DEMAND_STEPS[-1],
                        change=changes.scale_demand)
    cost = Assumption(name=f"{part} price of {offer.id}", unit="×", base=1.0, low=PRICE_STEPS[0], high=PRICE_STEPS[-1],
                      change=lambda s, factor: _scaled(s, factor, offer, part))
    mine = two_way(read.scenario, (demand, DEMAND_STEPS), (cost, PRICE_STEPS), measure_of(best))
    theirs = mine if rival is None else two_way(read.scenario, (demand, DEMAND_STEPS), (cost, PRICE_STEPS),
                                                measure_of(rival))
    return {"rows": {"name": "demand", "unit": "×", "values": list(DEMAND_STEPS)},
            "columns": {"name": cost.name, "unit": "USD", "values": [unit_price(price * f) for f in PRICE_STEPS]},
            "npv_usd": [[to_cent(v) for v in row] for row in mine.tolist()],
            "rival_cheaper": (theirs < mine).tolist()}
