"""How good predictions are: on the published rows, on a caller's own, and after learning from a few of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from planner.api.bodies import JsonRoute, parse_json
from planner.api.conditional import etag
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.idempotency import REPLAYED, IdempotencyKey
from planner.api.places import Places
from planner.api.problems import NotJson
from planner.api.routers.jobs import ACCEPTED, accepted
from planner.api.routers.resources import checked, shown
from planner.schemas.accuracy import (
    AccuracyAnswer,
    FromRowsRequest,
    LearntAnswer,
    ValidateRequest,
    ValidationAnswer,
)
from planner.schemas.base import NO_NUL
from planner.services.accuracy.files import Record, checked_rows, csv_records, json_records
from planner.services.accuracy.validating import AT_ONCE_ROWS, packed
from planner.services.pointers import at

router = APIRouter(prefix="/v1", tags=["accuracy"], route_class=JsonRoute)
_CSV, _JSON = "text/csv", "application/json"
_running = Places("validations", 2)


def _body(form: type[ValidateRequest]) -> dict[str, Any]:
    schema = form.model_json_schema(ref_template="#/components/schemas/{model}")
    return {"requestBody": {"required": True, "content": {
        _JSON: {"schema": schema}, _CSV: {"schema": {"type": "string"}}}}}


@router.get("/accuracy", operation_id="accuracy", response_model=AccuracyAnswer, responses=problems(503))
def accuracy(planner: Services) -> Response:
    """Return the published report: errors by engine, GPU, family, format and load, beside the noise of measuring."""
    return json_answer(planner.accuracy_report())


@router.post("/validate", operation_id="validate", response_model=ValidationAnswer,
             openapi_extra=_body(ValidateRequest),
             responses={**problems(404, 413, 415, 429, 503), **ACCEPTED})
async def validate(request: Request, planner: Services, who: Who,
                   detail: Annotated[Literal["rows"] | None, Query(description="rows: each row's prediction.")] = None,
                   learn: Annotated[int, Query(ge=0, le=5, description="Learn from so many rows of each group.")] = 0,
                   calibration: Annotated[str, Query(min_length=1, max_length=200, pattern=NO_NUL)] = "auto",
                   prefer: Annotated[str | None, Header()] = None) -> Response:
    """Score predictions against measured runs: text/csv as it is, or JSON {"rows": [...]}; either header is known.

    Up to 2,000 rows are answered at once; longer files, or Prefer: respond-async, become a job.
    """
    records = await run_in_threadpool(_records, request, await request.body())
    if calibration not in ("auto", "ideal"):
        await run_in_threadpool(planner.resources.get, "calibration", who, calibration)
    if len(records) > AT_ONCE_ROWS or "respond-async" in (prefer or ""):
        question = {"rows_zlib": await run_in_threadpool(packed, records), "detail": detail == "rows", "learn": learn,
                    "calibration": calibration}
        return accepted(await run_in_threadpool(planner.jobs.submit, "validation", question, who))
    with _running.one_of(who.name):
        return json_answer(await run_in_threadpool(
            lambda: planner.validations.answer(checked_rows(records), calibration=calibration,
                                               detail=detail == "rows", learn=learn)))


def _records(request: Request, raw: bytes) -> list[Record]:
    """The rows of a body in either form."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise NotJson(f"The body is encoded as {encoding}; send it without Content-Encoding.")
    if kind == _CSV:
        return csv_records(raw)
    if kind != _JSON:
        raise NotJson(f"The body is declared as {kind or 'nothing'}; this address reads text/csv and application/json.")
    body = checked(ValidateRequest, parse_json(raw))
    with at("/rows"):
        return json_records(body.rows if isinstance(body, ValidateRequest) else ())


@router.post("/calibrations/from-rows", operation_id="calibrate_from_rows", status_code=201,
             response_model=LearntAnswer, responses=problems(404, 409, 413, 415, 503))
def from_rows(body: FromRowsRequest, planner: Services, who: Who, key: IdempotencyKey = None) -> Response:
    """Learn from one to five own runs of a deployment; plans apply the correction when they name its id.

    The rows move the prediction towards what was measured, less the fewer they are, and narrow its interval.
    """
    with at("/rows"):
        learnt = planner.own_rows.learn(checked_rows(json_records(body.rows)))
    given = {"id": body.id, "name": body.name, "notes": body.notes}
    document = {**{name: value for name, value in given.items() if value is not None}, **learnt.document}
    made = planner.resources.create("calibration", who, document, key)
    headers = {"ETag": etag(made.entry.version), "Location": f"/v1/calibrations/{made.entry.id}"}
    answer = {"calibration": shown(planner, made.entry, who.workspace), "factor": learnt.factor,
              "factor_interval": learnt.factor_interval,
              "measured_over_corrected_interval": learnt.factor_interval, "rows": learnt.rows,
              "warnings": learnt.warnings}
    return json_answer(answer, 201, headers | (REPLAYED if made.replayed else {}))
