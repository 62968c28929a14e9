"""What one text says by itself, read part by part in the order in which parts could be taken for one another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from planner.services.parse import (
    counts,
    demands,
    formats,
    intents,
    lengths,
    load,
    merging,
    money,
    scaling,
    settings,
    targets,
)
from planner.services.parse.canvas import BLANK, Canvas
from planner.services.parse.intents import Signals
from planner.services.parse.model_names import ModelMention
from planner.services.parse.models import ModelIndex
from planner.services.parse.outsiders import closed_models, unknown_models
from planner.services.parse.quantities import tidy
from planner.services.parse.skus import SkuIndex, SkuMention, unknown_skus

_LOAD = ("concurrency", "request_rate", "slo", "users")
_AXES = ("tensor_parallel", "data_parallel", "pipeline_parallel", "context_tokens")
_CORRECTION = re.compile(r"\b(?:sorry|i mean|i meant|no wait|correction|make that|scratch that|oops|err?|no)\b")
_USUAL_BOX = 16
"""A bare number above this, in a thread with requests in flight, is theirs ("same with 40"), not a count of GPUs."""
_SLIGHT = frozenset(
    {"input_tokens", "output_tokens", "context_tokens", "users", "budget_usd", "power_w", "tokens_per_month"}
)
"""Keys of which one alone, in a text with other words, is no sign of a question about capacity."""
_SMALL_WORDS = re.compile(
    r"\b(?:we|i|have|has|got|need|want|for|the|our|my|about|please|pls|with|a|an|and|at|of|to|is|are|it|say|so|hi|hey"
    r"|hello|thanks|maybe|per|in|out|on|up|max|around|roughly|only|just|what|which|how|can|will|should|run|hello)\b"
)
_TAKEN_BACK = re.compile(r"\b(?:sorry|i mean|i meant|no wait|wait no|correction|scratch that|oops|nah|nope|no,)(?!\w)")
_AGAINST = re.compile(r"\b(?:vs|versus|against|compared?)\b")


@dataclass(slots=True)
class Reading:
    """What one text says by itself, before the thread is merged in."""

    said: dict[str, Any] = field(default_factory=dict)
    models: list[ModelMention] = field(default_factory=list)
    skus: list[SkuMention] = field(default_factory=list)
    formats: formats.Formats = field(default_factory=formats.Formats)
    prices: list[money.HourPrice] = field(default_factory=list)
    warn: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """SKUs a follow-up takes out of the comparison."""
    each: int | None = None
    loose: int | None = None
    """A count of GPUs said away from their name."""
    boxes: int | None = None
    """A count of boxes said in a follow-up."""
    money_asked: bool = False
    speed: demands.Speed | None = None
    """Tokens per second with nobody named."""
    demand: dict[str, Any] = field(default_factory=dict)
    """What is asked for that is no key of the request."""

    def options(self) -> list[tuple[str, int | None]]:
        """SKUs with their counts; a part said again without another count is the same option."""
        options: list[tuple[str, int | None]] = []
        for mention in self.skus:
            if mention.entry is None:
                continue
            same = [k for k, (s, _) in enumerate(options) if s == mention.entry.id]
            again = mention.article and any(options[k][1] is not None for k in same)
            other = mention.gpus is not None and all(options[k][1] not in {None, mention.gpus} for k in same)
            if not same or (other and not again):
                options.append((mention.entry.id, mention.gpus))
            elif not again and options[same[-1]][1] is None:
                options[same[-1]] = (mention.entry.id, mention.gpus)
        return options

    def content(self) -> bool:
        """Whether anything at all was understood."""
        return bool(
            self.said
            or self.models
            or self.skus
            or self.formats.weights
            or self.formats.cache
            or self.prices
            or self.dropped
            or self.each
            or self.loose
            or self.boxes
        )


def read_names(canvas: Canvas, models: ModelIndex, skus: SkuIndex) -> Reading:
    """Engine, layout, formats, GPUs with their counts, and models."""
    reading = Reading()
    settings.read_settings(canvas, reading.said)
    reading.formats = formats.read_formats(canvas)
    named = skus.find(canvas)
    reading.models = _corrected([*closed_models(canvas, models), *models.find(canvas)], canvas.text)
    kept = []
    for mention in sorted([*named, *unknown_skus(canvas)], key=lambda m: m.start):
        before = canvas.open[max(0, mention.start - 24) : mention.start].replace(BLANK, " ")
        if mention.entry is not None and merging.leaves(before):
            reading.dropped.append(mention.entry.id)
        else:
            kept.append(mention)
    reading.skus = _kept(counts.count_mentions(canvas, kept), canvas.text)
    reading.models += unknown_models(canvas, models)
    return reading


def _corrected(mentions: list[ModelMention], text: str) -> list[ModelMention]:
    """Mentions without those taken back in the same breath: "dsv3... sorry, r1"."""
    taken_back = {
        a.start
        for a, b in pairwise(sorted(mentions, key=lambda m: m.start))
        if _CORRECTION.search(text[a.end : b.start])
    }
    return [m for m in mentions if m.start not in taken_back]


def _kept(mentions: list[SkuMention], text: str) -> list[SkuMention]:
    """GPUs without those taken back in the same breath: "3x h200? nah, 4x h100"."""
    taken_back = {a.start for a, b in pairwise(mentions) if _TAKEN_BACK.search(text[a.end : b.start])}
    return [m for m in mentions if m.start not in taken_back]


def read_values(canvas: Canvas, reading: Reading, *, before: Mapping[str, Any], demand: Mapping[str, Any]) -> None:
    """Everything with a number; ``before`` is the earlier request of the thread, ``demand`` what it asked beside."""
    said = reading.said
    volume = load.read_tokens_per_month(canvas, said)
    if cap := money.read_cap(canvas):
        reading.notes.append(f'"{cap}" is a limit on the whole bill, no price of a GPU: hold the cost per hour to it.')
    reading.prices, reading.money_asked = money.read_money(canvas, said, reading.warn)
    targets.read_targets(canvas, said, reading.warn)
    reading.speed = targets.read_total_speed(canvas)
    load.read_rate(canvas, said)
    settings.read_ratios(canvas, said)
    if max(len(reading.skus), len(before.get("skus", ()))) > 1:
        reading.each = counts.each_count(canvas)
    lengths.read_lengths(canvas, said)
    load.read_people(canvas, said)
    loose = counts.loose_count(canvas)
    if not any(m.gpus for m in reading.skus):
        reading.loose = loose
    if reading.loose is None and len(reading.skus) == 1 and reading.skus[0].gpus is None:
        reading.loose = counts.stranded_count(canvas)
    lengths.read_bare_pair(canvas, said)
    lengths.read_bare_context(canvas, said)
    settings.read_bare_ratio(canvas, said)
    _read_demand(canvas, reading, volume, followed=bool(before), of_all="tokens_per_s" in demand)


def _read_demand(canvas: Canvas, reading: Reading, volume: str, *, followed: bool, of_all: bool) -> None:
    """Tokens per month or of everybody together, a speed next to users as each one's, and a load of one."""
    said, speed = reading.said, reading.speed
    if volume:
        reading.demand = demands.monthly(volume, said["tokens_per_month"])
    elif demands.first_token_asked(canvas, said):
        reading.demand = {"first_token": True}
    if demands.single(canvas, said) and not intents.load_asked(canvas.text):
        said["concurrency"] = 1
    if speed is None:
        return
    crowd = (followed and not of_all) or "concurrency" in said or "users" in said or intents.load_asked(canvas.text)
    paid = reading.money_asked or reading.prices or "api_price" in said or "request_rate" in said or volume or of_all
    each = demands.personal(canvas, speed) if crowd else not paid and demands.alone_personal(canvas, speed)
    if each and "tpot_s" not in said.get("slo", {}):
        said["slo"] = {**said.get("slo", {}), "tpot_s": tidy(1 / speed.value)}
        if followed or not {"concurrency", "users"} & said.keys():
            reading.demand = {**(reading.demand or {}), **demands.each_ones(speed)}
        return
    if not volume:
        reading.demand = demands.together(canvas, speed)
    reading.notes.append(f'"{speed.said}" is a remark on all users together and sets no target: targets are per user.')


