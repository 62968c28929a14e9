"""`planner slack`: the Slack app over Socket Mode."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: PLANNER_SLACK_APP_TOKEN=xapp-… PLANNER_SLACK_BOT_TOKEN=xoxb-… planner slack")
def slack(
    check: Annotated[bool, typer.Option("--check", help="Only say whether Slack is configured.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Answer capacity questions in Slack over Socket Mode, for networks that Slack cannot reach.

    Behind a public address, planner serve answers at /slack/commands, /slack/events and /slack/interactions instead.
    """
    import json

    from planner.bootstrap import Planner
    from planner.config import settings

    planner = Planner(settings())
    if check:
        found = importlib.import_module("planner.slack.settings").slack_settings(planner.settings.environment)
        state = {
            "configured": found is not None,
            "socket_mode": bool(found and found.app_token),
            "http": bool(found and found.signing_secret),
        }
        typer.echo(
            json.dumps(state) if as_json else ", ".join(f"{k}: {'yes' if v else 'no'}" for k, v in state.items())
        )
        return
    importlib.import_module("planner.slack.socket").run(planner)
