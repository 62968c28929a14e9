"""Reading JSON bodies: declared as JSON, bounded in depth, finite numbers only."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from planner.api.problems import Malformed, NotJson

MAX_DEPTH = 64
"""Levels of nesting read; config.json files have fewer than ten."""
_JSON_TYPE = re.compile(r"application/([\w.+-]+\+)?json\s*(;.*)?", re.IGNORECASE)


def parse_json(raw: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a JSON document, or refuse it in one sentence that says where and why."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Malformed(_why(raw, error), pointer="") from None
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise Malformed(f"The body nests more than {MAX_DEPTH} levels deep.", pointer="",
                        hint="No question needs that; send a flat object.")
    return value


def _why(raw: bytes, error: orjson.JSONDecodeError) -> str:
    here = raw[error.pos:error.pos + 9].decode("utf-8", "replace").lstrip("-")
    if here.startswith(("NaN", "Infinity")):
        return f"The body has {here.split(',')[0].split('}')[0]} at character {error.pos}, which is not JSON: use null."
    if "recursion" in error.msg:
        return f"The body nests more than {MAX_DEPTH} levels deep."
    return f"The body is not valid JSON: {error.msg}."


def _deeper(value: Any, limit: int) -> bool:  # noqa: ANN401 - any JSON value
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for one in inner if isinstance(one, dict | list)]


class JsonRequest(Request):
    """A request whose JSON is read by the rules above."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Return the parsed body."""
        if not hasattr(self, "_json"):
            self._json = parse_json(await self.body())
        return self._json


class JsonRoute(APIRoute):
    """A route whose body must be declared as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap FastAPI's handler."""
        handler = super().get_route_handler()
        if self.body_field is None:
            return handler

        async def checked(request: Request) -> Response:
            require_json(request)
            read = JsonRequest(request.scope, request.receive)
            if await read.body():
                await read.json()  # here, because FastAPI would turn our refusal into a bare 400
            return await handler(read)

        return checked


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON."""
    headers = request.headers
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    kind = headers.get("content-type", "")
    if not (empty or _JSON_TYPE.fullmatch(kind.strip())):
        raise NotJson(f"The body is declared as {kind or 'nothing'}, and this address reads JSON.",
                      hint="Send the header Content-Type: application/json.")
