"""Which workspaces have the app: tokens sealed at rest, remembered for a minute, forgotten when they stop working."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, datetime

from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from planner.services.conversations import Conversations, Install, InstallState
from planner.slack.places import web_client
from planner.slack.sealing import Seal
from planner.slack.settings import SCOPES, SlackSettings

KNOWN_S = 60.0
"""A token read from the database is used this long before it is read again [s]."""
STATE_TTL_S = 600
"""An installation must be finished within ten minutes [s]."""


class Installs:
    """Tokens by workspace."""

    def __init__(
        self,
        store: Conversations,
        seal: Seal,
        settings: SlackSettings,
        files: Executor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._seal = seal
        self._settings = settings
        self._files = files
        self._clock = clock
        self._known: dict[str, tuple[float, Install, str]] = {}

    async def token(self, team: str) -> tuple[Install, str] | None:
        """A workspace's install and its open token."""
        found = self._known.get(team)
        if found is not None and self._clock() - found[0] < KNOWN_S:
            return found[1], found[2]
        install = await asyncio.get_running_loop().run_in_executor(self._files, self._store.install, team)
        if install is None or install.token is None or install.state != "active":
            self._known.pop(team, None)
            return None
        token = str(self._seal.open(install.token))
        self._known[team] = (self._clock(), install, token)
        return install, token

    async def client(self, team: str) -> AsyncWebClient | None:
        """A client with a workspace's token."""
        found = await self.token(team)
        return None if found is None else web_client(found[1], self._settings.api_url)

    async def authorize(self, enterprise_id: str | None, team_id: str | None) -> AuthorizeResult | None:
        """Who the app is in a workspace."""
        found = await self.token(team_id or "")
        if found is None:
            return None
        install, token = found
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=install.bot_user_id,
            bot_id=install.bot_id,
            bot_token=token,
        )

    async def close(self, team: str, state: InstallState) -> None:
        """Forget a token that no longer works."""
        self._known.pop(team, None)
        await asyncio.get_running_loop().run_in_executor(self._files, self._store.close_install, team, state)

    async def add(
        self, token: str, installed_by: str, team: tuple[str, str] | None = None, scopes: str = ""
    ) -> Install:
        """Store a workspace's token once Slack has said whose it is."""
        who = await web_client(token, self._settings.api_url).auth_test()
        team_id, name = team or (str(who["team_id"]), str(who.get("team") or who["team_id"]))
        install = Install(
            team_id=team_id,
            team_name=name,
            bot_user_id=str(who["user_id"]),
            bot_id=str(who.get("bot_id") or ""),
            scopes=scopes or ",".join(SCOPES),
            token=self._seal.close(token),
            state="active",
            installed_by=installed_by,
            installed_at=datetime.now(UTC),
        )
        await asyncio.get_running_loop().run_in_executor(self._files, self._store.put_install, install)
        self._known.pop(team_id, None)
        return install

    async def exchange(self, code: str, state: str, redirect: str) -> Install | None:
        """Finish an installation begun at /slack/install; None when the state is not this service's own."""
        settings = self._settings
        if not self._seal.honours(state, "install", STATE_TTL_S):
            return None
        answer = await web_client(None, settings.api_url).api_call(
            "oauth.v2.access",
            data={
                "client_id": settings.client_id or "",
                "client_secret": settings.client_secret or "",
                "code": code,
                "redirect_uri": redirect,
            },
        )
        team = answer["team"]
        return await self.add(
            str(answer["access_token"]),
            str((answer.get("authed_user") or {}).get("id", "")),
            (str(team["id"]), str(team.get("name") or team["id"])),
            str(answer.get("scope", "")),
        )

    def ticket(self) -> str:
        """The state of a new installation."""
        return self._seal.ticket("install")