def read_edits(canvas: Canvas, reading: Reading, before: Mapping[str, Any]) -> None:
    """What only makes sense after an earlier request: a changed target, a count without a noun."""
    if "slo" in before:
        targets.read_target_edit(canvas, before["slo"], reading.said)
    scaled = scaling.read_scaling(canvas, before, reading.said)
    if scaled is not None and reading.loose is None and not any(m.gpus for m in reading.skus):
        reading.loose = scaled
        return
    if "price" in before and not reading.prices:
        reading.prices = money.read_price_edit(canvas)
    if before.get("skus") and not reading.skus and (boxes := counts.box_count(canvas)) is not None:
        reading.boxes = boxes
    elif reading.loose is None and before.get("skus") and not any(m.gpus for m in reading.skus):
        bare = counts.bare_count(canvas)
        if bare is not None and bare > _USUAL_BOX and "concurrency" in before and "concurrency" not in reading.said:
            reading.said["concurrency"] = bare
        else:
            reading.loose = bare


def signals(canvas: Canvas, reading: Reading, *, followed: bool) -> Signals:
    """What the intent is decided on."""
    marks = sorted(
        [(m.start, m.end, " §sku ") for m in reading.skus] + [(m.start, m.end, " §model ") for m in reading.models]
    )
    full, opened = _sketch(canvas.text, marks), _sketch(canvas.open, marks)
    axes = _axes(reading, full)
    if followed and (reading.skus or reading.models or reading.formats.weights) and _AGAINST.search(full):
        axes = True
    return Signals(
        text=re.sub(r"\s+", " ", full),
        open=re.sub(rf"{BLANK}+", "§ ", opened),
        money_asked=reading.money_asked,
        axes=axes,
        content=reading.content() or (followed and reading.speed is not None),
        slight=_slight(canvas, reading),
        named=bool(reading.models or reading.skus),
        loaded=any(k in reading.said for k in _LOAD),
        followed=followed,
        priced_api="api_price" in reading.said,
    )


