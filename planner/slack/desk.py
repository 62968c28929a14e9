"""The desk: takes a question in, works on it, answers it; survives retries, restarts, rate limits and lost tokens."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from slack_sdk.errors import SlackApiError

from planner.core.errors import PlannerError
from planner.services.parse import Grammar, Parsed
from planner.services.questions.edits import edited, filled
from planner.services.questions.reply import Reply
from planner.slack import blocks
from planner.slack.chips import warning
from planner.slack.elements import Block
from planner.slack.limits import Bucket
from planner.slack.places import TOKEN_ERRORS, Place, ResponseAddress, Thread, code_of, uploaded
from planner.slack.questions import Question

if TYPE_CHECKING:
    from planner.services.questions.answering import Answering
    from planner.slack.installs import Installs
    from planner.slack.memory import Memory
    from planner.slack.saving import Saving
    from planner.slack.settings import SlackSettings

WORKERS = 2
"""Answers computed at the same time; more would only take the interpreter from the acknowledgements [1]."""
TAKEN_IN_S = 0.15
"""A delivery is written down before it is acknowledged, but Slack is not kept waiting longer [s]."""
SILENT_S = 1.0
"""Work longer than this says that it is going on [s]."""
BEAT_S = 3.0
BEATS = 3
"""Progress is shown so often at most: a response address takes five messages [1]."""
MOST_ATTEMPTS = 3
ORPHAN_S = 60.0
"""A delivery of another process untouched for so long is taken over [s]."""
KEPT_DAYS = 30
APOLOGY = "Sorry, something went wrong here and the answer was lost. Please ask again."
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Counters:
    """What happened since the start, for the admin page and the metrics."""

    answered: int = 0
    duplicates: int = 0
    limited: int = 0
    failed: int = 0
    refused: dict[str, int] = field(default_factory=dict)


class Desk:
    """One process's share of the questions."""

    def __init__(
        self,
        *,
        grammar: Grammar,
        answering: Answering,
        memory: Memory,
        installs: Installs,
        settings: SlackSettings,
        saving: Saving,
    ) -> None:
        self.grammar, self.answering, self.memory = grammar, answering, memory
        self.installs, self.settings, self.saving = installs, settings, saving
        self.counters = Counters()
        self._work = ThreadPoolExecutor(WORKERS, thread_name_prefix="slack-answer")
        self._tasks: set[asyncio.Task[None]] = set()
        self._users = Bucket(settings.user_per_minute)
        self._teams = Bucket(settings.workspace_per_minute)

    async def take(self, key: str, question: Question) -> None:
        """Write a question down and start on it; a retry of one already taken in is dropped."""
        begun = asyncio.ensure_future(self.memory.begin(key, question))
        try:
            fresh = await asyncio.wait_for(asyncio.shield(begun), TAKEN_IN_S)
        except TimeoutError:
            self._start(self._later(begun, key, question))
            return
        except PlannerError:
            fresh = True  # without the database the question is still answered, only not remembered
        self._go_on(key, question, fresh=fresh)

    async def _later(self, begun: asyncio.Future[bool], key: str, question: Question) -> None:
        self._go_on(key, question, fresh=await begun)

    def _go_on(self, key: str, question: Question, *, fresh: bool) -> None:
        if fresh:
            self._start(self.answer(key, question))
        else:
            self.counters.duplicates += 1

    def _start(self, work: Any) -> None:  # noqa: ANN401 - a coroutine
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def resume(self) -> int:
        """Answer what another process took in and left behind; too old or too often tried is apologised for."""
        before = datetime.now(UTC) - timedelta(seconds=ORPHAN_S)
        orphans = await self.memory.on_disk(self.memory.store.adopt, self.memory.owner, before)
        for orphan in orphans:
            question = self.memory.question(orphan)
            stale = orphan.attempts > MOST_ATTEMPTS or datetime.now(UTC) - orphan.created_at > timedelta(minutes=25)
            self._start(self._apologise(orphan.key, question) if stale else self.answer(orphan.key, question))
        return len(orphans)

    async def drain(self) -> None:
        """Finish what is under way before leaving."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=10)
        self._work.shutdown(wait=False, cancel_futures=True)

    async def idle(self) -> None:
        """Return when nothing is under way."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def answer(self, key: str, question: Question) -> None:
        """Answer one question and write down how it ended."""
        failed = True
        try:
            outcome = await self._answered(question)
            failed = False
        except SlackApiError as error:
            outcome = await self._refused(question, error)
        except Exception as error:  # noqa: BLE001 - whatever it was, the person must hear of it
            _log.warning("a Slack answer failed: %s", type(error).__name__)
            outcome = f"error:{type(error).__name__}"
            await self._say(question, APOLOGY)
        self.counters.failed += failed
        self.counters.answered += not failed
        await self.memory.finish(key, question, outcome, failed=failed)

    async def _answered(self, question: Question) -> str:
        wait = max(self._teams.take(question.team), self._users.take(f"{question.team}/{question.user}"))
        if wait > 0:
            self.counters.limited += 1
            await (await self.place(question)).write(
                blocks.line(f"That is a lot at once. Try again in {wait:.0f} s."), "Too many questions"
            )
            return "limited"
        if question.control is not None:
            return await self._controlled(question)
        command = await self.saving.command(self, question)
        if command is not None:
            return command
        context = await self.memory.context(question.team, question.channel, question.thread)
        return await self.respond(question, self.grammar.read(question.text, context))

    async def _controlled(self, question: Question) -> str:
        """A button, a menu or a form under an answer."""
        context = await self.memory.context(question.team, "answer", question.key)
        if context is None:
            await self._say(question, "That answer is too old to work on; please ask again.")
            return "forgotten"
        question = replace(question, channel=context.get("channel") or question.channel, thread=context.get("thread"))
        control = str(question.control)
        if control == "form":
            changed = filled(context, dict(question.form))
        elif control in {"save", "watch", "share", "assumptions"}:
            return await self.saving.control(self, question, context)
        else:
            changed = edited(context, control.removeprefix("edit:"), question.value)
        return await self.respond(question, Parsed(
            intent=changed["intent"], parse=changed["parse"], demand=context.get("demand", {})))

    async def respond(self, question: Question, parsed: Parsed) -> str:
        """Help, one line out of scope, a form, or the answer."""
        place = await self.place(question)
        if parsed.intent == "help":
            await place.write(blocks.help_card(), "What I can answer")
            return "help"
        if parsed.intent == "unknown":
            await place.write(blocks.scope_line(), "Out of scope")
            return "unknown"
        key = await self.memory.keep(question, parsed)
        if parsed.ask:
            await place.write(blocks.form(parsed, key, self.grammar.vocabulary), "I need to know a little more")
            return f"asked:{parsed.intent}"
        reply = await self._with_progress(parsed, place)
        client = await self.installs.client(question.team)
        picture = await self._picture(reply, client) if client is not None else None
        await place.write(self.card(reply, parsed, key, picture), reply.verdict)
        return parsed.intent

    def card(self, reply: Reply, parsed: Parsed, key: str, picture: str | None, *, shared: bool = False) -> list[Block]:
        """The finished card."""
        notes = (*parsed.notes, *(warning(code) for code in parsed.warn))
        several = len(parsed.parse.get("skus", ())) > 1
        menu = [] if several else [(s.name, s.id) for s in self.grammar.vocabulary.usual_skus()]
        return blocks.answer_card(
            reply,
            parsed.parse,
            key,
            notes=notes,
            file_id=picture,
            shared=shared,
            skus=menu,
            public_url=self.settings.public_url,
        )

    async def _picture(self, reply: Reply, client: Any) -> str | None:  # noqa: ANN401 - a web client
        if reply.chart is None:
            return None
        from planner.slack.charts import png  # noqa: PLC0415 - matplotlib takes 0.4 s to import

        content = await asyncio.get_running_loop().run_in_executor(self._work, png, reply.chart)
        return await uploaded(client, content, reply.chart.title, blocks.alt_text(reply))

    async def _with_progress(self, parsed: Parsed, place: Place) -> Reply:
        """The reply; a long one is announced and its progress shown in the same message."""
        share = [0.0]

        def progress(value: float) -> None:
            share[0] = value

        work = asyncio.ensure_future(self.compute(parsed, progress))
        wait = SILENT_S
        for _ in range(BEATS):
            done, _pending = await asyncio.wait({work}, timeout=wait)
            if done:
                break
            wait = BEAT_S
            await place.write(blocks.line(f"Working on it … {share[0]:.0%}"), "Working on it")
        return await work

    async def compute(self, parsed: Parsed, progress: Any = None) -> Reply:  # noqa: ANN401 - a callback
        """The reply, computed beside the event loop."""
        run = self.answering.reply
        arguments = (parsed, "default", progress) if progress is not None else (parsed,)
        return await asyncio.get_running_loop().run_in_executor(self._work, run, *arguments)

    async def place(self, question: Question) -> Place:
        """Where a question is answered."""
        if question.response_url is not None:
            return ResponseAddress(question.response_url, self.settings.api_url, replace=question.control is not None)
        client = await self.installs.client(question.team)
        if client is None:
            raise PlannerError("The app is not installed in this workspace any more.")
        return Thread(client, question.channel, question.thread)

    async def _refused(self, question: Question, error: SlackApiError) -> str:
        """Slack would not take the answer."""
        code = code_of(error)
        if code in TOKEN_ERRORS:
            await self.installs.close(question.team, "expired" if code == "token_expired" else "revoked")
            text = "My access to this workspace has expired. An admin can install the app again."
        else:
            text = APOLOGY
        _log.warning("Slack refused an answer: %s", code or "unknown")
        await self._say(question, text)
        return f"slack:{code}"

    async def _apologise(self, key: str, question: Question) -> None:
        await self._say(question, APOLOGY)
        await self.memory.finish(key, question, "apologised", failed=True)

    async def _say(self, question: Question, text: str) -> None:
        """A last word; when even that is refused, only the log knows."""
        try:
            await (await self.place(question)).write(blocks.line(text), text)
        except Exception as error:  # noqa: BLE001 - nothing is left to tell it to
            _log.warning("a Slack apology failed: %s", type(error).__name__)
