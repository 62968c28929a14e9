"""Number formats in a text: of the weights, of the KV cache, or of both."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from planner.core.errors import UnsupportedFormat
from planner.core.precision import weight_format
from planner.services.parse.canvas import Canvas

_GGUF = r"i?q[1-8]_(?:k(?:_[sml])?|[01]|xs|xxs|s|nl)"
_BITS = r"(?P<bits>4|8|16|32)[\s-]?bits?\b(?:s)?"
_NAMES = (
    r"w8a8[\s_-]+(?:int8|fp8)|(?:int8|fp8)[\s_-]+w8a8|fp[\s-]?8[\s_-]?(?:e[45]m[23]|block|dynamic)?|bf[\s-]?16"
    r"|bfloat[\s-]?16|fp[\s-]?16"
    r"|float[\s-]?16|half[\s-]precision|fp[\s-]?32|float32|w8a16|w4a16|w8a8|w4a4|int[\s-]?8|int[\s-]?4|i8\b|i4\b"
    r"|nv[\s-]?fp[\s-]?4|mx[\s-]?fp[\s-]?4|fp[\s-]?4"
    r"|awq|gptq|marlin|bnb|nf4|q4(?![\w_])|q8(?![\w_])"
)
_FORMAT = rf"(?:gguf[\s:]*)?(?P<gguf>{_GGUF})|(?P<name>{_NAMES})|{_BITS}"
_BEFORE = r"(?<!\w)(?<!\d\.)"
_AFTER = r"(?![\w]|\.\d)"
_CACHE = r"(?:kv|k/v)(?:[\s_-]?(?:cache|cach[eé]|dtype|quant\w*|heads?))*|cache(?:[\s_-](?:kv|dtype))?"
_JOIN = r"\s*(?:=|:|in|at|to|as|of|is|with|dtype|en|im|auf|quantized to|quantised to)?\s*"
_KV_AFTER = re.compile(rf"{_BEFORE}(?:{_FORMAT}){_AFTER}[\s-]*(?:for the |for |quantized |quantised )?(?:{_CACHE})\b")
_KV_BEFORE = re.compile(rf"(?<![\w])(?:{_CACHE}){_JOIN}{_BEFORE}(?:{_FORMAT}){_AFTER}")
_CACHE_PAIR = re.compile(
    rf"(?<![\w])(?:{_CACHE}){_JOIN}(?P<a>{_NAMES}) (?:vs|or|versus|against) (?P<b>{_NAMES}){_AFTER}"
    rf"|(?P<c>{_NAMES})(?: (?:{_CACHE}))? (?:vs\.?|or|versus|against) (?P<d>{_NAMES}) (?:{_CACHE})\b"
)
_KV_SHORT = re.compile(r"(?<!\w)kv[\s_-]?(?P<bits>4|8|16)(?![\w.])")
_BOTH = re.compile(
    rf"{_BEFORE}(?:{_FORMAT}){_AFTER}\s*(?:for\s+)?(?:weights?\s*(?:and|\+|&|,)\s*(?:kv|cache)(?:[\s-]cache)?"
    rf"|both|everywhere|throughout|(?:for )?everything|w\+kv)\b"
    rf"|(?:weights?\s*(?:and|\+|&)\s*kv(?:[\s-]cache)?|both|everything){_JOIN}(?P<name2>{_NAMES}){_AFTER}"
)
_WEIGHTS = re.compile(
    rf"{_BEFORE}(?:(?:weights?|quant\w*|dtype|precision|format|quantisation"
    rf"|quantization)\s?[=:]\s?)?(?:{_FORMAT}){_AFTER}"
    rf"(?:[\s-]weights?\b)?"
)
_SAME = re.compile(r"[\s,/()-]*(?:quantized|quantised|quantization|with|using|in|checkpoint)?[\s,/()-]*")


@dataclass(slots=True)
class Formats:
    """What was said about formats, in the order said."""

    weights: list[tuple[str, int]] = field(default_factory=list)
    """(format, position)."""
    cache: list[str] = field(default_factory=list)


def read_formats(canvas: Canvas) -> Formats:
    """Formats of cache and weights; a format beside "kv" is the cache's."""
    found = Formats()
    for match in canvas.take(_BOTH):
        name = _name(match, match["name"] or match["name2"])
        found.weights.append((name, match.start()))
        found.cache.append(_cached(name))
    for match in canvas.take(_CACHE_PAIR):
        found.cache += [_cached(_known(match[g])) for g in "abcd" if match[g]]
    for pattern in (_KV_AFTER, _KV_BEFORE):
        found.cache += [_cached(_name(m, m["name"])) for m in canvas.take(pattern)]
    found.cache += [_cached(f"{m['bits']}bit") for m in canvas.take(_KV_SHORT)]
    last_end = -1
    for match in canvas.take(_WEIGHTS):
        name = _name(match, match["name"])
        if (
            found.weights
            and last_end >= 0
            and _SAME.fullmatch(canvas.text[last_end : match.start()])
            and _same(found.weights[-1][0], name)
        ):
            found.weights[-1] = (_closer(found.weights[-1][0], name), found.weights[-1][1])
        else:
            found.weights.append((name, match.start()))
        last_end = match.end()
    found.weights = (
        list({name: (name, at) for name, at in reversed(found.weights)}.values())[::-1]
        if len({n for n, _ in found.weights}) == 1
        else found.weights
    )
    found.cache = list(dict.fromkeys(found.cache))
    return found


def _name(match: re.Match[str], name: str | None) -> str:
    if match["gguf"]:
        return f"gguf:{match['gguf']}"
    if name is not None:
        return _known(name)
    return {"4": "w4a16", "8": "8bit", "16": "bf16", "32": "fp32"}[match["bits"]]


def _known(said: str) -> str:
    """The contract's name of a format as people write it."""
    text = re.sub(r"[\s_-]+", "", said)
    text = {
        "w8a8int8": "int8",
        "int8w8a8": "int8",
        "w8a8fp8": "fp8",
        "fp8w8a8": "fp8",
        "halfprecision": "fp16",
        "q4": "w4a16",
        "q8": "8bit",
        "marlin": "w4a16",
        "bnb": "w4a16",
        "nf4": "w4a16",
        "i8": "int8",
        "i4": "w4a16",
        "fp8dynamic": "fp8",
        "fp8block": "fp8_block",
        "fp8e4m3": "fp8",
        "fp8e5m2": "fp8",
        "float16": "fp16",
    }.get(text, text)
    try:
        return weight_format(text).name
    except UnsupportedFormat:
        return text


def _cached(name: str) -> str:
    """A format as the cache's; eight bit is fp8 there, four bit nvfp4."""
    return {"8bit": "fp8", "w8a16": "int8", "fp8_block": "fp8", "w4a16": "nvfp4", "4bit": "nvfp4", "16bit": "bf16"}.get(
        name, name
    )


def _same(first: str, second: str) -> bool:
    """Whether two formats side by side say one thing twice ("awq 4 bit")."""
    groups = ({"w4a16", "nvfp4", "mxfp4"}, {"8bit", "fp8", "int8", "w8a16", "fp8_block"}, {"bf16", "fp16"})
    return any(first in g and second in g for g in groups) or (first.startswith("gguf") and second in {"w4a16", "8bit"})


def _closer(first: str, second: str) -> str:
    """The more exact of two words for one format."""
    return second if first == "8bit" or (first == "w4a16" and second in {"nvfp4", "mxfp4"}) else first
