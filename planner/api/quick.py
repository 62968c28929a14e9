"""A short way past the framework for pure questions: `async def ask(body, planner, who)`.

FastAPI finds the route and resolves dependencies anew at every request, which costs a tenth of a plan. An endpoint of
exactly this shape is called directly with its body validated from the bytes. What is not plainly valid, or is refused,
takes the long way, which says what is wrong; so both ways give the same answers.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.types import ASGIApp, Receive, Scope, Send

from planner.api.answer_cache import whole_body
from planner.api.dependencies import caller_of, planner_of
from planner.core.errors import PlannerError

Shortcut = Callable[[Request, bytes], Coroutine[Any, Any, Response | None]]
_SHAPE = {"body", "planner", "who"}
_JSON = (b"content-type", b"application/json")
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


class QuickWay:
    """Plain ASGI in front of the framework: answers what plainly is a question, passes on everything else."""

    def __init__(self, app: ASGIApp, routers: Iterable[APIRouter]) -> None:
        self._app = app
        routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]
        self._ways = {(method, route.path): (route, shortcut) for route in routes for method in route.methods or ()
                      if (shortcut := shortcut_of(route))}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request."""
        way = self._ways.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if way is None or scope["query_string"] or _JSON not in scope["headers"]:
            await self._app(scope, receive, send)
            return
        body, rest = await whole_body(receive)
        answer = None if body is None else await _answered(way[1], Request(scope), body)
        if answer is None:
            await self._app(scope, rest, send)
            return
        scope["route"] = way[0]
        await answer(scope, rest, send)


async def _answered(shortcut: Shortcut, request: Request, body: bytes) -> Response | None:
    """Return the answer, or None when the question is refused: the long way tells why."""
    try:
        return await shortcut(request, body)
    except PlannerError:
        return None


def _plain(raw: bytes) -> bool:
    """Tell whether bytes hold nothing that the two JSON readers see differently."""
    return raw.count(b"{") + raw.count(b"[") <= _MOST_BRACKETS and _ODD.search(raw) is None
