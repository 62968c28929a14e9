"""Demand as people state it, turned into hourly load; people, requests in flight and requests per second kept apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.core.fleet.demand import Demand, cosine_day, scaled_to_mean, weekly
from planner.core.fleet.sizing import CHAT_SHARE, in_flight_of_users, rate_of_users
from planner.core.fleet.terms import rate_of_tokens
from planner.core.quantities.arrays import Array
from planner.services.procurement.replicas import IN_FLIGHT, RATE

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Hourly load in its unit, with what was assumed to get there."""

    demand: Demand
    unit: str
    notes: tuple[str, ...] = ()
    share: Fields | None = None
    """The in-flight share of a head count, when one was assumed."""


def unit_of(demand: Fields) -> str:
    """What a demand counts: requests in flight for head counts without a request rate, else requests per second."""
    by_share = demand.get("users") is not None and demand.get("requests_per_user_hour") is None
    return IN_FLIGHT if demand.get("in_flight") is not None or by_share else RATE


def load_of(name: str, demand: Fields, tokens_per_request: float) -> Load:
    """The hourly load of one workload."""
    unit, growth = unit_of(demand), demand["growth_per_month"]
    if demand.get("hourly") is not None:
        hourly = np.asarray(demand["hourly"], dtype=np.float64)
        return Load(unit=unit, demand=Demand(hourly=hourly, growth=growth, covers_horizon=demand["covers_horizon"]))
    shape = _shape(demand)
    notes: list[str] = []
    if demand.get("tokens_per_month") is not None:
        mean = rate_of_tokens(demand["tokens_per_month"], tokens_per_request)
        hourly = scaled_to_mean(np.ones(1) if shape is None else shape, mean)
        if shape is None:
            notes.append(f"{name}: tokens are spread evenly over the month (peak to mean 1); give demand.peak_to_mean "
                         "or a daily_shape for a busier day.")
        return Load(unit=unit, demand=Demand(hourly=hourly, growth=growth), notes=tuple(notes))
    peak, share = _peak(name, demand, notes)
    hourly = np.array([peak]) if shape is None else peak * shape
    if shape is None:
        notes.append(f"{name}: every hour is sized and paid as the busiest; give demand.peak_to_mean or a daily_shape "
                     "for a real day.")
    return Load(unit=unit, demand=Demand(hourly=hourly, growth=growth), notes=tuple(notes), share=share)


def _peak(name: str, demand: Fields, notes: list[str]) -> tuple[float, Fields | None]:
    for key in ("request_rate", "in_flight"):
        if demand.get(key) is not None:
            return float(demand[key]), None
    users = float(demand["users"])
    if demand.get("requests_per_user_hour") is not None:
        notes.append(f"{name}: {users:g} users sending {demand['requests_per_user_hour']:g} requests an hour each.")
        return rate_of_users(users, demand["requests_per_user_hour"]), None
    given = demand.get("in_flight_share")
    share = CHAT_SHARE.value if given is None else float(given)
    source = CHAT_SHARE.source if given is None else "given in the scenario"
    notes.append(f"{name}: {users:g} users (people) at an in-flight share of {share:g} are "
                 f"{in_flight_of_users(users, share):g} requests in flight. Source of the share: {source}.")
    low, high = (CHAT_SHARE.low, CHAT_SHARE.high) if given is None else (share, share)
    return in_flight_of_users(users, share), {
        "users": users, "in_flight_share": share, "low": low, "high": high, "source": source,
        "in_flight": in_flight_of_users(users, share), "in_flight_low": in_flight_of_users(users, low),
        "in_flight_high": in_flight_of_users(users, high)}


def _shape(demand: Fields) -> Array | None:
    """A week relative to its busiest hour; None where the demand names no shape."""
    day, week = demand.get("daily_shape"), demand.get("weekly_shape")
    if demand.get("peak_to_mean") is not None:
        day = cosine_day(demand["peak_to_mean"]).tolist()
    if day is None and week is None:
        return None
    return weekly(1.0, day or [1.0] * 24, week or [1.0] * 7)
