"""The service about itself: health, metrics, problems, and the API reference page."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from planner import __version__
from planner.api.bodies import JsonRoute
from planner.api.dependencies import Services, json_answer, problems
from planner.api.problems import catalogue
from planner.core.errors import NotFound

router = APIRouter(tags=["service"], route_class=JsonRoute)

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="/static/vendor/swagger-ui/favicon-32x32.png">
<link rel="stylesheet" href="/static/vendor/swagger-ui/swagger-ui.css"></head><body><div id="ui"></div>
<script src="/static/vendor/swagger-ui/swagger-ui-bundle.js"></script>
<script>SwaggerUIBundle({{url: "/openapi.json", dom_id: "#ui", deepLinking: true, validatorUrl: null}});</script>
</body></html>"""


@router.get("/healthz", operation_id="healthz")
async def healthz() -> Response:
    """Tell that the process answers."""
    return json_answer({"status": "ok", "version": __version__})


@router.get("/readyz", operation_id="readyz", responses=problems(503))
def readyz(planner: Services) -> Response:
    """Tell that the database answers and has the schema this version needs."""
    planner.store.ready()
    return json_answer({"status": "ready", "version": __version__})


@router.get("/metrics", operation_id="metrics", responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Return Prometheus metrics."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/v1/problems/{code}", operation_id="describe_problem", responses=problems(404))
async def describe_problem(code: str) -> Response:
    """Describe a problem code: its status, title and meaning."""
    known = catalogue()
    if code not in known:
        raise NotFound(f"No problem has the code {code!r}.", candidates=tuple(sorted(known)))
    return json_answer({"code": code, **known[code]})


@router.get("/", include_in_schema=False)
async def front() -> RedirectResponse:
    """Send whoever opens the printed address to the API reference."""
    return RedirectResponse("/docs")


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Return the API reference, from vendored files only."""
    return HTMLResponse(_PAGE.format(title=escape(request.app.title)))
