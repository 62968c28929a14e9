"""The ASGI process: `uvicorn planner.main:create --factory`, or `planner serve`."""

from __future__ import annotations

from fastapi import FastAPI

from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings


def create() -> FastAPI:
    """Return the application configured by the environment; Slack is part of it when configured."""
    planner = Planner(settings())
    app = create_app(planner)
    if any(name.startswith("PLANNER_SLACK_") for name in planner.settings.environment):
        from planner.slack.router import mount  # noqa: PLC0415 - slack-bolt is an extra

        mount(app, planner)
    return app
