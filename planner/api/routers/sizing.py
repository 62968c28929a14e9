"""Sizings, frontiers, splits into pools, drafts and prefix caches."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.concurrency import run_in_threadpool

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.places import Places
from planner.api.routers.jobs import ACCEPTED, accepted
from planner.schemas.frontier import (
    DisaggregationAnswer,
    DisaggregationRequest,
    FrontierAnswer,
    FrontierRequest,
    PrefixAnswer,
    PrefixRequest,
    SpeculationAnswer,
    SpeculationRequest,
)
from planner.schemas.size import SizeAnswer, SizeRequest
from planner.services.formats import deployment_of
from planner.services.frontier.reading import frontier_question
from planner.services.plan.question import PlanQuestion
from planner.services.plan.reading import question_of
from planner.services.pointers import at
from planner.services.sizing.question import MOST_COMBINATIONS
from planner.services.sizing.reading import sizing_question

router = APIRouter(prefix="/v1", tags=["sizing"], route_class=JsonRoute)
_running = Places("sizings", 4)


@router.post("/size", operation_id="size", response_model=SizeAnswer,
             responses={**problems(404, 409, 429, 503), **ACCEPTED})
async def size(body: SizeRequest, planner: Services, who: Who,
               prefer: Annotated[str | None, Header()] = None) -> Response:
    """Answer how many GPUs of which kind carry a demand under an objective, ranked, with the reason why others lost.

    Options are closed forms; the cheapest, the fewest-GPU and the lowest-latency picks are verified by simulation
    (verification: closed_form leaves that out), as far as seconds carry. With Prefer: respond-async, or over more than
    256 combinations of SKU, engine and format, it becomes a job, which verifies them however long that takes.
    """
    question = sizing_question(body.model_dump(), who.workspace)
    if "respond-async" in (prefer or "") or question.combinations() > MOST_COMBINATIONS:
        return accepted(await run_in_threadpool(planner.jobs.submit, "size", body.model_dump(), who))
    with _running.one_of(who.name):
        return json_answer(await run_in_threadpool(
            lambda: planner.sizing.answer(question, steps=planner.settings.sizing_steps)))


@router.post("/frontier", operation_id="frontier", response_model=FrontierAnswer, responses=problems(404, 409))
async def frontier(body: FrontierRequest, planner: Services, who: Who) -> Response:
    """Answer tokens/s per user against tokens/s per GPU over layouts, formats and concurrency, Pareto set marked."""
    question = frontier_question(body.model_dump(), who.workspace)
    return json_answer(await run_in_threadpool(planner.frontiers.answer, question))


@router.post("/disaggregation", operation_id="disaggregation", response_model=DisaggregationAnswer,
             responses=problems(404, 409))
async def disaggregation(body: DisaggregationRequest, planner: Services, who: Who) -> Response:
    """Answer which integer split of GPUs into a prefill and a decode pool carries a rate; unstable ones are marked."""
    question = _base(body, who.workspace)
    prefill = None if body.prefill_deployment is None else deployment_of(body.model_dump(), "prefill_deployment")
    return json_answer(await run_in_threadpool(
        planner.whatifs.disaggregation, question, body.request_rate, body.gpus, prefill,
        (body.transfer_bytes_per_s, body.transfer_latency_s)))


@router.post("/speculation", operation_id="speculation", response_model=SpeculationAnswer, responses=problems(404, 409))
async def speculation(body: SpeculationRequest, planner: Services, who: Who) -> Response:
    """Answer what a draft gains over batch, and the batch at which it stops paying."""
    return json_answer(planner.whatifs.speculation(
        _base(body, who.workspace), body.draft_tokens, body.acceptance, body.accepted_tokens,
        body.draft_step_share))


@router.post("/prefix", operation_id="prefix", response_model=PrefixAnswer, responses=problems(404, 409))
async def prefix(body: PrefixRequest, planner: Services, who: Who) -> Response:
    """Answer what prefix-cache hits save at a rate, and what is left of them behind a router that ignores prefixes."""
    return json_answer(planner.whatifs.prefix(
        _base(body, who.workspace), list(body.hits), body.replicas, body.turns))


def _base(body: DisaggregationRequest | SpeculationRequest | PrefixRequest, workspace: str) -> PlanQuestion:
    """Return the plan that a what-if starts from."""
    with at("/base"):
        return question_of(body.base.model_dump(), workspace)
