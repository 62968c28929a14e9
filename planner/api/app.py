"""The application: routers, handlers, gate, cache and metrics put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.staticfiles import StaticFiles
from prometheus_client import CollectorRegistry

from planner import __version__
from planner.api.answer_cache import AnswerCache
from planner.api.gate import Gate
from planner.api.metrics import Metrics
from planner.api.problems import add_handlers
from planner.api.quick import QuickWay
from planner.api.routers import (
    accuracy,
    calibrations,
    imports,
    jobs,
    labs,
    parse,
    plan,
    procurement,
    resources,
    service,
    simulations,
    sizing,
    sweep,
    workspace,
)
from planner.bootstrap import Planner
from planner.locations import static_folder
from planner.schemas.problems import Problem

TITLE = "LLM serving capacity planner"
DESCRIPTION = ("What limits a model on a GPU, how many GPUs a demand needs, and why. SI units, named by each field's "
               "suffix; every refusal is application/problem+json.")

ROUTERS: tuple[APIRouter, ...] = (
    service.router,
    plan.router,
    sweep.router,
    sizing.router,
    simulations.router,
    procurement.router,
    labs.router,
    parse.router,
    imports.router,
    imports.files,
    accuracy.router,
    calibrations.router,
    *resources.ROUTERS,
    workspace.router,
    jobs.router,
)
"""Every router of the service, in the order of the reference page."""


def create_app(planner: Planner) -> FastAPI:
    """Return the application over these services."""
    app = FastAPI(title=TITLE, description=DESCRIPTION, version=__version__, docs_url=None, redoc_url=None,
                  lifespan=_lifespan, redirect_slashes=False)
    app.state.planner = planner
    app.state.registry = CollectorRegistry()
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=static_folder()), name="static")
    add_handlers(app)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign] # FastAPI documents this hook
    app.add_middleware(QuickWay, routers=ROUTERS)
    if planner.settings.answer_cache_entries:
        app.add_middleware(AnswerCache, entries=planner.settings.answer_cache_entries,
                           generation=lambda: planner.catalog.generation())  # noqa: PLW0108 - not before upgrade
    app.add_middleware(Gate, hosts=planner.settings.allowed_hosts)
    app.add_middleware(Metrics, registry=app.state.registry)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Bring the database to its schema and the plans to their pace before the first request."""
    planner: Planner = app.state.planner
    planner.upgrade()
    planner.warm()
    yield
    planner.close()


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the problem schema that every refusal points to."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas |= schema.pop("$defs", {})
        schemas["Problem"] = schema
        app.openapi_schema = document
    return app.openapi_schema
