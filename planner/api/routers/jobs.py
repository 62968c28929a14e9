"""Long questions: follow, fetch, cancel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Path, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.links import JOB_LINKS
from planner.api.pagination import Cursor, Limit, decode, encode
from planner.bootstrap import Planner
from planner.schemas.jobs import JobAnswer, JobPage, State
from planner.services.jobs import shown
from planner.services.ports import Caller, Job, JobEvent

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=JsonRoute)

EVENT: dict[str, Any] = {
    "type": "object", "description": "One event of the stream: what happened, and JSON about it in data.",
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}}}
INLINE_LIMIT = 1_000_000
"""Longer JSON results are fetched apart [byte]."""
LOOK_S = 0.3
"""Between looks for new events [s]."""
ALIVE_S = 15.0
"""Between comments that keep an idle stream open [s]."""
JobId = Annotated[str, Path(max_length=100)]


ACCEPTED: dict[int | str, dict[str, Any]] = {202: {"description": "Too long to wait for, or asked with Prefer: "
                                                                  "respond-async: a job.", "model": JobAnswer,
                                                   "links": JOB_LINKS}}
"""What an endpoint documents that may answer with a job."""


def accepted(job: Job) -> Response:
    """Return the 202 of a question that became a job."""
    return json_answer({**shown(job), "result": None, "result_url": None}, 202, {"Location": f"/v1/jobs/{job.id}"})


@router.get("", operation_id="list_jobs", response_model=JobPage, responses=problems(503))
def list_jobs(planner: Services, who: Who, state: Annotated[State | None, Query()] = None, limit: Limit = 50,
              cursor: Cursor = None) -> Response:
    """List jobs, newest first."""
    jobs = planner.jobs.page(who, state=state, before=decode(cursor), limit=limit)
    following = encode(jobs[limit - 1].id) if len(jobs) > limit else None
    return json_answer({"items": [_with_url(job) for job in jobs[:limit]], "next_cursor": following})


@router.get("/{id}", operation_id="get_job", response_model=JobAnswer, responses=problems(404, 503))
def get_job(planner: Services, who: Who, id: JobId) -> Response:
    """Return where a job stands and, once it has succeeded, its result."""
    job = planner.jobs.get(id, who)
    body = _with_url(job)
    if job.result_type == "application/json":
        content = planner.jobs.result(id, who)[1]
        body["result"] = orjson.Fragment(content) if len(content) <= INLINE_LIMIT else None
    return json_answer(body)


@router.get("/{id}/result", operation_id="get_job_result", responses=problems(404, 503))
def get_result(planner: Services, who: Who, id: JobId) -> Response:
    """Return a job's result as it was stored: JSON, or an Arrow stream."""
    job, content = planner.jobs.result(id, who)
    return Response(content, media_type=job.result_type)


@router.get("/{id}/events", operation_id="follow_job", response_class=StreamingResponse,
            responses={200: {"content": {"text/event-stream": {"schema": EVENT}}}, **problems(404, 503)})
async def follow(planner: Services, who: Who, id: JobId,
                 last: Annotated[int, Header(alias="Last-Event-ID", ge=0, le=2**62)] = 0,
                 wait_s: Annotated[float, Query(ge=0, le=86_400)] = 3600.0) -> Response:
    """Follow a job as server-sent events; after a broken connection, Last-Event-ID resumes where it ended."""
    await run_in_threadpool(planner.jobs.get, id, who)
    return StreamingResponse(_events(planner, who, id, last, wait_s), media_type="text/event-stream",
                             headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})


@router.delete("/{id}", operation_id="cancel_job", response_model=JobAnswer, responses=problems(404, 409, 503))
def cancel(planner: Services, who: Who, id: JobId) -> Response:
    """Cancel a job: at once while it waits, within two seconds while it runs."""
    return json_answer(_with_url(planner.jobs.cancel(id, who)))


async def _events(planner: Planner, who: Caller, job_id: str, last: int, wait_s: float) -> AsyncIterator[bytes]:
    """Yield each event once, until the job is over or the wait is up."""
    yield b"retry: 1000\n\n"
    deadline, spoke = time.monotonic() + wait_s, time.monotonic()
    while True:
        found, over = await run_in_threadpool(planner.jobs.events, job_id, who, after=last)
        if found:
            yield _frames(found)
            last, spoke = found[-1].sequence, time.monotonic()
            continue
        if over or time.monotonic() >= deadline:
            return
        if time.monotonic() - spoke > ALIVE_S:
            yield b": still here\n\n"
            spoke = time.monotonic()
        await asyncio.sleep(LOOK_S)


def _frames(events: Sequence[JobEvent]) -> bytes:
    return b"".join(b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.sequence, event.kind.encode(), orjson.dumps({**event.data, "at": event.at})) for event in events)


def _with_url(job: Job) -> dict[str, Any]:
    url = f"/v1/jobs/{job.id}/result" if job.result_type else None
    return {**shown(job), "result": None, "result_url": url}
