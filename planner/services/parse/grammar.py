"""The deterministic grammar: one text, and the earlier request of its thread, to one request or to what must be asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.services.parse import counts, formats, lengths, load, merging, money, settings, targets
from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.cleaning import clean
from planner.services.parse.intents import Signals, intent_of
from planner.services.parse.models import ModelIndex, ModelMention
from planner.services.parse.outsiders import closed_models, unknown_models
from planner.services.parse.skus import SkuIndex, SkuMention, unknown_skus
from planner.services.parse.spelling import Speller
from planner.services.parse.vocabulary import ModelEntry, Vocabulary

NEEDED = {"fits": ("model", "skus"), "plan": ("model", "skus"), "batch": ("model", "skus"), "why": ("model", "skus"),
          "compare": ("model",), "size": ("model",), "cost": ("model",)}
_MEMORY_ASKED = re.compile(r"\bhow much (?:gpu |of )?(?:v?ram|memory)\b")
_LOAD = ("concurrency", "request_rate", "slo", "users")


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


@dataclass(slots=True)
class _Reading:
    """What one text says by itself, before the thread is merged in."""

    said: dict[str, Any] = field(default_factory=dict)
    models: list[ModelMention] = field(default_factory=list)
    skus: list[SkuMention] = field(default_factory=list)
    warn: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    prices: list[money.HourPrice] = field(default_factory=list)
    formats: formats.Formats = field(default_factory=formats.Formats)
    dropped: list[str] = field(default_factory=list)
    each: int | None = None
    money_asked: bool = False


class Grammar:
    """Reads texts with one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._models = ModelIndex(vocabulary)
        self._skus = SkuIndex(vocabulary)
        self._speller = Speller(self._models.known)

    def read(self, text: str, context: Mapping[str, Any] | None = None) -> Parsed:
        """The request in a text; ``context`` is the earlier answer of the thread or its ``parse`` alone."""
        earlier, before, offered = _earlier(context)
        followed = context is not None and bool(before or earlier)
        canvas = Canvas(self._speller.correct(clean(text)))
        reading = self._read_names(canvas)
        self._read_values(canvas, reading, before, followed=followed)
        if followed:
            self._read_edits(canvas, reading, before, offered)
        signals = self._signals(canvas, reading, followed=followed)
        intent = intent_of(signals)
        return self._finish(canvas, reading, before, earlier, intent, offered)

    def _read_names(self, canvas: Canvas) -> _Reading:
        """Engine, layout, formats, GPUs, models, in the order in which they could be taken for one another."""
        reading = _Reading()
        settings.read_settings(canvas, reading.said)
        reading.formats = formats.read_formats(canvas)
        skus = self._skus.find(canvas)
        closed = closed_models(canvas, self._models)
        reading.models = [*closed, *self._models.find(canvas)]
        skus = sorted([*skus, *unknown_skus(canvas)], key=lambda m: m.start)
        kept = []
        for mention in skus:
            entry = mention.entry
            if entry is not None and merging.leaves(canvas.open[max(0, mention.start - 24):mention.start].replace(BLANK, " ")):
                reading.dropped.append(entry.id)
            else:
                kept.append(mention)
        reading.skus = counts.count_mentions(canvas, kept)
        reading.models += unknown_models(canvas, self._models)
        return reading

    def _read_values(self, canvas: Canvas, reading: _Reading, before: Mapping[str, Any], *, followed: bool) -> None:
        """Everything with a number."""
        said = reading.said
        load.read_tokens_per_month(canvas, said)
        reading.prices, reading.money_asked = money.read_money(canvas, said, reading.warn)
        targets.read_targets(canvas, said, reading.warn)
        load.read_rate(canvas, said)
        settings.read_ratios(canvas, said)
        reading.each = counts.each_count(canvas) if len(reading.skus) > 1 or (followed and len(before.get("skus", ())) > 1) else None
        lengths.read_lengths(canvas, said)
        load.read_people(canvas, said)
        loose = counts.loose_count(canvas)
        if loose is not None and not any(m.gpus for m in reading.skus):
            said["_loose"] = loose
        lengths.read_bare_pair(canvas, said)
        lengths.read_bare_context(canvas, said)
        settings.read_bare_ratio(canvas, said)

    def _read_edits(self, canvas: Canvas, reading: _Reading, before: Mapping[str, Any], offered: Mapping[str, Any]) -> None:
        """What only makes sense after an earlier request: bare counts and sizes, a choice, a changed target."""
        said = reading.said
        if not reading.models or all(m.entry is None for m in reading.models):
            self._read_choice(canvas, reading, before, offered)
        if "slo" in before:
            targets.read_target_edit(canvas, before["slo"], said)
        if "_loose" not in said and not any(m.gpus for m in reading.skus) and before.get("skus") \
                and (bare := counts.bare_count(canvas)) is not None:
            said["_loose"] = bare

    def _read_choice(self, canvas: Canvas, reading: _Reading, before: Mapping[str, Any], offered: Mapping[str, Any]) -> None:
        """An answer to a choice, or a sibling of the thread's model."""
        ids = [i for i in offered.get("model", ()) if self.vocabulary.model(i) is not None]
        options = [m for m in self._models.models if m.entry.id in ids]
        atoms = self._models.atoms(canvas.text)
        best = [m for m in options if any(self._models.matches(m, a) for a in atoms)]
        ranked = sorted(best, key=lambda m: -sum(self._models.matches(m, a) for a in atoms))
        if ranked and (len(ranked) == 1 or sum(self._models.matches(ranked[0], a) for a in atoms)
                       > sum(self._models.matches(ranked[1], a) for a in atoms)):
            chosen = ranked[0].entry
        else:
            current = self.vocabulary.model(str(before.get("model", "")))
            sizes = re.search(r"(?<![\w.])\d+(?:\.\d+)?b(?!\w)", canvas.text)
            chosen = self._models.sibling(canvas.text, current) if current is not None and sizes else None  # type: ignore[assignment]
        if chosen is not None:
            reading.models = [ModelMention(start=0, end=0, said=chosen.name, candidates=(chosen,))]

    def _signals(self, canvas: Canvas, reading: _Reading, *, followed: bool) -> Signals:
        marks = sorted([(m.start, m.end, " §sku ") for m in reading.skus] + [(m.start, m.end, " §model ") for m in reading.models])
        full, opened = _sketch(canvas.text, marks), _sketch(canvas.open, marks)
        said = reading.said
        axes = (len([m for m in reading.skus if m.candidates and (m.entry is not None)]) > 1 and len(_options(reading)) > 1
                or len({m.entry.id for m in reading.models if m.entry}) > 1 or len([m for m in reading.models if m.candidates or not m.known]) > 1
                or len({n for n, _ in reading.formats.weights}) > 1 or len(reading.formats.cache) > 1
                or any(isinstance(said.get(k), list) for k in ("tensor_parallel", "data_parallel", "pipeline_parallel", "context_tokens"))
                or sum(k in said for k in ("tensor_parallel", "data_parallel", "pipeline_parallel")) > 1 and " or " in full
                or len([m for m in reading.skus if not m.candidates]) and len(reading.skus) > 1)
        if followed and (reading.skus or reading.models or reading.formats.weights) and re.search(
        r"\b(?:vs|versus|against|compared?)\b", full):
            axes = True
        return Signals(text=re.sub(r"\s+", " ", full), open=re.sub(rf"{BLANK}+", "§ ", opened), money_asked=reading.money_asked,
                       axes=bool(axes), content=bool(said or reading.models or reading.skus or reading.formats.weights
                                                     or reading.formats.cache or reading.prices or reading.dropped or reading.each),
                       named=bool(reading.models or reading.skus), loaded=any(k in said for k in _LOAD), followed=followed,
                       priced_api="api_price" in said)

    def _finish(self, canvas: Canvas, reading: _Reading, before: dict[str, Any], earlier: str | None, intent: str | None,
                offered: Mapping[str, Any]) -> Parsed:
        """Merge, resolve what depends on other parts, and say what must be asked."""
        del offered
        intent = intent or earlier or "plan"
        if intent in {"help", "unknown"}:
            return Parsed(intent=intent, unread=canvas.rest())
        said = self._said(reading)
        choices: dict[str, tuple[str, ...]] = {}
        open_names = self._open_names(reading, said, choices)
        cut = dict(before)
        for key in merging.cleared(canvas.text):
            cut.pop(key, None)
        if reading.dropped and cut.get("skus"):
            cut = _without(cut, reading.dropped)
        add = merging.adds(canvas.text) and not reading.dropped
        parse = merging.merge(cut, said, add=add, each=reading.each) if before or earlier else self._alone(said, reading.each)
        for key in open_names:
            if key == "model" and "model" in parse and not before.get("model"):
                continue
            if key == "model" and "models" not in said and "model" not in said:
                parse.pop("model", None)
        if intent not in {"why", "cost"} and before and (len(parse.get("skus", ())) > len(before.get("skus", ())) >= 1 and "skus" in said
                                                 or isinstance(parse.get("weights"), list) or "models" in parse):
            intent = "compare"
        if intent == "fits" and "skus" not in parse and "skus" not in open_names and _MEMORY_ASKED.search(canvas.text):
            intent = "size"
        self._settle_formats(parse, reading)
        self._settle_prices(parse, reading)
        ask = [k for k in NEEDED.get(intent, ()) if k in open_names or not (parse.get(k) or (k == "model" and parse.get("models")))]
        ask += [k for k in open_names if k not in ask]
        return Parsed(intent=intent, parse=parse, ask=tuple(ask), choices=choices, warn=tuple(dict.fromkeys(reading.warn)),
                      notes=tuple(dict.fromkeys(reading.notes)), unread=canvas.rest())

    def _said(self, reading: _Reading) -> dict[str, Any]:
        """The keys this text states by itself."""
        said = dict(reading.said)
        loose = said.pop("_loose", None)
        ids = list(dict.fromkeys(m.entry.id for m in reading.models if m.entry is not None))
        if len(ids) == 1:
            said["model"] = ids[0]
        elif ids:
            said["models"] = ids
        options = _options(reading)
        if options:
            said["skus"] = [s for s, _ in options]
            gpus = [n for _, n in options]
            if loose is not None and all(n is None for n in gpus):
                gpus = [loose] * len(gpus)
            if any(n is not None for n in gpus):
                said["gpus"] = gpus
        elif loose is not None:
            said["gpus"] = [loose]
        names = [n for n, _ in reading.formats.weights]
        if names:
            aligned = len(names) == len(options) > 1
            unique = names if aligned else list(dict.fromkeys(names))
            said["weights"] = unique[0] if len(set(unique)) == 1 else unique
        if reading.formats.cache:
            said["kv_cache"] = reading.formats.cache[0] if len(reading.formats.cache) == 1 else reading.formats.cache
        return said

    @staticmethod
    def _alone(said: dict[str, Any], each: int | None) -> dict[str, Any]:
        """A request with no thread before it."""
        parse = dict(said)
        if "skus" not in parse:
            parse.pop("gpus", None) if parse.get("gpus") is None else None
        elif each is not None:
            counts_said = parse.get("gpus") or [None] * len(parse["skus"])
            parse["gpus"] = [n if n is not None else each for n in counts_said]
        return parse

    def _open_names(self, reading: _Reading, said: Mapping[str, Any], choices: dict[str, tuple[str, ...]]) -> list[str]:
        """Names that were said but do not single out an entry."""
        del said
        found = []
        for mention in reading.models:
            if mention.entry is not None:
                if mention.nicknamed:
                    reading.notes.append(self._nick_note(mention.said, mention.entry))
                continue
            found.append("model")
            choices["model"] = tuple(e.id for e in mention.candidates)
            if not mention.known:
                reading.warn.append("unknown_model")
        for sku in reading.skus:
            if sku.entry is not None:
                continue
            found.append("skus")
            if sku.candidates:
                choices["skus"] = tuple(e.id for e in sku.candidates)
            else:
                reading.warn.append("unknown_sku")
                choices["skus"] = tuple(e.id for e in _closest_skus(sku.said, self.vocabulary))
        return list(dict.fromkeys(found))

    def _nick_note(self, said: str, entry: ModelEntry) -> str:
        """How a nickname was read, and for which other models the answer holds."""
        alike = [e.name.split("/")[-1] for e in self._models.alike(entry)]
        also = f", with the same tensors as {', '.join(alike[:3])}" if alike else ""
        return f"\"{said}\" is read as {entry.name.split('/')[-1]}{also}."

    def _settle_formats(self, parse: dict[str, Any], reading: _Reading) -> None:
        """Eight bit is fp8 where every GPU has the units, weight-only where none has."""
        weights = parse.get("weights")
        if weights is None:
            return
        units = [entry.has_fp8() for s in parse.get("skus", ()) if (entry := self.vocabulary.sku(s)) is not None]
        eight = "fp8" if units and all(units) else "w8a16" if units and not any(units) else "8bit"
        settled = [eight if w == "8bit" else w for w in weights] if isinstance(weights, list) else eight if weights == "8bit" else weights
        if settled != weights:
            reading.notes.append(f"8 bit is read as {eight}." if eight != "8bit" else
                                 "8 bit means fp8 on GPUs with fp8 units and weight-only w8a16 on the others.")
        parse["weights"] = settled

    def _settle_prices(self, parse: dict[str, Any], reading: _Reading) -> None:
        """Prices per GPU hour: one, or one for each option; a node's price is divided by its count."""
        if not reading.prices:
            return
        gpus = parse.get("gpus") or []
        values: list[float] = []
        prices = sorted(reading.prices, key=lambda p: p.position)
        for index, price in enumerate(prices):
            value = price.value
            boxed = any(m.boxed and 0 <= price.position - m.end <= 8 for m in reading.skus) and not price.single
            if price.node or boxed:
                count = gpus[index] if index < len(gpus) and len(prices) > 1 else next((n for n in gpus if n), None)
                if count is None:
                    entry = self.vocabulary.sku(parse["skus"][0]) if parse.get("skus") else None
                    count = entry.box if entry is not None and entry.box else 1
                value = value / count
                reading.warn.append("node_price")
            values.append(money.tidy(value))
        spread = len(parse.get("skus", ())) > 1 and len(values) == len(parse["skus"])
        parse["price"] = {"usd_per_gpu_hour": values if spread else values[0]}


