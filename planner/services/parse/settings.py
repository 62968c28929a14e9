"""Deployment settings in a text: engine, layout, memory utilization, prefix cache."""

from __future__ import annotations

import re

from planner.services.parse.canvas import Canvas
from planner.services.parse.quantities import NUMBER, decimal, tidy

_ENGINE = re.compile(
    r"(?<!\w)(?:on |with |using |via |under |in )?(?P<name>v-?llm|sg-?lang|sgl|trt[\s-]?llm"
    r"|tensor-?rt(?:[\s-]?llm)?|trt)(?:\s?(?:v\d+(?:\.\d+)*|\d+\.\d+\.\d+))?(?!\w):?"
)
_ENGINES = {"v": "vllm", "s": "sglang", "t": "trtllm"}
_LAYOUTS = {
    "tensor_parallel": r"tp|tensor[\s_-]?parallel(?:ism|[\s_-]?size)?",
    "pipeline_parallel": r"pp|pipeline[\s_-]?parallel(?:ism|[\s_-]?size)?",
    "data_parallel": r"dp|data[\s_-]?parallel(?:ism|[\s_-]?size)?",
    "expert_parallel": r"ep|expert[\s_-]?parallel(?:ism|[\s_-]?size)?",
}
_LAYOUT = {
    key: re.compile(rf"(?<![a-z])(?:\d+\s?x\s?)?(?:{names})[\s_-]?(?:=|:|of|size|to|\s)*(?P<n>\d{{1,4}})(?!\d|k|\.\d)")
    for key, names in _LAYOUTS.items()
}
_WAY = re.compile(r"(?<!\w)(?P<n>\d{1,3})[\s-]?way (?:tp|tensor[\s-]?parallel\w*)")
_TWO_LAYOUTS = re.compile(
    r"(?<![a-z])tp\s?=?\s?(?P<a>\d{1,3})\s?(?:vs\.?|or|/|versus|against)\s?(?P<b>\d{1,3})(?![\dk.]|\s?(?:x|h\d"
    r"|a\d|gpus?|%|users|clients|concurrent|in\b|rps))"
)
_RATIO = rf"(?<![\w.,])(?P<n>{NUMBER})\s?(?P<pct>%|percent|prozent|pour cent|por ciento)?"
_MEMORY = (
    r"(?:gpu[\s_-]?)?(?:mem(?:ory)?[\s_-]*)?util(?:i[sz]ation|i[sz]ed)?|gmu"
    r"|gpu[\s_-]mem(?:ory)?(?:[\s_-]util\w*)?|mem(?:ory)?[\s_-]frac(?:tion)?(?:[\s_-]static)?"
    r"|memory[\s_-](?:usage|use|budget|limit)|speicher(?:auslastung|nutzung)"
    r"|utilisation (?:de la )?(?:m[eé]moire|gpu)|(?:uso|utilizaci[oó]n|utiliza[cç][aã]o|utilizzo) (?:de|di"
    r"|della) (?:la )?memori\w+|auslastung|utilizaci[oó]n"
)
_UTIL_AFTER = re.compile(
    rf"(?:at |with |@ ?|of |bei |à |mit )?{_RATIO}\s?(?:of (?:the )?)?(?:{_MEMORY}|(?:gpu |hbm |v?ram )?memory"
    r"|of (?:gpu )?memory|speicher|vram)(?!\w)(?!\s?[=:]\s?\d)"
)
_UTIL_BEFORE = re.compile(
    rf"(?<![\w])(?:--)?(?:{_MEMORY})\s?(?:=|:|of|at|to|is|von|de|auf|à|a|al|set to"
    rf"|set at)*\s?(?:from {NUMBER} to )?{_RATIO}"
)
_UTIL_RANGE = re.compile(rf"from {NUMBER} to {_RATIO}\s?(?:{_MEMORY})")
_UTIL_BARE = re.compile(r"(?<![\w.,$€])(?P<n>0[.,]\d{1,2})(?P<pct>)(?![\d%]|\s?(?:€|\$|usd|/|per|ms|s\b|sec))")
_PREFIX = (
    r"(?:prefix|prompt|kv|shared[\s-]prefix|pr[eé]fixe?|prefijo|prefisso)?[\s_-]?(?:cache|caching"
    r"|cach[eé])?[\s_-]?(?:hits?|hit[\s_-]?rate|treffer(?:rate|quote)?|reuse|shared|sharing|aciertos?"
    r"|wiederverwendung)(?:[\s_-]rate|[\s_-]ratio)?"
)
_HIT_AFTER = re.compile(
    rf"{_RATIO}\s?(?:of (?:the |our )?)?(?:the )?(?:prefix[\s-]?cache(?:d|s)?|prefix[\s-]?caching|{_PREFIX}"
    r"|(?:prompts? |input |tokens? |prefix(?:es)? ){0,3}(?:is |are |come |comes )?(?:from )?(?:the )?cached?"
    r"|shared prefix|common prefix|prefix)(?:[\s-](?:hits?(?:[\s-]rate)?|rate|ratio|reuse))?(?!\w)(?!\s?[=:]\s?\d)"
)
_HIT_BEFORE = re.compile(
    rf"(?<!\w)(?:prefix[\s_-]?cach\w+(?:[\s_-]hits?)?(?:[\s_-](?:rate|ratio))?|{_PREFIX}|cached(?: share"
    rf"| fraction)?|shared prefix|hit)\s?(?:=|:|of|at|is|around|about|rate|von|de)*\s?{_RATIO}(?!\s?(?:tok|k\b"
    r"|in\b|rps))"
)
_HIT_HALF = re.compile(
    r"half (?:of )?(?:the |our )?(?:prompts?|input|tokens|prefix)[a-z ]{0,12}(?:cached|shared|hits?)"
)


