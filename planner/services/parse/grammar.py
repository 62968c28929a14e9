"""The deterministic grammar: one text, and the earlier request of its thread, to one request or what must be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from planner.services.parse import merging, relatives, settling
from planner.services.parse.canvas import Canvas
from planner.services.parse.cleaning import clean
from planner.services.parse.intents import intent_of
from planner.services.parse.model_names import ModelMention
from planner.services.parse.models import ModelIndex
from planner.services.parse.reading import Reading, read_edits, read_names, read_values, signals
from planner.services.parse.skus import SkuIndex
from planner.services.parse.spelling import Speller
from planner.services.parse.vocabulary import ModelEntry, Vocabulary

NEEDED: Mapping[str, tuple[str, ...]] = {
    "fits": ("model", "skus"),
    "plan": ("model", "skus"),
    "batch": ("model", "skus"),
    "why": ("model", "skus"),
    "compare": ("model",),
    "size": ("model",),
    "cost": ("model",),
}
"""What an intent cannot be answered without."""
_MEMORY_ASKED = re.compile(r"\bhow much (?:gpu |of )?(?:v?ram|memory)\b")
_ANSWER = frozenset({"intent", "parse", "ask", "choices", "warn", "notes", "unread", "demand"})
_SIZE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?b(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One message understood."""

    intent: str
    parse: dict[str, Any] = field(default_factory=dict)
    ask: tuple[str, ...] = ()
    choices: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warn: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """Plain sentences on how something was read."""
    unread: str = ""
    """Words nothing was made of."""
    demand: dict[str, Any] = field(default_factory=dict)
    """What is asked for that is no key of the request: tokens per second of all users, or the first token alone."""

    def document(self) -> dict[str, Any]:
        """The fields of POST /v1/parse."""
        return {name: value for name, value in asdict(self).items() if name != "demand"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Thread:
    """The message before."""

    intent: str | None = None
    parse: dict[str, Any] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    demand: Mapping[str, Any] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return self.intent is not None or bool(self.parse)


class Grammar:
    """Reads texts with one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._models = ModelIndex(vocabulary)
        self._skus = SkuIndex(vocabulary)
        self._speller = Speller(self._models.known, self._models.pairs)

    def read(self, text: str, context: Mapping[str, Any] | None = None) -> Parsed:
        """The request in a text; ``context`` is the earlier answer of the thread or its ``parse`` alone."""
        thread = _thread(context)
        canvas = Canvas(self._speller.correct(clean(text)))
        reading = read_names(canvas, self._models, self._skus)
        read_values(canvas, reading, before=thread.parse, demand=thread.demand)
        if thread.exists:
            if all(m.entry is None for m in reading.models):
                self._read_choice(canvas, reading, thread)
            read_edits(canvas, reading, thread.parse)
        intent = intent_of(signals(canvas, reading, followed=thread.exists)) or thread.intent or "plan"
        if intent in {"help", "unknown"}:
            return Parsed(intent=intent, unread=canvas.rest())
        return self._finish(canvas, reading, thread, intent)

    def _read_choice(self, canvas: Canvas, reading: Reading, thread: _Thread) -> None:
        """An answer to an open choice ("the 8x7b one"), or a sibling of the thread's model ("and the 14b?")."""
        chosen = self._chosen(canvas.text, thread.choices.get("model", ()))
        current = self.vocabulary.model(str(thread.parse.get("model", "")))
        if chosen is None and current is not None and _SIZE.search(canvas.text):
            chosen = relatives.sibling(self._models, canvas.text, current)
        elif chosen is None and current is not None:
            chosen = relatives.version(self._models, canvas.text, current) or relatives.by_size(
                self._models, canvas.text, current
            )
        if chosen is not None:
            reading.models = [ModelMention(start=0, end=0, said=chosen.name, candidates=(chosen,))]

    def _boxed(self, boxes: int, skus: list[str]) -> list[int | None]:
        """GPUs of so many boxes of each SKU; unknown for parts that come in none."""
        entries = [self.vocabulary.sku(s) for s in skus]
        return [boxes * e.box if e is not None and e.box else None for e in entries]

    def _chosen(self, text: str, offered: tuple[str, ...] | list[str]) -> ModelEntry | None:
        """The offered model that most parts of the text speak for, or that a word sets beside the others."""
        entries = [e for identifier in offered if (e := self.vocabulary.model(identifier)) is not None]
        if (related := relatives.among(entries, text)) is not None:
            return related
        atoms = self._models.atoms(text)
        votes = [
            (sum(self._models.matches(m, a) for a in atoms), m.entry)
            for m in self._models.models
            if m.entry.id in set(offered)
        ]
        most = max((count for count, _ in votes), default=0)
        winners = [entry for count, entry in votes if count == most]
        return winners[0] if most and len(winners) == 1 else None

    def _finish(self, canvas: Canvas, reading: Reading, thread: _Thread, intent: str) -> Parsed:
        """Merge, resolve what depends on other parts, and say what must be asked."""
        said = settling.stated(reading)
        choices = settling.open_names(reading, self._models)
        before = {k: v for k, v in thread.parse.items() if k not in merging.cleared(canvas.text)}
        if reading.dropped and before.get("skus"):
            before = settling.without(before, reading.dropped)
        add = merging.adds(canvas.text) and not reading.dropped
        parse = (
            merging.merge(before, said, add=add, each=reading.each)
            if thread.exists
            else settling.alone(said, reading.each)
        )
        if reading.boxes is not None:
            parse["gpus"] = self._boxed(reading.boxes, parse["skus"])
        if thread.exists:
            merging.reread_speed(parse, before, reading.demand)
        if "model" in choices and not said.keys() & {"model", "models"}:
            parse.pop("model", None)
        intent = _refined(intent, parse, said, thread, canvas.text, open_skus="skus" in choices)
        settling.settle_formats(parse, reading, self.vocabulary)
        settling.settle_prices(parse, reading, self.vocabulary)
        missing = [k for k in NEEDED[intent] if not (parse.get(k) or (k == "model" and parse.get("models")))]
        return Parsed(
            intent=intent,
            parse=parse,
            ask=tuple(dict.fromkeys([*missing, *choices])),
            choices=choices,
            warn=tuple(dict.fromkeys(reading.warn)),
            notes=tuple(dict.fromkeys(reading.notes)),
            unread=canvas.rest(),
            demand=dict(reading.demand or merging.kept_demand(thread.demand, said)),
        )


def _refined(
    intent: str, parse: Mapping[str, Any], said: Mapping[str, Any], thread: _Thread, text: str, *, open_skus: bool
) -> str:
    """The intent once the whole request is known: options added make a comparison, memory without a GPU a sizing."""
    options, earlier = len(parse.get("skus", ())), len(thread.parse.get("skus", ()))
    grown = "skus" in said and options > earlier >= 1
    if (
        thread.parse
        and intent not in {"why", "cost"}
        and (grown or isinstance(parse.get("weights"), list) or "models" in parse)
    ):
        return "compare"
    if intent == "plan" and not options and not open_skus and "budget_usd" in parse:
        return "size"
    if intent == "fits" and not options and not open_skus and _MEMORY_ASKED.search(text):
        return "size"
    return intent


def _thread(context: Mapping[str, Any] | None) -> _Thread:
    """The message before: from a whole answer, from its parse alone, or from a parse with the intent beside it."""
    if not context:
        return _Thread()
    beside = {k: v for k, v in context.items() if k not in _ANSWER}
    parse = dict(context["parse"] or {}) if "parse" in context else beside
    intent = context.get("intent") if _ANSWER & context.keys() else _implied(parse)
    return _Thread(
        intent=None if intent in {"help", "unknown"} else intent,
        parse=parse,
        choices=context.get("choices") or {},
        demand=context.get("demand") or {},
    )


def _implied(parse: Mapping[str, Any]) -> str:
    """The likely intent of a request whose own is not known."""
    if len(parse.get("skus", ())) > 1 or "models" in parse or isinstance(parse.get("weights"), list):
        return "compare"
    if "api_price" in parse or "price" in parse:
        return "cost"
    if "budget_usd" in parse or ("gpus" not in parse and "request_rate" in parse):
        return "size"
    return "plan"
