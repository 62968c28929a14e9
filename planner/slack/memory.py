"""What the desk keeps in the database: requests of threads and buttons, deliveries, the audit log; texts sealed."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from concurrent.futures import Executor
from datetime import UTC, datetime
from typing import Any, TypeVar

from planner.core.errors import PlannerError
from planner.services.conversations import AuditLine, Conversations, Delivery
from planner.services.parse import Parsed
from planner.slack.questions import Question
from planner.slack.sealing import Seal

Found = TypeVar("Found")
BUTTONS = "answer"
"""Stands for the channel where the requests behind buttons are kept."""
_log = logging.getLogger(__name__)


class Memory:
    """The database, asked in threads of its own so that no answer holds up an acknowledgement."""

    def __init__(self, store: Conversations, seal: Seal, files: Executor) -> None:
        self.store = store
        self.seal = seal
        self.owner = secrets.token_hex(8)
        self._files = files

    async def on_disk(self, work: Callable[..., Found], *arguments: Any) -> Found:  # noqa: ANN401 - the call's own
        """Run a database call in the threads kept for them."""
        return await asyncio.get_running_loop().run_in_executor(self._files, work, *arguments)

    async def begin(self, key: str, question: Question) -> bool:
        """Write a delivery down; False when it was taken in before."""
        return await self.on_disk(self.store.begin, key, question.team, self.seal.close(question.plain()), self.owner)

    def question(self, delivery: Delivery) -> Question:
        """What a delivery asks."""
        return Question.read(self.seal.open(delivery.payload))

    async def context(self, team: str, channel: str, thread: str | None) -> dict[str, Any] | None:
        """The last request of a thread, or the one under an answer."""
        sealed = None if thread is None else await self.on_disk(self.store.recall, team, channel, thread)
        return None if sealed is None else dict(self.seal.open(sealed))

    async def keep(self, question: Question, parsed: Parsed) -> str:
        """Remember a request for its buttons and its thread; return the key of the buttons."""
        key = question.key or secrets.token_urlsafe(9)
        sealed = self.seal.close(
            {
                "intent": parsed.intent,
                "parse": parsed.parse,
                "demand": parsed.demand,
                "ask": list(parsed.ask),
                "choices": {k: list(v) for k, v in parsed.choices.items()},
                "channel": question.channel,
                "thread": question.thread,
            }
        )
        await self.on_disk(self.store.remember, question.team, BUTTONS, key, sealed)
        if question.thread is not None:
            await self.on_disk(self.store.remember, question.team, question.channel, question.thread, sealed)
        return key

    async def finish(self, key: str, question: Question, outcome: str, *, failed: bool) -> None:
        """Mark a delivery answered and note it in the audit log; a database that is away only costs the note."""
        action = question.control or ("command" if question.response_url else "message")
        line = AuditLine(
            team_id=question.team, user=question.user, at=datetime.now(UTC), action=action, outcome=outcome
        )
        try:
            await self.on_disk(lambda: self.store.finish(key, failed=failed))
            await self.on_disk(self.store.note, line)
        except PlannerError as error:
            _log.warning("a delivery could not be marked: %s", error.code)
