"""Sweeps: a plan question over axes, answered in columns at once or as a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Annotated

from fastapi import APIRouter, Header, Request, Response
from fastapi.concurrency import run_in_threadpool

from planner.api.arrow import MEDIA_TYPE, stream
from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.problems import Busy
from planner.api.routers.jobs import ACCEPTED, accepted
from planner.schemas.sweep import SweepAnswer, SweepRequest
from planner.services.sweep.axes import read_axes
from planner.services.sweep.output import as_document, flat

router = APIRouter(prefix="/v1", tags=["sweep"], route_class=JsonRoute)

JSON_POINTS, ARROW_POINTS, JOB_POINTS = 100_000, 2_000_000, 5_000_000
"""Points answered as JSON, as Arrow, and by a job [1]."""
AT_ONCE = 2
"""Sweeps one caller may have running [1]."""
_running: Counter[str] = Counter()


@router.post("/sweep", operation_id="sweep", response_model=SweepAnswer, responses={
    **problems(404, 409, 429, 503), **ACCEPTED,
    200: {"content": {MEDIA_TYPE: {}}, "model": SweepAnswer}})
async def sweep(body: SweepRequest, request: Request, planner: Services, who: Who,
                prefer: Annotated[str | None, Header()] = None) -> Response:
    """Answer a plan question over the product of axes.

    JSON up to 100,000 points; Arrow (Accept: application/vnd.apache.arrow.stream) up to 2,000,000; more become a job,
    as does any sweep asked with Prefer: respond-async.
    """
    arrow = MEDIA_TYPE in request.headers.get("accept", "")
    axes = read_axes(body.axes, JOB_POINTS)
    points = prod(len(axis.values) for axis in axes)
    if points > (ARROW_POINTS if arrow else JSON_POINTS) or "respond-async" in (prefer or ""):
        return accepted(await run_in_threadpool(planner.jobs.submit, "sweep", body.model_dump(), who))
    with _one_of(who.name):
        columns = await run_in_threadpool(planner.sweeps.columns, body.base, axes, body.metrics, who.workspace)
        if arrow:
            return Response(await run_in_threadpool(lambda: stream(flat(columns))), media_type=MEDIA_TYPE)
        return json_answer(await run_in_threadpool(as_document, columns))


@contextmanager
def _one_of(caller: str) -> Iterator[None]:
    """Hold one of the caller's places."""
    if _running[caller] >= AT_ONCE:
        raise Busy(f"You already have {AT_ONCE} sweeps running.", hint="Wait for one, or submit jobs.")
    _running[caller] += 1
    try:
        yield
    finally:
        _running[caller] -= 1
