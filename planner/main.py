"""The ASGI process: `uvicorn planner.main:create --factory`, or `planner serve`."""

from __future__ import annotations

from fastapi import FastAPI

from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings
from planner.core.errors import AdapterError


def create() -> FastAPI:
    """Return the application configured by the environment; Slack is part of it when configured."""
    planner = Planner(settings())
    app = create_app(planner)
    if any(name.startswith("PLANNER_SLACK_") for name in planner.settings.environment):
        try:
            from planner.slack.router import mount  # noqa: PLC0415 - slack-bolt is an extra
        except ModuleNotFoundError as error:
            raise AdapterError(f"Slack is configured, but {error.name} is not installed.",
                               hint="Install the extra: llm-capacity-planner[slack].") from error
        mount(app, planner)
    return app
