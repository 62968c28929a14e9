"""Reading JSON bodies: declared as JSON, bounded in depth, finite numbers only."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from planner.api.problems import Malformed, NotJson
from planner.api.quick import shortcut_of

MAX_DEPTH = 64
"""Levels of nesting read; config.json files have fewer than ten."""
_SHOWN = 40
"""Characters of a value that a sentence repeats."""
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
    if "depth" in error.msg:
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
        known, has_body, shortcut = _query_names(self), self.body_field is not None, shortcut_of(self)

        async def checked(request: Request) -> Response:
            if request.scope["query_string"]:
                require_known(request, known)
            if not has_body:
                return await handler(request)
            require_json(request)
            read = JsonRequest(request.scope, request.receive)
            raw = await read.body()
            if shortcut is not None and (answer := await shortcut(request, raw)) is not None:
                return answer
            if raw:
                await read.json()  # here, because FastAPI would turn our refusal into a bare 400
            return await handler(read)

        return checked


def _query_names(route: APIRoute) -> list[str]:
    """Return the names of a route's query parameters, those of models and of a written OpenAPI part included."""
    written = (route.openapi_extra or {}).get("parameters", ())
    names = [parameter["name"] for parameter in written if parameter["in"] == "query"]
    todo: list[Dependant] = [route.dependant]
    while todo:
        here = todo.pop()
        todo += here.dependencies
        for parameter in here.query_params:
            kind = parameter.field_info.annotation
            inner = kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else None
            names += [field.alias or name for name, field in inner.items()] if inner else [parameter.alias]
    return sorted(names)


def require_known(request: Request, known: list[str]) -> None:
    """Refuse query parameters that the address does not have, and any said twice: one would be silently ignored."""
    said = [name for name, _ in request.query_params.multi_items()]
    for name in request.query_params:
        if name not in known:
            name = name[:80]  # noqa: PLW2901 - a sentence is no place for more
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(known) or 'none'}."
            raise Malformed(f"{name} is not a parameter of {request.url.path}.", pointer=f"/query/{name}", hint=hint)
        if said.count(name) > 1:
            values = " and ".join(repr(value[:_SHOWN]) for value in request.query_params.getlist(name)[:2])
            raise Malformed(f"{name} is given {said.count(name)} times ({values}); it takes one value.",
                            pointer=f"/query/{name}", hint="Send it once.")


def require_json(request: Request) -> None:
    """Refuse a body that does not say it is JSON."""
    headers = request.headers
    empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
    kind = headers.get("content-type", "")
    if not (empty or _JSON_TYPE.fullmatch(kind.strip())):
        raise NotJson(f"The body is declared as {kind or 'nothing'}, and this address reads JSON.",
                      hint="Send the header Content-Type: application/json.")
