"""The ASGI process: `uvicorn planner.main:create --factory`, or `planner serve`."""

from __future__ import annotations

from fastapi import FastAPI

from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings


def create() -> FastAPI:
    """Return the application configured by the environment."""
    return create_app(Planner(settings()))
