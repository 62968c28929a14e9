"""How far each assumption of a scenario may move: planning ranges, stated with every answer and replaceable in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.fleet import changes
from planner.core.fleet.offers import Commitment, Offer, Purchase
from planner.core.fleet.plan import Plan
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sensitivity import Assumption, Change
from planner.services.pointers import step_of
from planner.services.procurement.reading import Read

LEAST_GROWTH = -0.99
"""[1/month] Demand that shrinks faster is gone within the month."""
PLANNING = "planning range; set it under ranges"
# Not measurements but the span a buyer should check: list prices move so far in a negotiation or a year.
SPANS: Mapping[str, tuple[float, float]] = {
    "demand": (0.8, 1.2), "growth": (-0.02, 0.02), "rent": (0.8, 1.2), "card": (0.8, 1.2), "server": (0.8, 1.2),
    "network": (0.8, 1.2), "energy": (0.7, 1.5), "colocation": (0.8, 1.3), "staff": (0.7, 1.5), "support": (0.7, 1.3),
    "upfront": (0.8, 1.2), "residual": (0.0, 0.4), "cost_of_capital": (-0.04, 0.04), "headroom": (0.0, 0.4),
    "api": (0.6, 1.3), "availability": (-0.1, 0.05),
}


def assumptions(read: Read, plans: list[Plan]) -> list[Assumption]:
    """Every assumption that the plans in question depend on, with its range."""
    scenario = read.scenario
    used = {o.id for plan in plans for o in scenario.offers if plan.units(o).any()}
    offers = [o for o in scenario.offers if o.id in used]
    found = [*_demand(read), *_performance(read, plans), *_parts(read, offers)]
    if any(isinstance(o, Purchase) for o in offers):
        low, high = _span(read, "residual")
        found.append(Assumption(name="residual value at the end of life", unit="of price", low=low, high=high,
                                base=next(o.residual_fraction for o in offers if isinstance(o, Purchase)),
                                change=changes.set_residual, source=PLANNING))
    base = scenario.calendar.discount_rate
    low, high = _span(read, "cost_of_capital")
    found.append(Assumption(name="cost of capital", unit="1/year", base=base, low=max(base + low, 0.0),
                            high=base + high, change=changes.set_discount, source=PLANNING))
    if any(plan.api_share for plan in plans):
        low, high = _span(read, "api")
        found.append(Assumption(name="API token prices", unit="×", base=1.0, low=low, high=high,
                                change=changes.scale_api, source=PLANNING))
    return found


def check_ranges(given: Mapping[str, Any]) -> None:
    """Refuse ranges of assumptions there are none of, or the wrong way round."""
    for name, (low, high) in given.items():
        if name not in SPANS:
            raise InvalidQuantity(f"There is no assumption {name!r}.", hint="Known: " + ", ".join(SPANS),
                                  pointer=f"/ranges/{step_of(name)}")
        if low > high:
            raise InvalidQuantity(f"The range of {name} runs from {low:g} down to {high:g}.", pointer=f"/ranges/{name}")


def _span(read: Read, name: str) -> tuple[float, float]:
    low, high = read.document["ranges"].get(name, SPANS[name])
    return float(low), float(high)


def _demand(read: Read) -> list[Assumption]:
    scenario, (low, high) = read.scenario, _span(read, "demand")
    source = PLANNING
    shares = [load.share for load in read.loads.values() if load.share is not None]
    name = "demand"
    if len(shares) == len(read.loads) == 1 and shares[0]["low"] < shares[0]["high"]:
        given = shares[0]
        low, high = given["low"] / given["in_flight_share"], given["high"] / given["in_flight_share"]
        name, source = "in-flight share of users", given["source"]
    found = [Assumption(name=name, unit="×", base=1.0, low=low, high=high, change=changes.scale_demand, source=source)]
    growth = scenario.workloads[0].demand.growth
    down, up = _span(read, "growth")
    found.append(Assumption(name="growth of demand", unit="1/month", base=growth, low=max(growth + down, LEAST_GROWTH),
                            high=min(growth + up, 1.0), change=changes.set_growth, source=PLANNING))
    least, most = _span(read, "headroom")
    found.append(Assumption(name="headroom", unit="of peak", base=scenario.workloads[0].headroom, low=least, high=most,
                            change=changes.set_headroom, source=PLANNING))
    return found


def _performance(read: Read, plans: list[Plan]) -> list[Assumption]:
    spans: dict[str, tuple[float, float]] = {}
    for plan in plans:
        for name, _ in plan.replicas:
            replica = read.replicas[name]
            if replica.low is not None and replica.high is not None:
                spans.setdefault(replica.sku, (replica.low / replica.load, replica.high / replica.load))

    def scaled(sku: str) -> Change:
        return lambda s, factor: changes.scale_capacity(s, factor, sku)

    return [Assumption(name=f"performance of {sku}", unit="×", base=1.0, low=low, high=high, change=scaled(sku),
                       source="90 % interval of the performance model") for sku, (low, high) in spans.items()]


def _parts(read: Read, offers: list[Offer]) -> list[Assumption]:
    found: dict[str, Assumption] = {}
    for offer in offers:
        capital = offer.capital if isinstance(offer, Commitment) else {}
        for part, usd in {**offer.running, **capital}.items():
            if usd <= 0:
                continue
            shared = part in {"energy", "colocation", "staff", "support"}
            name = {"energy": "power price"}.get(part, part) if shared else f"{part} price of {offer.id}"
            low, high = _span(read, part)
            found[name] = Assumption(name=name, unit="×", base=1.0, low=low, high=high, source=PLANNING,
                                     change=_scaling(part, None if shared else offer.id))
        if not offer.firm:
            name, (down, up) = f"availability of {offer.id}", _span(read, "availability")
            found[name] = Assumption(name=name, unit="of time", base=offer.availability, source=PLANNING,
                                     low=max(offer.availability + down, 0.01), high=min(offer.availability + up, 1.0),
                                     change=_available(offer.id))
    return list(found.values())


def _scaling(part: str, offer: str | None) -> Change:
    where: Callable[[Offer], Any] = (lambda _: True) if offer is None else (lambda o: o.id == offer)
    return lambda s, factor: changes.scale_parts(s, factor, frozenset({part}), where)


def _available(offer: str) -> Change:
    def change(scenario: Scenario, share: float) -> Scenario:
        return replace(scenario, offers=tuple(replace(o, availability=share) if o.id == offer else o
                                              for o in scenario.offers))
    return change
