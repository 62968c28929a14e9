"""The real application with the Slack app in it, on a database built by the migrations, against a loopback Slack."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from cryptography.fernet import Fernet

from api_tests.slack.workspace import BOT, TEAM, TOKEN, Workspace
from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings
from planner.slack.router import mount
from planner.slack.signing import signature

SECRET, ADMIN = "loopback-signing-secret", "loopback-admin"


class Person:
    """Somebody in the workspace: signs and sends what Slack would send for them."""

    def __init__(self, client: httpx.AsyncClient, slack: Any, workspace: Workspace, planner: Planner) -> None:
        self.client, self.slack, self.workspace, self.planner = client, slack, workspace, planner
        self._next = 0

    def key(self) -> str:
        self._next += 1
        return f"{time.time():.6f}.{self._next}"

    async def send(
        self,
        path: str,
        body: bytes,
        content_type: str,
        *,
        at: float | None = None,
        secret: str = SECRET,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        stamp = str(int(time.time() if at is None else at))
        signed = {
            "content-type": content_type,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": signature(secret, stamp, body),
        }
        return await self.client.post(path, content=body, headers=signed | (headers or {}))

    async def command(
        self, text: str, *, name: str | None = None, user: str = "U0ONE", trigger: str | None = None, wait: bool = True
    ) -> dict[str, Any]:
        """Type /capacity and return what was answered last."""
        name = name or f"r{self.key()}"
        form = {
            "command": "/capacity",
            "text": text,
            "team_id": TEAM,
            "team_domain": "loop",
            "channel_id": "C0MAIN",
            "channel_name": "main",
            "user_id": user,
            "user_name": "one",
            "trigger_id": trigger or self.key(),
            "response_url": self.workspace.address(name),
            "api_app_id": "A0",
        }
        answer = await self.send("/slack/commands", urlencode(form).encode(), "application/x-www-form-urlencoded")
        assert answer.status_code == 200, answer.text
        if wait:
            await self.slack.desk.idle()
        return next((r for r in reversed(self.workspace.responses) if r["name"] == name), {})

    async def event(self, event: dict[str, Any], *, wait: bool = True, retry: int | None = None) -> httpx.Response:
        body = {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": "A0",
            "event_id": f"Ev{self.key()}",
            "event": event,
            "event_time": int(time.time()),
            "authorizations": [{"team_id": TEAM, "user_id": BOT, "is_bot": True}],
        }
        headers = {"x-slack-retry-num": str(retry), "x-slack-retry-reason": "http_timeout"} if retry else None
        answer = await self.send("/slack/events", json.dumps(body).encode(), "application/json", headers=headers)
        if wait:
            await self.slack.desk.idle()
        return answer

    async def say(
        self,
        text: str,
        *,
        thread: str | None = None,
        mention: bool = True,
        stamp: str | None = None,
        retry: int | None = None,
        direct: bool = False,
        wait: bool = True,
    ) -> dict[str, Any]:
        """Say something to the app and return its last message."""
        stamp = stamp or self.key()
        event: dict[str, Any] = {
            "type": "app_mention" if mention and not direct else "message",
            "user": "U0ONE",
            "text": f"<@{BOT}> {text}" if mention else text,
            "ts": stamp,
            "channel": "D0ONE" if direct else "C0MAIN",
            "event_ts": stamp,
        }
        if direct:
            event["channel_type"] = "im"
        elif not mention:
            event["channel_type"] = "channel"
        if thread:
            event["thread_ts"] = thread
        await self.event(event, retry=retry, wait=wait)
        return self.workspace.messages[-1] if self.workspace.messages else {}

    async def press(
        self,
        blocks: list[dict[str, Any]],
        action: str,
        *,
        choose: str | None = None,
        state: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Use a control of a message and return what its response address was sent last."""
        block, element = next(
            (b, e) for b in blocks if b["type"] == "actions" for e in b["elements"] if e["action_id"] == action
        )
        pressed: dict[str, Any] = {
            "type": element["type"],
            "action_id": action,
            "block_id": block["block_id"],
            "action_ts": self.key(),
        }
        if element["type"] == "button":
            pressed["value"] = element["value"]
        else:
            option = next(o for o in element["options"] if choose in (o["value"], o["value"].split(" ")[0]))
            pressed["selected_option"] = option
        name = name or f"a{self.key()}"
        body = {
            "type": "block_actions",
            "team": {"id": TEAM, "domain": "loop"},
            "user": {"id": "U0ONE", "team_id": TEAM},
            "api_app_id": "A0",
            "trigger_id": self.key(),
            "channel": {"id": "C0MAIN", "name": "main"},
            "container": {"type": "message", "channel_id": "C0MAIN"},
            "actions": [pressed],
            "response_url": self.workspace.address(name),
            "state": {"values": state or {}},
        }
        answer = await self.send(
            "/slack/interactions",
            urlencode({"payload": json.dumps(body)}).encode(),
            "application/x-www-form-urlencoded",
        )
        assert answer.status_code == 200, answer.text
        await self.slack.desk.idle()
        return next((r for r in reversed(self.workspace.responses) if r["name"] == name), {})


def environment(database: str, workspace: Workspace, **more: str) -> dict[str, str]:
    return {
        "PLANNER_DATABASE_URL": database,
        "PLANNER_EMBEDDED_WORKER": "0",
        "PLANNER_ANSWER_CACHE_ENTRIES": "0",
        "PLANNER_SLACK_SIGNING_SECRET": SECRET,
        "PLANNER_SLACK_ENCRYPTION_KEY": KEY,
        "PLANNER_SLACK_BOT_TOKEN": TOKEN,
        "PLANNER_SLACK_ADMIN_TOKEN": ADMIN,
        "PLANNER_SLACK_API_URL": workspace.api_url,
        "PLANNER_SLACK_PUBLIC_URL": "https://planner.example",
        "PLANNER_SLACK_USER_PER_MINUTE": "500",
        "PLANNER_SLACK_WORKSPACE_PER_MINUTE": "5000",
        **more,
    }


KEY = Fernet.generate_key().decode()


@asynccontextmanager
async def running(variables: dict[str, str], workspace: Workspace) -> AsyncIterator[Person]:
    """The service, started as a server would start it."""
    planner = Planner(settings(variables))
    app = create_app(planner)
    slack = mount(app, planner)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client,
    ):
        yield Person(client, slack, workspace, planner)


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> str:
    copy = tmp_path / "slack.sqlite3"
    shutil.copy(sqlite_template, copy)
    return f"sqlite:///{copy}"


Story = Callable[[Person], Awaitable[None]]


@pytest.fixture
def play(database: str) -> Callable[..., None]:
    """Run a story against a fresh service; whatever Slack would have refused fails it."""

    def run(story: Story, **more: str) -> None:
        async def whole() -> None:
            workspace = Workspace()
            await workspace.start()
            try:
                async with running(environment(database, workspace, **more), workspace) as person:
                    await story(person)
                assert workspace.faults == []
            finally:
                await workspace.stop()

        asyncio.run(whole())

    return run
