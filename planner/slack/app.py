"""The bolt application: commands, mentions, messages, buttons; each is acknowledged, then handed to the desk."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from planner.bootstrap import Planner
from planner.core.errors import PlannerError
from planner.slack.desk import KEPT_DAYS, Desk
from planner.slack.installs import Installs
from planner.slack.memory import Memory
from planner.slack.places import web_client
from planner.slack.questions import Question
from planner.slack.saving import Saving, ask_again
from planner.slack.sealing import Seal
from planner.slack.settings import SlackSettings, slack_settings

COMMAND = "/capacity"
ROUND_S = 30.0
"""Between looks at watches and at what other processes left behind [s]."""
DISK_THREADS = 4
SWITCH_S = 0.0005
"""Threads that compute hand the interpreter over this often, so that acknowledgements need not wait for them [s]."""
_MENTION = re.compile(r"<@(?P<user>\w+)(?:\|[^>]*)?>")
Ack = Callable[..., Awaitable[Any]]
_log = logging.getLogger(__name__)


class SlackApp:
    """Everything behind /slack and behind Socket Mode."""

    def __init__(self, planner: Planner, settings: SlackSettings) -> None:
        for library in ("slack_sdk", "slack_bolt"):
            logging.getLogger(library).setLevel(logging.WARNING)  # below that they write messages and payloads down
        self.settings = settings
        self.store = planner.conversations
        self.seal = Seal(settings.encryption_key)
        self._files = ThreadPoolExecutor(DISK_THREADS, thread_name_prefix="slack-disk")
        self.installs = Installs(self.store, self.seal, settings, self._files)
        self.memory = Memory(self.store, self.seal, self._files)
        self.desk = Desk(
            grammar=planner.grammar,
            answering=planner.answering,
            memory=self.memory,
            installs=self.installs,
            settings=settings,
            saving=Saving(planner.resources),
        )
        self.bolt = self._bolt()
        self._rounds: asyncio.Task[None] | None = None

    def _bolt(self) -> AsyncApp:
        """Handlers by kind of delivery; signatures are checked before bolt sees anything."""

        async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
            # bolt tells the person itself when there is none
            return await self.installs.authorize(enterprise_id, team_id)  # type: ignore[return-value] # Bolt takes None

        bolt = AsyncApp(
            signing_secret=self.settings.signing_secret or "socket-mode",
            authorize=authorize,
            client=web_client(None, self.settings.api_url),
            request_verification_enabled=False,
            process_before_response=True,
        )
        bolt.command(COMMAND)(self.on_command)
        bolt.event("app_mention")(self.on_message)
        bolt.event("message")(self.on_message)
        bolt.event("tokens_revoked")(self.on_uninstalled)
        bolt.event("app_uninstalled")(self.on_uninstalled)
        bolt.action(re.compile(".*"))(self.on_action)
        return bolt

    async def on_command(self, ack: Ack, body: Mapping[str, Any]) -> None:
        """Take in a slash command."""
        question = Question(
            team=body["team_id"],
            user=body["user_id"],
            channel=body["channel_id"],
            text=body.get("text") or "help",
            response_url=body["response_url"],
        )
        await self.desk.take(f"command:{body['trigger_id']}", question)
        await ack()

    async def on_message(self, ack: Ack, body: Mapping[str, Any], event: Mapping[str, Any]) -> None:
        """Take in a mention, a direct message, or a reply in a thread of ours."""
        if await self._meant(body, event):
            thread = event.get("thread_ts") or event["ts"]
            question = Question(
                team=body["team_id"],
                user=event["user"],
                channel=event["channel"],
                text=_asked(event.get("text", "")),
                thread=thread,
            )
            await self.desk.take(f"event:{body['team_id']}:{event['channel']}:{event['ts']}", question)
        await ack()

    async def _meant(self, body: Mapping[str, Any], event: Mapping[str, Any]) -> bool:
        """Whether a message is for the app: what bots write or people edit is not."""
        if event.get("bot_id") or event.get("subtype") or not event.get("user"):
            return False
        if event["type"] == "app_mention" or event.get("channel_type") == "im":
            return True
        found = await self.installs.token(body["team_id"])
        mentioned = {m["user"] for m in _MENTION.finditer(event.get("text", ""))}
        if event.get("thread_ts") is None or (found and found[0].bot_user_id in mentioned):
            return False  # a mention comes as app_mention too
        return await self.memory.context(body["team_id"], event["channel"], event["thread_ts"]) is not None

    async def on_action(self, ack: Ack, body: Mapping[str, Any], action: Mapping[str, Any]) -> None:
        """Take in a button, a menu or a submitted form."""
        question = _controlled(body, action)
        if question is not None:
            await self.desk.take(f"action:{body.get('trigger_id') or action.get('action_ts')}", question)
        await ack()

    async def on_uninstalled(self, ack: Ack, body: Mapping[str, Any]) -> None:
        """Forget the token of a workspace that removed the app."""
        await self.installs.close(body["team_id"], "revoked")
        await ack()

    async def start(self) -> None:
        """Store the token of a single workspace, pick up what was left behind, and begin the rounds."""
        sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
        if self.settings.bot_token is not None:
            await self.installs.add(self.settings.bot_token, "settings")
        self._rounds = asyncio.get_running_loop().create_task(self._go_round())

    async def stop(self) -> None:
        """Finish what is under way."""
        if self._rounds is not None:
            self._rounds.cancel()
        await self.desk.drain()
        self._files.shutdown(wait=True)

    async def _go_round(self) -> None:
        while True:
            try:
                await self.round()
            except PlannerError as error:
                _log.warning("a round of the Slack app failed: %s", error.code)
            except Exception as error:  # noqa: BLE001 - the next round may do better
                _log.warning("a round of the Slack app failed: %s", type(error).__name__)
            await asyncio.sleep(ROUND_S)

    async def round(self) -> None:
        """Resume, ask watches again, forget what is old."""
        await self.desk.resume()
        await ask_again(self.desk, datetime.now(UTC))
        await self.memory.on_disk(self.store.purge, datetime.now(UTC) - timedelta(days=KEPT_DAYS))


def slack_app(planner: Planner) -> SlackApp | None:
    """The app, when the settings configure one."""
    settings = slack_settings(planner.settings.environment)
    return None if settings is None else SlackApp(planner, settings)


def _controlled(body: Mapping[str, Any], action: Mapping[str, Any]) -> Question | None:
    """The question a control asks; links and form fields ask nothing by themselves."""
    control, value = str(action.get("action_id", "")), str(action.get("value") or "")
    block = str(action.get("block_id", ""))
    key = block.partition(" ")[2]
    if action["type"] == "overflow":
        word = str(action["selected_option"]["value"]).partition(" ")[0]
        control = word if word in {"assumptions", "watch"} else f"edit:{word}"
    elif action["type"] == "static_select":
        value = str(action["selected_option"]["value"])
    if control in {"open", "value"} or not key:
        return None
    channel = (body.get("channel") or {}).get("id") or (body.get("container") or {}).get("channel_id") or ""
    return Question(
        team=body["team"]["id"],
        user=body["user"]["id"],
        channel=channel,
        control=control,
        key=key,
        value=value or None,
        response_url=body.get("response_url"),
        form=_fields(body) if control == "form" else (),
    )


def _asked(text: str) -> str:
    """What a message asks; a mention alone asks for help."""
    return text if _MENTION.sub("", text).strip() else "help"


def _fields(body: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The filled-in fields of a form, by block."""
    found = []
    for block, elements in ((body.get("state") or {}).get("values") or {}).items():
        for element in elements.values():
            chosen = element.get("selected_option")
            value = chosen["value"] if chosen else element.get("value")
            if value:
                found.append((block, str(value)))
    return tuple(found)
