"""Procurement: what-ifs over plain ways to buy and rent, and the fleet optimiser."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.places import Places
from planner.api.routers.jobs import ACCEPTED, accepted
from planner.core.errors import DomainError
from planner.schemas.procurement import FleetAnswer, FleetRequest, WhatIfAnswer, WhatIfRequest
from planner.schemas.scenario import ScenarioQuestion
from planner.services.pointers import at

router = APIRouter(prefix="/v1", tags=["procurement"], route_class=JsonRoute)
_running = Places("procurement questions", 4)
_Prefer = Annotated[str | None, Header()]


@router.post("/whatif", operation_id="whatif", response_model=WhatIfAnswer,
             responses={**problems(404, 409, 429, 503), **ACCEPTED})
async def whatif(body: WhatIfRequest, planner: Services, who: Who, prefer: _Prefer = None) -> Response:
    """Rank every plain way to serve a scenario: each SKU rented, reserved, bought, owned at the base; or an API.

    Says why the others lost, what the best one buys and runs in every period, when buying pays, what breaks first, what
    moves the answer most, and what the question lacks. Money is USD; loads are totals unless called per replica.
    With Prefer: respond-async it becomes a job.
    """
    def asked() -> dict[str, Any]:
        against = None if body.against is None else named(body.against, planner, who.workspace, "/against")
        return {"scenario": named(body.scenario, planner, who.workspace), "against": against,
                "sensitivity": body.sensitivity, "uncertainty": body.uncertainty}

    question = await run_in_threadpool(asked)
    if "respond-async" in (prefer or ""):
        return accepted(await run_in_threadpool(planner.jobs.submit, "whatif", question, who))
    with _running.one_of(who.name), at("/scenario", beside=("/against",)):
        return json_answer(await run_in_threadpool(lambda: planner.procurements.answer(
            question["scenario"], against=question["against"], sensitive=body.sensitivity, uncertain=body.uncertainty,
            workspace=who.workspace)))


@router.post("/fleet", operation_id="fleet", response_model=FleetAnswer,
             responses={**problems(404, 409, 429, 503), **ACCEPTED})
async def fleet(body: FleetRequest, planner: Services, who: Who, prefer: _Prefer = None) -> Response:
    """Find the cheapest mix of SKUs, layouts, formats and terms per period, with its lower bound and gap.

    Limits that cannot be kept together are an answer: status is infeasible and conflict names a minimal set of them.
    With Prefer: respond-async, or a time limit beyond what the service lets a caller wait (8 s), it becomes a job.
    """
    document = await run_in_threadpool(named, body.scenario, planner, who.workspace)
    most = planner.settings.fleet_seconds
    if "respond-async" in (prefer or "") or (body.time_limit_s or 0.0) > most:
        question = {"scenario": document, "gap": body.gap, "time_limit_s": body.time_limit_s}
        return accepted(await run_in_threadpool(planner.jobs.submit, "fleet", question, who))
    with _running.one_of(who.name), at("/scenario"):
        return json_answer(await run_in_threadpool(lambda: planner.fleets.answer(
            document, gap=body.gap, time_limit_s=body.time_limit_s or most, workspace=who.workspace)))


def _checked(entry_id: str, document: object, pointer: str) -> ScenarioQuestion:
    """Return a stored scenario, or refuse it by the first field at fault."""
    try:
        return ScenarioQuestion.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(step) for step in first["loc"])
        raise DomainError(f"The stored scenario {entry_id} is malformed: {field}: {first['msg']}.",
                          pointer=pointer) from None


def named(scenario: ScenarioQuestion | str, planner: Services, workspace: str,
          pointer: str = "/scenario") -> dict[str, Any]:
    """Return the complete document of a scenario given by value, or of a stored what-if or fleet question."""
    seen: list[str] = []
    while isinstance(scenario, str):
        with at(pointer, instead_of="/scenario"):
            entry = planner.catalog.entry("scenario", scenario, workspace)
        if entry.id in seen:
            circle = " → ".join([*seen, entry.id])
            raise DomainError(f"The stored scenarios refer to each other in a circle: {circle}.", pointer=pointer)
        seen.append(entry.id)
        document = entry.document
        if document.get("question") not in {"whatif", "fleet"}:
            raise DomainError(f"The stored scenario {entry.id} asks a {document.get('question')}, not a what-if or "
                              "fleet.", pointer=pointer)
        inner = document["request"].get("scenario")
        scenario = inner if isinstance(inner, str) else _checked(entry.id, inner, pointer)
    return scenario.model_dump()
