"""Every refusal as RFC 9457 problem+json; the one table from the planner's errors to HTTP statuses."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from planner.core.errors import (
    AdapterError,
    Ambiguous,
    Conflict,
    DomainError,
    MissingFact,
    NotFound,
    PlannerError,
    Stale,
)
from planner.schemas.sentences import field_errors
from planner.services.pointers import rooted

MEDIA_TYPE = "application/problem+json"
_log = logging.getLogger(__name__)

STATUS: Mapping[type[PlannerError], int] = {
    DomainError: 422,
    MissingFact: 422,
    NotFound: 404,
    Ambiguous: 409,
    Conflict: 409,
    Stale: 412,
    AdapterError: 503,
}
"""Looked up along the class's ancestry, nearest first."""


class HttpRefusal(PlannerError):  # noqa: N818 - the parent of what follows
    """A refusal that only makes sense in HTTP; its status is its own."""

    status = 400


class NotJson(HttpRefusal):
    """The body is not declared as JSON."""

    status, code, title = 415, "unsupported_media_type", "The body is not JSON"


class TooLarge(HttpRefusal):
    """The body is longer than this endpoint reads."""

    status, code, title = 413, "body_too_large", "The body is too large"


class Malformed(HttpRefusal):
    """The body or a parameter cannot be read at all."""

    status, code, title = 422, "malformed", "The request cannot be read"


class MissingPrecondition(HttpRefusal):
    """A change without If-Match."""

    status, code, title = 428, "precondition_required", "The change needs If-Match"


class WrongHost(HttpRefusal):
    """A Host header that this service does not answer to."""

    status, code, title = 421, "wrong_host", "This service does not answer to that host"


class Busy(HttpRefusal):
    """A caller has too much running already."""

    status, code, title = 429, "too_many_requests", "Too much at once"

    def __init__(self, detail: str, *, retry_after_s: int = 1, hint: str | None = None) -> None:
        super().__init__(detail, hint=hint)
        self.retry_after_s = retry_after_s


_HTTP_TITLES = {404: ("not_found", "No such address"),
                405: ("method_not_allowed", "The address does not take this method")}


def status_of(error: PlannerError) -> int:
    """Return the HTTP status of one of the planner's errors."""
    if isinstance(error, HttpRefusal):
        return error.status
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(request_path: str, status: int, code: str, title: str, detail: str, *,
            headers: Mapping[str, str] | None = None, **members: object) -> Response:
    """Return a problem+json answer; members without a value are left out."""
    body: dict[str, Any] = {"type": f"/v1/problems/{code}", "title": title, "status": status, "detail": detail,
                            "instance": request_path, "code": code}
    body |= {name: value for name, value in members.items() if value}
    return Response(orjson.dumps(body), status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def answer(request_path: str, error: PlannerError) -> Response:
    """Return the problem+json of one of the planner's errors."""
    headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, Busy) else {}
    errors = [] if error.pointer is None else [{"pointer": rooted(error.pointer), "message": error.detail}]
    return problem(request_path, status_of(error), error.code, error.title, error.detail, headers=headers,
                   hint=error.hint, errors=errors, candidates=list(getattr(error, "candidates", ())),
                   fact=getattr(error, "fact", None))


async def on_planner_error(request: Request, error: Exception) -> Response:
    """Answer a refusal of the planner's own."""
    if not isinstance(error, PlannerError):
        raise error
    if status_of(error) >= 500:
        _log.error("%s: %s", error.code, error.detail, exc_info=error)
    return answer(request.url.path, error)


async def on_invalid_request(request: Request, error: Exception) -> Response:
    """Answer a body or parameter that does not match the schema."""
    if not isinstance(error, RequestValidationError):
        raise error
    route = request.scope.get("route")
    form = getattr(getattr(getattr(route, "body_field", None), "field_info", None), "annotation", None)
    errors = field_errors(error.errors(), error.body, form)
    return invalid(request.url.path, errors)


def invalid(request_path: str, errors: Sequence[Mapping[str, str]]) -> Response:
    """Return the 422 that lists every field at fault; its detail is the first of them."""
    more = f" ({len(errors) - 1} more below)" if len(errors) > 1 else ""
    return problem(request_path, 422, "invalid_request", "The question is malformed", errors[0]["message"] + more,
                   errors=list(errors))


async def on_http_exception(request: Request, error: Exception) -> Response:
    """Answer what the router itself refuses: unknown addresses and methods."""
    if not isinstance(error, HTTPException):
        raise error
    code, title = _HTTP_TITLES.get(error.status_code, ("http_error", "The request was refused"))
    headers, path = dict(error.headers or {}), request.url.path
    detail = str(error.detail)
    if error.status_code == 404:
        detail = f"There is nothing at {path}; /docs lists every address."
    if error.status_code == 405:
        methods = _allowed(request)
        headers["Allow"] = ", ".join(methods)
        detail = f"{path} does not take {request.method}; it takes {' and '.join(methods) or 'nothing'}."
    return problem(path, error.status_code, code, title, detail, headers=headers)


def _allowed(request: Request) -> list[str]:
    """Return the methods of every route at this path (the router itself only looks at the first)."""
    found: set[str] = set()
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        scope = dict(request.scope, method=method)
        if any(route.matches(scope)[0].value == 2 for route in request.app.router.routes):
            found.add(method)
    return sorted(found)


async def on_bug(request: Request, error: Exception) -> Response:
    """Answer an error that nobody foresaw, without its inside."""
    _log.error("unforeseen error at %s", request.url.path, exc_info=error)
    return problem(request.url.path, 500, "internal_error", "The planner has a bug",
                   "The planner met an error it did not foresee; its log has the details.")


def add_handlers(app: FastAPI) -> None:
    """Install the handlers; PlannerError's serves all its subclasses."""
    app.add_exception_handler(PlannerError, on_planner_error)
    app.add_exception_handler(RequestValidationError, on_invalid_request)
    app.add_exception_handler(HTTPException, on_http_exception)
    app.add_exception_handler(Exception, on_bug)


def catalogue() -> dict[str, dict[str, Any]]:
    """Return every problem code with its status, title and meaning."""
    found: dict[str, dict[str, Any]] = {
        "invalid_request": {"status": 422, "title": "The question is malformed",
                            "meaning": "A field is unknown, missing or of the wrong kind; errors lists each."},
        "internal_error": {"status": 500, "title": "The planner has a bug", "meaning": "An error nobody foresaw."},
    }
    found |= {code: {"status": status, "title": title, "meaning": title + "."}
              for status, (code, title) in _HTTP_TITLES.items()}
    todo: list[type[PlannerError]] = [PlannerError]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        status = kind.status if issubclass(kind, HttpRefusal) else next(
            (STATUS[k] for k in kind.__mro__ if k in STATUS), 500)
        found[kind.code] = {"status": status, "title": kind.title, "meaning": (kind.__doc__ or "").split("\n")[0]}
    return found
