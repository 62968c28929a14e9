"""Saving a question as a scenario, sharing an answer, watching: asking again and posting what changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from planner.core.errors import PlannerError
from planner.services.conversations import Watch
from planner.services.parse import Parsed
from planner.services.ports import Caller
from planner.slack import blocks
from planner.slack.elements import escaped, section
from planner.slack.places import ResponseAddress, Thread

if TYPE_CHECKING:
    from planner.services.questions.reply import Reply
    from planner.services.resources import ResourceService
    from planner.slack.desk import Desk
    from planner.slack.questions import Question

PERIODS = {"hourly": 3600.0, "daily": 86400.0, "weekly": 604800.0}
"""How often a watch is asked [s]."""
MOST_WATCHES = 50
"""Of one workspace [1]."""
_COMMAND = re.compile(
    r"^\s*(?:<@\w+>\s*)?(?P<verb>save|watch|unwatch|watches)\b(?:\s+(?:as\s+)?(?P<name>[A-Za-z0-9][\w.-]{0,60}))?"
    r"(?:\s+(?P<period>hourly|daily|weekly))?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Saving:
    """Commands and buttons that keep a question."""

    resources: ResourceService

    async def command(self, desk: Desk, question: Question) -> str | None:
        """Answer ``save``, ``watch``, ``unwatch`` and ``watches``; None when the text is something else."""
        match = _COMMAND.match(question.text)
        if match is None:
            return None
        verb, name = match["verb"].lower(), (match["name"] or "").lower()
        period = (match["period"] or "daily").lower()
        if name in PERIODS and not match["period"]:
            name, period = "", name
        if verb == "watches":
            return await self._list(desk, question)
        if verb == "unwatch":
            return await self._unwatch(desk, question, name)
        context = await desk.memory.context(question.team, question.channel, question.thread)
        if context is None:
            await self._tell(
                desk, question, f"Ask something in a thread first, then say {verb} there, or use the buttons."
            )
            return f"{verb}:nothing"
        return await self._keep(desk, question, context, verb, name, period)

    async def control(self, desk: Desk, question: Question, context: Mapping[str, Any]) -> str:
        """Answer the buttons save, watch, share and assumptions."""
        control = str(question.control)
        if control in {"save", "watch"}:
            return await self._keep(desk, question, context, control, "", "daily")
        parsed = Parsed(intent=context["intent"], parse=dict(context["parse"]), demand=context.get("demand", {}))
        reply = await desk.compute(parsed)
        if control == "assumptions":
            lines = [f"• {escaped(text)}" for text in reply.assumptions]
            await (await self._beside(desk, question)).write(
                [section("*Assumptions*\n" + "\n".join(lines))], "Assumptions"
            )
            return "assumptions"
        card = desk.card(reply, parsed, question.key or "", None, shared=True)
        if question.response_url is not None:
            address = ResponseAddress(question.response_url, desk.settings.api_url, replace=False)
            await address.announce(card, reply.verdict)
        return "share"

    async def _keep(
        self, desk: Desk, question: Question, context: Mapping[str, Any], verb: str, name: str, period: str
    ) -> str:
        """Save or watch a request under a name, its own when none is given."""
        name = name or _name_of(context)
        parsed = Parsed(intent=context["intent"], parse=dict(context["parse"]), demand=context.get("demand", {}),
                        ask=tuple(context.get("ask") or ()))
        if verb == "save":
            return await self._save(desk, question, parsed, name)
        if parsed.ask:
            await self._tell(desk, question, "Nothing to watch yet: first say what I asked for above.")
            return "watch:open"
        if len(await desk.memory.on_disk(desk.memory.store.watches, question.team)) >= MOST_WATCHES:
            await self._tell(
                desk, question, f"This workspace already has {MOST_WATCHES} watches; end one with unwatch NAME."
            )
            return "watch:full"
        reply = await desk.compute(parsed)
        watch = Watch(
            team_id=question.team,
            name=name,
            channel=question.channel,
            created_by=question.user,
            context=desk.memory.seal.close(dict(context)),
            digest=digest(reply),
            every_s=PERIODS[period],
            next_at=datetime.now(UTC) + timedelta(seconds=PERIODS[period]),
        )
        await desk.memory.on_disk(desk.memory.store.put_watch, watch)
        await self._tell(desk, question, f"Watching {name} ({period}): I post here when this changes: {reply.verdict}")
        return "watch"

    async def _save(self, desk: Desk, question: Question, parsed: Parsed, name: str) -> str:
        outcomes = () if parsed.ask else (await desk.compute(parsed)).outcomes
        document = {
            "id": name,
            "name": name,
            "question": {"intent": parsed.intent, "parse": parsed.parse},
            "plans": [dict(outcome.document) for outcome in outcomes if outcome.document],
        }
        caller = Caller(name=f"slack:{question.team}/{question.user}")
        try:
            made = await desk.memory.on_disk(self.resources.create, "scenario", caller, document, None)
        except PlannerError as error:
            await self._tell(desk, question, f"Not saved: {error.detail}")
            return f"save:{error.code}"
        await self._tell(desk, question, f"Saved as scenario {made.entry.id}.")
        return "save"

    async def _list(self, desk: Desk, question: Question) -> str:
        watches = await desk.memory.on_disk(desk.memory.store.watches, question.team)
        text = "\n".join(f"{w.name}, every {w.every_s / 3600:g} h" for w in watches) or "Nothing is watched here."
        await self._tell(desk, question, text)
        return "watches"

    async def _unwatch(self, desk: Desk, question: Question, name: str) -> str:
        gone = await desk.memory.on_disk(desk.memory.store.drop_watch, question.team, name)
        await self._tell(
            desk, question, f"No longer watching {name}." if gone else f"Nothing called {name} is watched."
        )
        return "unwatch" if gone else "unwatch:nothing"

    async def _tell(self, desk: Desk, question: Question, text: str) -> None:
        await (await self._beside(desk, question)).write(blocks.line(text), text)

    async def _beside(self, desk: Desk, question: Question) -> ResponseAddress | Thread:
        """A new message, private where it can be, so that a button does not overwrite the answer it belongs to."""
        if question.response_url is not None:
            return ResponseAddress(question.response_url, desk.settings.api_url, replace=False)
        place = await desk.place(question)
        if not isinstance(place, Thread):
            raise PlannerError("There is nowhere to answer.")
        return place


async def ask_again(desk: Desk, now: datetime) -> int:
    """Ask every watch that is due; post those whose answer changed, and return how many."""
    changed = 0
    for watch in await desk.memory.on_disk(desk.memory.store.due, now):
        context = desk.memory.seal.open(watch.context)
        parsed = Parsed(intent=context["intent"], parse=dict(context["parse"]), demand=context.get("demand", {}))
        reply = await desk.compute(parsed)
        fresh = digest(reply)
        if fresh == watch.digest:
            continue
        client = await desk.installs.client(watch.team_id)
        if client is None:
            continue
        card = [
            section(f"*{escaped(watch.name)} has changed*"),
            *desk.card(reply, parsed, "", None, shared=True),
        ]
        await Thread(client, watch.channel, None).write(card, f"{watch.name} has changed: {reply.verdict}")
        await desk.memory.on_disk(
            desk.memory.store.put_watch, replace(watch, digest=fresh, next_at=now + timedelta(seconds=watch.every_s))
        )
        changed += 1
    return changed


def digest(reply: Reply) -> str:
    """What counts as the same answer: verdict, lines and figures as they are read, to three digits."""
    text = "\n".join([reply.verdict, *reply.lines, *(f"{f.label} {f.text}" for f in reply.figures)])
    return hashlib.sha256(text.encode()).hexdigest()


def _name_of(context: Mapping[str, Any]) -> str:
    """A name from the request itself: model, GPUs and a digest that keeps it apart."""
    parse = context["parse"]
    model = str(parse.get("model") or (parse.get("models") or ["models"])[0]).split("/")[-1]
    skus = "-".join(str(s).split("-")[0] for s in parse.get("skus", ())[:3])
    tail = hashlib.sha256(repr(sorted(parse.items())).encode()).hexdigest()[:6]
    return re.sub(r"[^a-z0-9.-]+", "-", "-".join(filter(None, [model, skus, tail])).lower())
