"""Procurement: what-ifs over plain ways to buy and rent, and the fleet optimiser."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import ValidationError

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.core.errors import DomainError
from planner.schemas.procurement import FleetAnswer, FleetRequest, WhatIfAnswer, WhatIfRequest
from planner.schemas.scenario import ScenarioQuestion

router = APIRouter(prefix="/v1", tags=["procurement"], route_class=JsonRoute)


@router.post("/whatif", operation_id="whatif", response_model=WhatIfAnswer, responses=problems(404, 409))
def whatif(body: WhatIfRequest, planner: Services, who: Who) -> Response:
    """Rank every plain way to serve a scenario: each SKU rented, reserved, bought, owned at the base; or an API.

    Says why the others lost, what the best one buys and runs in every period, when buying pays, what breaks first, what
    moves the answer most, and what the question lacks. Money is USD; loads are totals unless called per replica.
    """
    against = None if body.against is None else named(body.against, planner, who.workspace)
    return json_answer(planner.procurements.answer(
        named(body.scenario, planner, who.workspace), against=against, sensitive=body.sensitivity,
        uncertain=body.uncertainty, workspace=who.workspace))


@router.post("/fleet", operation_id="fleet", response_model=FleetAnswer, responses=problems(404, 409))
def fleet(body: FleetRequest, planner: Services, who: Who) -> Response:
    """Find the cheapest mix of SKUs, layouts, formats and terms per period, with its lower bound and gap.

    Limits that cannot be kept together are an answer: status is infeasible and conflict names a minimal set of them.
    """
    return json_answer(planner.fleets.answer(named(body.scenario, planner, who.workspace), gap=body.gap,
                                             time_limit_s=body.time_limit_s, workspace=who.workspace))


def _checked(entry_id: str, document: object) -> ScenarioQuestion:
    """Return a stored scenario, or refuse it by the first field at fault."""
    try:
        return ScenarioQuestion.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise DomainError(f"The stored scenario {entry_id} is malformed: {field}: {first['msg']}.",
                          pointer="/scenario") from None


def named(scenario: ScenarioQuestion | str, planner: Services, workspace: str) -> dict[str, Any]:
    """Return the complete document of a scenario given by value, or of a stored what-if or fleet question."""
    seen: list[str] = []
    while isinstance(scenario, str):
        entry = planner.catalog.entry("scenario", scenario, workspace)
        if entry.id in seen:
            circle = " → ".join([*seen, entry.id])
            raise DomainError(f"The stored scenarios refer to each other in a circle: {circle}.", pointer="/scenario")
        seen.append(entry.id)
        document = entry.document
        if document.get("question") not in {"whatif", "fleet"}:
            raise DomainError(f"The stored scenario {entry.id} asks a {document.get('question')}, not a what-if or "
                              "fleet.", pointer="/scenario")
        inner = document["request"].get("scenario")
        scenario = inner if isinstance(inner, str) else _checked(entry.id, inner)
    return scenario.model_dump()