def _slight(canvas: Canvas, reading: Reading) -> bool:
    """Whether nothing but one length, budget or headcount was found among words of another matter."""
    if reading.models or reading.skus or reading.formats.weights or reading.formats.cache or reading.prices:
        return False
    if len(reading.said) != 1 or not reading.said.keys() <= _SLIGHT:
        return False
    return bool(re.search(r"[a-z]{3,}", _SMALL_WORDS.sub(" ", canvas.rest())))


def _axes(reading: Reading, text: str) -> bool:
    """Whether two or more SKUs, models, formats or layouts stand against each other."""
    said = reading.said
    layouts = sum(key in said for key in _AXES[:3])
    return (
        len(reading.options()) > 1
        or (any(not m.candidates for m in reading.skus) and len(reading.skus) > 1)
        or len({m.entry.id if m.entry else m.said for m in reading.models}) > 1
        or len({name for name, _ in reading.formats.weights}) > 1
        or len(reading.formats.cache) > 1
        or any(isinstance(said.get(key), list) for key in _AXES)
        or (layouts > 1 and " or " in text)
    )


def _sketch(text: str, marks: list[tuple[int, int, str]]) -> str:
    """A text with its names replaced by their kind."""
    parts, at = [], 0
    for start, end, word in marks:
        if end > start >= at:
            parts += [text[at:start], word]
            at = end
    return "".join([*parts, text[at:]])
