"""Plans and comparisons."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.problems import invalid
from planner.core.errors import PlannerError
from planner.schemas.plan import CompareAnswer, CompareRequest, PlanAnswer, PlanRequest
from planner.schemas.sentences import field_errors
from planner.services.plan.reading import SHORT, document_of, question_of
from planner.services.pointers import at
from planner.services.refusals import told

router = APIRouter(prefix="/v1", tags=["plan"], route_class=JsonRoute)

_PARAMETERS: list[dict[str, Any]] = [
    {"name": name, "in": "query", "required": name in {"model", "sku"}, "schema": {"type": "string"},
     "description": f"The field {field[0]}."} for name, field in SHORT.items()]


@router.post("/plan", operation_id="plan", response_model=PlanAnswer, responses=problems(404, 409))
async def plan(body: PlanRequest, planner: Services, who: Who) -> Response:
    """Answer what one replica of a model on a SKU does: memory, speed, limits, cost, and what would help.

    "Does not fit" is an answer (fit.fits is false); a malformed question is 422, an unknown name 404, a missing
    fact 422.
    """
    return json_answer(planner.plans.answer(question_of(body.document(), who.workspace)))


@router.get("/plan", operation_id="plan_by_link", response_model=PlanAnswer, responses=problems(404, 409),
            openapi_extra={"parameters": _PARAMETERS})
async def plan_by_link(request: Request, planner: Services, who: Who) -> Response:
    """Answer the same question as a shareable link, with short names; context=8k means 8192 tokens."""
    with at("/query"):
        document = document_of(dict(request.query_params))
    try:
        body = PlanRequest.model_validate(document)
    except ValidationError as error:
        findings = [{**finding, "loc": ("body", *finding["loc"])} for finding in error.errors()]
        errors = [{**one, "pointer": _of_link(one["pointer"])} for one in field_errors(findings, document, PlanRequest)]
        return invalid(request.url.path, errors)
    try:
        return json_answer(planner.plans.answer(question_of(body.document(), who.workspace)))
    except PlannerError as refusal:
        refusal.pointer = None if refusal.pointer is None else _of_link(refusal.pointer)
        raise


def _of_link(pointer: str) -> str:
    """Return the parameter of a link that a field of the plan was read from."""
    return next((f"/query/{name}" for name, (path, _) in SHORT.items() if pointer == "/" + path.replace(".", "/")),
                f"/query{pointer}")


@router.post("/compare", operation_id="compare", response_model=CompareAnswer, responses=problems())
async def compare(body: CompareRequest, planner: Services, who: Who) -> Response:
    """Answer several plans side by side; one that is refused carries its reason in place of an answer."""
    return json_answer({"plans": [_or_reason(planner, one, who.workspace, f"/plans/{place}")
                                   for place, one in enumerate(body.plans)]})


def _or_reason(planner: Services, body: PlanRequest, workspace: str, pointer: str) -> dict[str, Any]:
    try:
        with at(pointer):
            return planner.plans.answer(question_of(body.document(), workspace))
    except PlannerError as error:
        return {"model": body.model, "sku": body.sku, "refused": told(error)}