def _options(reading: _Reading) -> list[tuple[str, int | None]]:
    """SKUs with their counts; a part said again without another count is the same option."""
    options: list[tuple[str, int | None]] = []
    for mention in reading.skus:
        if mention.entry is None:
            continue
        same = [k for k, (s, _) in enumerate(options) if s == mention.entry.id]
        if not same:
            options.append((mention.entry.id, mention.gpus))
        elif options[same[-1]][1] is None:
            options[same[-1]] = (mention.entry.id, mention.gpus)
        elif mention.gpus is not None and all(options[k][1] != mention.gpus for k in same):
            options.append((mention.entry.id, mention.gpus))
    return options


def _sketch(text: str, marks: list[tuple[int, int, str]]) -> str:
    """A text with its names replaced by their kind."""
    parts, at = [], 0
    for start, end, word in marks:
        if end > start >= at:
            parts += [text[at:start], word]
            at = end
    return "".join([*parts, text[at:]])


def _without(parse: dict[str, Any], dropped: list[str]) -> dict[str, Any]:
    """The earlier request without some of its options."""
    keep = [k for k, s in enumerate(parse["skus"]) if s not in dropped]
    cut = {k: v for k, v in parse.items() if k not in {"skus", "gpus"}}
    counts_said = parse.get("gpus")
    if keep:
        cut["skus"] = [parse["skus"][k] for k in keep]
        if counts_said:
            cut["gpus"] = [counts_said[k] for k in keep]
    elif counts_said:
        cut["skus"], cut["gpus"] = parse["skus"], counts_said
    return cut


