"""Socket Mode: the same app over a WebSocket that the app itself opens, for networks Slack cannot reach."""

from __future__ import annotations

import asyncio
import signal

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler

from planner.bootstrap import Planner
from planner.slack.app import SlackApp, slack_app
from planner.slack.places import web_client
from planner.slack.settings import BadSlackSetting


async def connect(slack: SlackApp) -> AsyncSocketModeHandler:
    """Open the connection; messages are handled until it is closed."""
    if slack.settings.app_token is None:
        raise BadSlackSetting(
            "PLANNER_SLACK_APP_TOKEN is missing: Socket Mode needs an app-level token (xapp-…).",
            hint="Make one with the scope connections:write in the app's settings.",
        )
    handler = AsyncSocketModeHandler(
        slack.bolt, slack.settings.app_token, web_client=web_client(slack.settings.app_token, slack.settings.api_url)
    )
    await handler.connect_async()  # type: ignore[no-untyped-call] # slack_sdk has no types here
    return handler


async def serve(slack: SlackApp) -> None:
    """Answer until a signal comes."""
    leaving = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, leaving.set)
    await slack.start()
    handler = await connect(slack)
    await leaving.wait()
    await handler.close_async()  # type: ignore[no-untyped-call] # slack_sdk has no types here
    await slack.stop()


def run(planner: Planner) -> None:
    """Run Socket Mode in this process."""
    slack = slack_app(planner)
    if slack is None:
        raise BadSlackSetting(
            "Slack is not configured.",
            hint="Set PLANNER_SLACK_APP_TOKEN, PLANNER_SLACK_BOT_TOKEN and "
            "PLANNER_SLACK_ENCRYPTION_KEY; see docs/slack.md.",
        )
    planner.upgrade()
    asyncio.run(serve(slack))
    planner.close()
