"""Questions in plain words, read and answered without a language model."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.concurrency import run_in_threadpool

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, Who, json_answer, problems
from planner.api.places import Places
from planner.schemas.ask import AskAnswer, AskRequest
from planner.schemas.parse import ParseAnswer, ParseRequest
from planner.services.questions.asking import ask

router = APIRouter(prefix="/v1", tags=["parse"], route_class=JsonRoute)
_running = Places("questions", 4)


@router.post("/parse", operation_id="parse", response_model=ParseAnswer, responses=problems())
async def parse(body: ParseRequest, planner: Services) -> Response:
    """Read a question in plain words into a request: what it states, what must be asked, and what a name can mean.

    Give the earlier answer of a thread as `context`: edits accumulate, and what is not mentioned is kept.
    """
    return json_answer(planner.grammar.read(body.text, body.context).document())


@router.post("/ask", operation_id="ask", response_model=AskAnswer, responses=problems(404, 409, 429))
async def answer(body: AskRequest, planner: Services, who: Who) -> Response:
    """Answer a question in plain words, as the Slack bot does: a verdict, figures with intervals, what was assumed.

    A question that lacks the model or the GPU is refused as a missing fact; give the `context` of an answer with a
    follow-up.
    """
    with _running.one_of(who.name):
        return json_answer(await run_in_threadpool(
            ask, planner.grammar, planner.answering, body.text, body.context, who.workspace))
