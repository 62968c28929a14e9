"""Questions in plain words, read without a language model."""

from __future__ import annotations

from fastapi import APIRouter, Response

from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, json_answer, problems
from planner.schemas.parse import ParseAnswer, ParseRequest

router = APIRouter(prefix="/v1", tags=["parse"], route_class=JsonRoute)


@router.post("/parse", operation_id="parse", response_model=ParseAnswer, responses=problems())
async def parse(body: ParseRequest, planner: Services) -> Response:
    """Read a question in plain words into a request: what it states, what must be asked, and what a name can mean.

    Give the earlier answer of a thread as `context`: edits accumulate, and what is not mentioned is kept.
    """
    return json_answer(planner.grammar.read(body.text, body.context).document())
