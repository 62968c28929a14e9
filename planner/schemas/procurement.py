"""What-if and fleet questions over a scenario, and the outline of their answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from planner.schemas.base import Answer, Name, Question
from planner.schemas.scenario import ScenarioQuestion


def _by_type(value: object) -> str:
    """Return which reading of a scenario applies: a text is the name of a stored one."""
    return "Name" if isinstance(value, str) else "ScenarioQuestion"


ScenarioOrName = Annotated[Annotated[ScenarioQuestion, Tag("ScenarioQuestion")] | Annotated[Name, Tag("Name")],
                           Discriminator(_by_type)]


EXAMPLE: dict[str, Any] = {
    "name": "assistant", "currency": "USD", "as_of": "2026-11-29", "horizon_months": 24, "months_per_period": 3,
    "cost_of_capital": 0.08,
    "workloads": [{"id": "chat", "model": "llama-3.1-8b", "input_tokens": 2000, "output_tokens": 400,
                   "slo": {"tpot_s": 0.03}, "spare_replicas": 1,
                   "demand": {"request_rate": 20, "growth_per_month": 0.03, "peak_to_mean": 1.6}}],
    "candidates": {"skus": ["h100-sxm-80gb", "l40s-48gb"]},
    "prices": [{"sku": "l40s-48gb", "kind": "purchase", "site": "own", "card_price": 8500, "server_price": 14000,
                "life_months": 48, "residual_fraction": 0.15, "date": "2026-11", "source": "planning figure"}],
    "sites": [{"id": "own", "power_price_per_kwh": 0.1, "pue": 1.3}],
}


class WhatIfRequest(Question):
    """A scenario, by value or by the name it is stored under, and what to work out beside the ranking."""

    scenario: ScenarioOrName
    against: ScenarioOrName | None = Field(None, description="Another scenario to compare with.")
    sensitivity: bool = True
    uncertainty: bool = True

    model_config = Question.model_config | {"json_schema_extra": {"examples": [{"scenario": EXAMPLE}]}}


class FleetRequest(Question):
    """A scenario, by value or by name, for the optimiser."""

    scenario: ScenarioOrName
    gap: Annotated[float, Field(ge=0, le=0.5, description="Stop this close to the best [1].")] = 0.005
    time_limit_s: Annotated[float, Field(gt=0, le=60)] | None = Field(
        None, description="Stop after so long with the best fleet so far [s]. Null: as long as the service lets a "
                          "caller wait, 8 s; a minute as a job. Longer than that becomes a job.")

    model_config = Question.model_config | {"json_schema_extra": {"examples": [{"scenario": EXAMPLE, "gap": 0.01}]}}


class WhatIfAnswer(Answer):
    """Options ranked by present value, the fleet of the best, what moves it, and what is missing."""

    name: str
    currency: str = Field(description="Of every sum in the answer: USD.")
    price_currency: str = Field(description="Of the scenario's prices that name no other.")
    currency_note: str | None = Field(description="What was converted at which rate; null where all is in USD.")
    best: str | None
    options: list[dict[str, Any]]
    missing: list[dict[str, Any]]
    assumptions: list[str]
    warnings: list[str]


class FleetAnswer(Answer):
    """The cheapest fleet with its lower bound, or the constraints that cannot be kept together."""

    name: str
    currency: str = Field(description="Of every sum in the answer: USD.")
    price_currency: str = Field(description="Of the scenario's prices that name no other.")
    currency_note: str | None = Field(description="What was converted at which rate; null where all is in USD.")
    status: str
    lower_bound: float | None
    gap: float | None
    conflict: list[str]
    plan: dict[str, Any] | None
