"""What the tail of a checkpoint's name says: tuning, revision and number format, peeled off from the right."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_ORG_SEPARATOR = "/"

# Format -> the suffixes that declare it ("" = says nothing about the format). The spellings are those of public
# checkpoint repositories (RedHatAI, nvidia, amd, Qwen, unsloth, cyankiwi); GGUF types as llama.cpp names its files.
_QUANTISER = r"(?:awq|gptq|autoround|auto-round|bnb|mlx|hqq|marlin|qat)"
_SUFFIXES: dict[str, str] = {
    "w4a16": rf"quantized\.w4a16|w4a16(?:-(?:asym|g128|g32))?|{_QUANTISER}-(?:int)?4-?(?:bits?)?(?:-(?:g|gs)\d+)?"
             r"|autoround int4|awq|gptq|autoround|auto-round|int4(?:-(?:awq|gptq|mixed|autoround))?|4-?bit",
    "int8": r"quantized\.w8a8|w8a8(?:-int8)?|int8-w8a8|int8",
    "w8a16": rf"quantized\.w8a16|w8a16|{_QUANTISER}-(?:int)?8-?(?:bits?)?(?:-(?:g|gs)\d+)?|8-?bit",
    "fp8_block": r"fp8-block|block-fp8",
    "fp8": r"fp8-(?:dynamic|static|kv|mixed|e4m3|e5m2|per-tensor)|fp8(?:-dynamic-kv)?|w8a8-fp8",
    "nvfp4": r"nvfp4(?:-mtp|-awq|a16|-w4a4)?|fp4|w4a4",
    "mxfp4": r"mxfp4(?:-moe)?",
    "bf16": r"bf16",
    "fp16": r"fp16|f16",
    "gguf": r"(?:gguf[-_:])?(?:q[2-8]_(?:k(?:_[sml])?|[01])|iq[1-4]_(?:xxs|xs|s|m|nl))",
    "": r"gguf|exl[23]|bnb|mlx|qat|unsloth|instruct|chat|base|it|hf|pt|sft|dpo|preview|thinking|reasoning|mtp|build"
        r"|(?:19|20|21|22|23|24|25|26)\d{2}|0\d{3}",
}
_FORMATS = tuple(_SUFFIXES)
_SUFFIX = re.compile(r"[-_. (]+(?:" + "|".join(f"({pattern})" for pattern in _SUFFIXES.values()) + r")\)?$")
_REVISION = re.compile(r"-v\d+(?:\.\d+)*$")
_SEPARATORS = re.compile(r"[\s_/()-]+")
_DIGIT_UNDERSCORE = re.compile(r"(?<=\d)_(?=\d)")
# A revision written after the tuning word: Mistral-7B-Instruct-v0.2, 4k-instruct-v1.
_TUNING_INSIDE = re.compile(r"-(?:instruct|chat|it|base)(?=-(?:v?\d[\w.]*)$)")
_PREFIXES = re.compile(r"^(?:meta|nvidia|amd|google|microsoft)-(?=[a-z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """One reading of a name: what is left after peeling, and what the peeled part declared."""

    stem: str
    weights: str | None
    peeled: tuple[str, ...]
    """The suffixes removed so far, outermost first."""


def key(text: str) -> str:
    """The comparison key of a name: lower case, separators dropped, dots kept (3.1 is not 31)."""
    return _SEPARATORS.sub("", _DIGIT_UNDERSCORE.sub(".", text.lower()))


def tail(text: str) -> str:
    """The part of a repository name after the organisation, lower case."""
    return text.strip().lower().rsplit(_ORG_SEPARATOR, 1)[-1]


def peel(name: str) -> tuple[Peeled, ...]:
    """Every reading of a lower-case tail, from the name itself to the barest stem."""
    readings = [Peeled(stem=name, weights=None, peeled=())]
    stem = name
    weights: str | None = None
    peeled: tuple[str, ...] = ()
    while (found := _SUFFIX.search(stem)) and found.start() > 0:
        fmt = _FORMATS[(found.lastindex or 1) - 1]
        text = found.group(found.lastindex or 0)
        declared = f"gguf:{text.removeprefix('gguf').strip('-_:')}" if fmt == "gguf" else fmt
        stem, weights, peeled = stem[:found.start()], weights or declared or None, (*peeled, text)
        readings.append(Peeled(stem=stem, weights=weights, peeled=peeled))
    barer = [replace(reading, stem=bare) for reading in readings
             for pattern in (_TUNING_INSIDE, _PREFIXES) if (bare := pattern.sub("", reading.stem)) != reading.stem]
    return (*readings, *barer)


def base_keys(name: str) -> dict[str, bool]:
    """The shorter keys a catalogued name answers to, each with whether a format suffix had to go."""
    own = key(tail(name))
    found: dict[str, bool] = {}
    for reading in peel(tail(name)):
        for stem in (reading.stem, _REVISION.sub("", reading.stem)):
            if key(stem) != own:
                found.setdefault(key(stem), reading.weights is not None)
    return found
