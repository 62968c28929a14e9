"""Simulations, as jobs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, problems
from planner.api.routers.jobs import ACCEPTED, accepted
from planner.schemas.jobs import JobAnswer
from planner.schemas.simulate import SimulationRequest
from planner.services.ports import Job
from planner.services.simulation.question import simulation_question

router = APIRouter(prefix="/v1", tags=["simulations"], route_class=JsonRoute)


@router.post("/simulations", operation_id="simulate", status_code=202, response_model=JobAnswer,
             responses={**problems(404, 409, 503), **ACCEPTED})
async def simulate(body: SimulationRequest, planner: Services, who: Who,
                   key: Annotated[str | None, Header(alias="Idempotency-Key", max_length=200)] = None) -> Response:
    """Play a load through replicas of a plan's deployment; follow it at /v1/jobs/{id}/events.

    The result has percentiles of TTFT, TPOT, ITL and E2E with intervals, goodput, queue, cache occupancy,
    preemptions and time series, beside what the closed form says.
    """
    document = body.model_dump()

    def submit() -> Job:
        planner.simulations.check(simulation_question(document, who.workspace))
        return planner.jobs.submit("simulation", document, who, key)

    return accepted(await run_in_threadpool(submit))
