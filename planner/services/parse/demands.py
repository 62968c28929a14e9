"""Demands that are no key of the request: tokens per second of all users together, and a load nobody speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.services.parse.canvas import Canvas
from planner.services.parse.load import SECONDS

PERSONAL = 200.0
"""Above this a bare speed is nobody's own: tokens per second of all users together [token/s]."""
AMBIGUOUS = 1000.0
"""Up to this a speed of all users together might have been meant as one user's: the answer says how it was read
[token/s]."""
_FIRST_TOKEN = re.compile(r"\b(?:ttft|ttfb|time[\s-]to[\s-](?:the[\s-])?first[\s-]token|first[\s-]token|prefill)\b")
_SINGLE = re.compile(
    r"(?<!per )(?<!each )(?<!every )\b(?:single|one)[\s-](?:user|stream|request|client|session)\b"
    r"|\bjust me\b|\bonly me\b"
)
_TOGETHER = re.compile(
    r"\b(?:total|totals|aggregate\w*|altogether|overall|combined|in all|throughput|insgesamt|gesamt\w*|en tout)\b"
)
_SEEN = re.compile(
    r"\b(?:only|just|getting|got|did|saw|seeing|measured?|gave|giving|had|reached|achieved|today|currently|now)\W+"
    r"(?:\w+\W+){0,2}$|\b(?:does|gets|gives)\W+$"
)
_EDITED = re.compile(r"\b(?:what if|if|make it|how about|what about|try|with|at|ok with|fine with)\W+(?:only|just)\W+$")
_WHY = re.compile(r"\b(?:why|how come|warum|wieso|pourquoi|perch[eé]|waarom|por qu[eé])\b")
_VOLUME = re.compile(
    r"\b(?:serv(?:e|es|ing)|process(?:es|ing)?|push(?:es|ing)?|traffic|volume|load|demand)\W+(?:\w+\W+){0,3}$"
)
_OF = re.compile(r"^\s*(?:worth )?of\b")
_NEAR = 24
"""Letters around a speed in which a word says whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Tokens per second as said, of one user or of all."""

    said: str
    value: float
    start: int
    end: int


def monthly(text: str, tokens_per_month: float) -> dict[str, Any]:
    """The demand in "900M output tokens a month"; both prompt and answer tokens count when neither is named."""
    return {"tokens_per_s": tokens_per_month / SECONDS["M"], "tokens": _kind(text, "all"), "said": text.strip()}


def together(canvas: Canvas, speed: Speed) -> dict[str, Any]:
    """The demand in "5000 tok/s": answer tokens of everybody, unless prompt tokens are named."""
    found = {
        "tokens_per_s": speed.value,
        "tokens": _kind(speed.said + canvas.text[speed.end : speed.end + 9], "output"),
        "said": speed.said,
    }
    bare = speed.value <= AMBIGUOUS and not (_called_together(canvas, speed) or _volume(canvas, speed))
    return {**found, "bare": True} if bare else found


def each_ones(speed: Speed) -> dict[str, Any]:
    """That a bare speed was read as each user's."""
    return {"each": speed.said}


def _kind(text: str, usual: str) -> str:
    if re.search(r"\b(?:output|generated|answer)\b", text):
        return "output"
    return "input" if re.search(r"\b(?:input|prompt|prefill)\b", text) else usual


def personal(canvas: Canvas, speed: Speed) -> bool:
    """Whether a bare speed next to users is what each is to get: small, not of all together, and not as observed."""
    ahead = canvas.text[: speed.start]
    seen = (_SEEN.search(ahead) and not _EDITED.search(ahead)) or _WHY.search(canvas.text)
    return 0 < speed.value <= PERSONAL and not _called_together(canvas, speed) and not seen


def alone_personal(canvas: Canvas, speed: Speed) -> bool:
    """Whether a speed with no user, no money and no volume spoken of is what each user is to get."""
    return personal(canvas, speed) and not _volume(canvas, speed)


def _called_together(canvas: Canvas, speed: Speed) -> bool:
    return _TOGETHER.search(canvas.text[max(0, speed.start - _NEAR) : speed.end + _NEAR]) is not None


def _volume(canvas: Canvas, speed: Speed) -> bool:
    """Whether tokens are served, and not read by somebody: "serve 100 tok/s", "100 tok/s of llama"."""
    return bool(_VOLUME.search(canvas.text[: speed.start]) or _OF.search(canvas.text[speed.end :]))


def single(canvas: Canvas, said: Mapping[str, Any]) -> bool:
    """Whether one user is all there is."""
    loads = {"concurrency", "users", "request_rate", "tokens_per_month"}
    return not loads & said.keys() and _SINGLE.search(canvas.text) is not None


def first_token_asked(canvas: Canvas, said: Mapping[str, Any]) -> bool:
    """Whether the time to the first token is asked, and not set as a target."""
    return "ttft_s" not in said.get("slo", {}) and _FIRST_TOKEN.search(canvas.text) is not None