def _closest_skus(said: str, vocabulary: Vocabulary) -> list[Any]:
    """The catalogue's nearest names to one it does not have."""
    letters = re.sub(r"[^a-z]", "", said)

    def distance(name: str) -> tuple[int, int]:
        digits, own = re.findall(r"\d+", said), re.findall(r"\d+", name)
        gap = abs(int(digits[0]) - int(own[0])) if digits and own else 9999
        return (0 if letters and re.sub(r"[^a-z]", "", name.split("-")[0]) == letters else 1, gap)

    return sorted(vocabulary.skus, key=lambda s: distance(s.id))[:3]


def _earlier(context: Mapping[str, Any] | None) -> tuple[str | None, dict[str, Any], Mapping[str, Any]]:
    """Intent, request and open choices of the message before, from a whole answer or from its parse alone."""
    if context is None:
        return None, {}, {}
    if "parse" in context or "intent" in context:
        intent = context.get("intent")
        return (intent if intent not in {None, "help", "unknown"} else None), dict(context.get("parse") or {}), context.get("choices") or {}
    return (_implied(context) if context else None), dict(context), {}


def _implied(parse: Mapping[str, Any]) -> str:
    """The likely intent of a request whose own is not known."""
    if len(parse.get("skus", ())) > 1 or "models" in parse or isinstance(parse.get("weights"), list):
        return "compare"
    if "api_price" in parse or "price" in parse:
        return "cost"
    if "budget_usd" in parse or ("gpus" not in parse and "request_rate" in parse):
        return "size"
    return "plan"
