"""What handlers ask for: the services, and who is calling."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Depends, Request, Response

from planner.bootstrap import Planner
from planner.schemas.problems import Problem
from planner.services.ports import Caller

PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_WHY = {
    404: "No entry of that name; candidates lists the closest.", 409: "Ambiguous, taken or built in.",
    412: "Changed since it was read.", 413: "The body is too large.", 415: "The body is not JSON.",
    421: "Not a host this service answers to.", 422: "Malformed, out of range, or a fact is missing.",
    428: "If-Match is required.", 429: "Too much at once.", 503: "The database does not answer.",
}


async def planner_of(request: Request) -> Planner:
    """Return the services of this application."""
    planner: Planner = request.app.state.planner
    return planner


async def caller_of() -> Caller:
    """Return who asks: until keys exist, the one user of this machine."""
    return Caller()


Services = Annotated[Planner, Depends(planner_of)]
Who = Annotated[Caller, Depends(caller_of)]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the refusals an endpoint may give; 421 and 422 always may happen."""
    return {status: {"description": _WHY[status], "content": PROBLEM} for status in sorted({*statuses, 421, 422})}


def json_answer(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return JSON without validating it again: numbers of numpy included, non-finite ones as null."""
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), status_code=status,
                    media_type="application/json", headers=headers)


__all__ = ["PROBLEM", "Problem", "Services", "Who", "caller_of", "json_answer", "planner_of", "problems"]
