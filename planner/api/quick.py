"""A short way through the framework for pure questions: `async def ask(body, planner, who)`.

FastAPI resolves dependencies anew at every request, which costs a tenth of a plan. An endpoint of exactly this shape is
called directly with its body validated from the bytes. What is not plainly valid takes the long way, which says what
is wrong; so both ways accept the same questions.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from planner.api.dependencies import caller_of, planner_of

Shortcut = Callable[[Request, bytes], Coroutine[Any, Any, Response | None]]
_SHAPE = {"body", "planner", "who"}
_MOST_BRACKETS = 64
"""More may nest deeper than bodies may; the long way counts."""
_ODD = re.compile(rb"NaN|Infinity|[eE]\+?\d{3}")
"""Numbers that the two JSON readers see differently: no JSON at all, or beyond a double."""


def shortcut_of(route: APIRoute) -> Shortcut | None:
    """Return the direct call of a route's endpoint, or None when its shape needs the framework."""
    endpoint = route.endpoint
    if set(inspect.signature(endpoint).parameters) != _SHAPE or not inspect.iscoroutinefunction(endpoint):
        return None
    form = getattr(getattr(route.body_field, "field_info", None), "annotation", None)
    if not (isinstance(form, type) and issubclass(form, BaseModel)):
        return None
    validate = form.__pydantic_validator__.validate_json

    async def call(request: Request, raw: bytes) -> Response | None:
        if not _plain(raw):
            return None
        try:
            body = validate(raw)
        except ValidationError:
            return None
        answer: Response = await endpoint(body=body, planner=await planner_of(request), who=await caller_of())
        return answer

    return call


def _plain(raw: bytes) -> bool:
    """Tell whether bytes hold nothing that the two JSON readers see differently."""
    return raw.count(b"{") + raw.count(b"[") <= _MOST_BRACKETS and _ODD.search(raw) is None