def read_settings(canvas: Canvas, parse: dict[str, object]) -> None:
    """Put engine and layout into the parse."""
    if (match := canvas.first(_ENGINE)) is not None:
        parse["engine"] = _ENGINES[match["name"][0]]
    sizes: list[int] = []
    if (match := canvas.first(_TWO_LAYOUTS)) is not None:
        sizes = [int(match["a"]), int(match["b"])]
    sizes += [int(m["n"]) for m in canvas.take(_WAY)]
    for key, pattern in _LAYOUT.items():
        values = [int(m["n"]) for m in canvas.take(pattern)]
        values = list(dict.fromkeys(sizes + values if key == "tensor_parallel" else values))
        if values:
            parse[key] = values[0] if len(values) == 1 else values


def read_ratios(canvas: Canvas, parse: dict[str, object]) -> None:
    """Put prefix-cache hits and memory utilization into the parse, as fractions."""
    if canvas.first(_HIT_HALF) is not None:
        parse["prefix_cache_hit"] = 0.5
    for key, patterns in (
        ("prefix_cache_hit", (_HIT_AFTER, _HIT_BEFORE)),
        ("memory_utilization", (_UTIL_RANGE, _UTIL_AFTER, _UTIL_BEFORE)),
    ):
        for pattern in patterns:
            if key not in parse:
                _ratio(canvas, parse, key, pattern)


def read_bare_ratio(canvas: Canvas, parse: dict[str, object]) -> None:
    """A fraction with no word beside it is memory utilization."""
    if "memory_utilization" not in parse:
        _ratio(canvas, parse, "memory_utilization", _UTIL_BARE)


def _ratio(canvas: Canvas, parse: dict[str, object], key: str, pattern: re.Pattern[str]) -> None:
    for match in pattern.finditer(canvas.open):
        value = decimal(match["n"])
        value = value / 100 if match["pct"] or 1 < value <= 100 else value
        if 0 <= value <= 1:
            canvas.claim(*match.span())
            parse[key] = tidy(value)
            return
