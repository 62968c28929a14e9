"""What depends on several parts of a request at once: aligned lists, eight bit, prices of a box, names left open."""

from __future__ import annotations

import re
from typing import Any

from planner.services.parse.model_names import ModelMention
from planner.services.parse.models import ModelIndex
from planner.services.parse.quantities import tidy
from planner.services.parse.reading import Reading
from planner.services.parse.skus import SkuMention
from planner.services.parse.vocabulary import SkuEntry, Vocabulary

_NEAR = 8
"""Characters between a box and its price ("node at $20/h")."""


def stated(reading: Reading) -> dict[str, Any]:
    """The keys a text states by itself."""
    said = dict(reading.said)
    ids = list(dict.fromkeys(m.entry.id for m in reading.models if m.entry is not None))
    if ids:
        said |= {"model": ids[0]} if len(ids) == 1 else {"models": ids}
    options = reading.options()
    gpus = [n for _, n in options]
    if reading.loose is not None and all(n is None for n in gpus):
        gpus = [reading.loose] * max(1, len(gpus))
    if options:
        said["skus"] = [s for s, _ in options]
    if any(n is not None for n in gpus):
        said["gpus"] = gpus
    names = [n for n, _ in reading.formats.weights]
    if names:
        unique = names if len(names) == len(options) > 1 else list(dict.fromkeys(names))
        said["weights"] = unique[0] if len(set(unique)) == 1 else unique
    if reading.formats.cache:
        said["kv_cache"] = reading.formats.cache[0] if len(reading.formats.cache) == 1 else reading.formats.cache
    return said


def alone(said: dict[str, Any], each: int | None) -> dict[str, Any]:
    """A request with no thread before it; a count without a GPU says nothing yet."""
    parse = dict(said)
    if "skus" not in parse:
        parse.pop("gpus", None)
    elif each is not None:
        parse["gpus"] = [n if n is not None else each for n in parse.get("gpus") or [None] * len(parse["skus"])]
    return parse


def without(parse: dict[str, Any], dropped: list[str]) -> dict[str, Any]:
    """The earlier request without some of its options; counts stay when all are replaced."""
    keep = [k for k, s in enumerate(parse["skus"]) if s not in dropped]
    if not keep:
        return parse
    cut = parse | {"skus": [parse["skus"][k] for k in keep]}
    if parse.get("gpus"):
        cut["gpus"] = [parse["gpus"][k] for k in keep]
    return cut


def open_names(reading: Reading, models: ModelIndex) -> dict[str, tuple[str, ...]]:
    """Names that were said but do not single out an entry, with what they can mean; known ones leave their notes."""
    choices: dict[str, tuple[str, ...]] = {}
    for mention in reading.models:
        if mention.entry is None:
            choices["model"] = tuple(e.id for e in mention.candidates)
            if not mention.known:
                _missing(reading, "unknown_model", mention.said)
        elif mention.nicknamed:
            reading.notes.append(_nick_note(mention, models))
    for sku in reading.skus:
        if sku.entry is None:
            choices["skus"] = tuple(e.id for e in sku.candidates or _closest(sku, models.vocabulary))
            if not sku.candidates:
                _missing(reading, "unknown_sku", sku.said)
    return choices


def _missing(reading: Reading, warning: str, said: str) -> None:
    """Say by name what is in no catalogue."""
    reading.warn.append(warning)
    reading.notes.append(f'"{said.strip()}" is not in the catalogue.')


def _nick_note(mention: ModelMention, models: ModelIndex) -> str:
    """How a nickname was read, and for which other models the answer holds."""
    entry = mention.candidates[0]
    alike = [e.name.split("/")[-1] for e in models.alike(entry)]
    also = f", with the same tensors as {', '.join(alike[:3])}" if alike else ""
    return f'"{mention.said}" is read as {entry.name.split("/")[-1]}{also}.'


def _closest(mention: SkuMention, vocabulary: Vocabulary) -> list[SkuEntry]:
    """The catalogue's nearest names to one it does not have: same letters first, then nearest number."""
    letters, digits = re.sub(r"[^a-z]", "", mention.said), re.findall(r"\d+", mention.said)

    def distance(sku: SkuEntry) -> tuple[bool, int]:
        own = re.findall(r"\d+", sku.id)
        gap = abs(int(digits[0]) - int(own[0])) if digits and own else 9999
        return (re.sub(r"[^a-z]", "", sku.id.partition("-")[0]) != letters, gap)

    return sorted(vocabulary.skus, key=distance)[:3]


def settle_formats(parse: dict[str, Any], reading: Reading, vocabulary: Vocabulary) -> None:
    """Eight bit is fp8 where every GPU has the units, weight-only where none has."""
    weights = parse.get("weights")
    if weights is None:
        return
    units = [entry.has_fp8() for s in parse.get("skus", ()) if (entry := vocabulary.sku(s)) is not None]
    eight = "fp8" if units and all(units) else "w8a16" if units and not any(units) else "8bit"
    several = isinstance(weights, list)
    settled = [eight if w == "8bit" else w for w in (weights if several else [weights])]
    parse["weights"] = settled if several else settled[0]
    if parse["weights"] != weights:
        reading.notes.append(f"8 bit is read as {eight}.")
    elif "8bit" in settled:
        reading.notes.append("8 bit means fp8 on GPUs with fp8 units and weight-only w8a16 on the others.")


def _beside(after: int, before: int) -> bool:
    """Whether a price stands just behind a box, or just before it with the box's count between."""
    return 0 <= after <= _NEAR or 0 <= before <= 2 * _NEAR


def settle_prices(parse: dict[str, Any], reading: Reading, vocabulary: Vocabulary) -> None:
    """Prices per GPU hour: one, or one for each option; a box's price is divided by its GPUs."""
    prices = sorted(reading.prices, key=lambda p: p.position)
    gpus, skus = parse.get("gpus") or [], parse.get("skus") or []
    values: list[float] = []
    for index, price in enumerate(prices):
        value = price.value
        near = any(m.boxed and _beside(price.position - m.end, m.start - price.end) for m in reading.skus)
        if price.node or (near and not price.single):
            own = gpus[index] if len(prices) > 1 and index < len(gpus) else next((n for n in gpus if n), None)
            entry = vocabulary.sku(skus[0]) if skus else None
            value /= own or (entry.box if entry is not None else 0) or 1
            reading.warn.append("node_price")
        values.append(tidy(value))
    if values:
        spread = len(skus) > 1 and len(values) == len(skus)
        parse["price"] = {"usd_per_gpu_hour": values if spread else values[0]}
