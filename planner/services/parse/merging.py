"""A follow-up over an earlier request: what it says replaces, what it leaves out is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ADD = re.compile(
    r"\b(?:add|also|too|as well|include|plus|vs\.?|versus|against|compared? (?:to|with|it to|against|that)"
    r"|compare|additionally|auch|dazu|aussi|ajoute\w*|tambi[eé]n|a[nñ]ade|agrega|anche|aggiungi|hinzu|ook|or)\b"
)
_REMOVE = re.compile(
    r"\b(?:drop|remove|without|forget|skip|leave out|minus|except|ohne|sans|sin|senza|not)\b(?: the| das| den"
    r"| le| la| el)?\s*$"
)
_SWAP_FROM = re.compile(
    r"\b(?:swap|replace|instead of|rather than|statt|anstelle|au lieu de|en vez de|invece di)\b(?: the| out| von"
    r"| des)?(?:\s?\d+\s?x?)?\s*$"
)
_CLEAR = re.compile(
    r"\b(?:no|drop|without|remove|forget|ignore|skip|clear|ohne|sans|sin|senza)\b (?:the |any |a |my "
    r"|our )?(?P<what>ttft|tpot|slo|targets?|price|budget|concurrency|rate|kv(?: cache)?|prefix(?: cache| hit)?"
    r"|cach(?:e|ing)|context|engine|tp|power)"
)
_CLEARED = {
    "ttft": ("slo",),
    "tpot": ("slo",),
    "slo": ("slo",),
    "target": ("slo",),
    "targets": ("slo",),
    "price": ("price", "api_price"),
    "budget": ("budget_usd",),
    "concurrency": ("concurrency",),
    "rate": ("request_rate",),
    "context": ("context_tokens",),
    "engine": ("engine",),
    "tp": ("tensor_parallel",),
    "power": ("power_w",),
}
_ALIGNED = ("weights", "price", "kv_cache", "tensor_parallel")
SAME = 1e-6
"""Relative difference of one speed said twice [1]."""


def adds(text: str) -> bool:
    """Whether a follow-up adds options instead of replacing them."""
    return bool(_ADD.search(text))


def leaves(before: str) -> bool:
    """Whether the words before a name take it out of the comparison."""
    return bool(_REMOVE.search(before) or _SWAP_FROM.search(before))


def cleared(text: str) -> tuple[str, ...]:
    """Keys a follow-up takes back: "without the budget"."""
    match = _CLEAR.search(text)
    if match is None:
        return ()
    what = match["what"]
    return _CLEARED.get(what, ("kv_cache",) if what.startswith("kv") else ("prefix_cache_hit",))


def merge(earlier: Mapping[str, Any], said: Mapping[str, Any], *, add: bool, each: int | None) -> dict[str, Any]:
    """The whole request after an edit."""
    merged = {key: value for key, value in earlier.items() if key not in {"model", "models", "skus", "gpus"}}
    merged |= {key: value for key, value in said.items() if key not in {"model", "models", "skus", "gpus", "slo"}}
    if "slo" in said:
        merged["slo"] = {**earlier.get("slo", {}), **said["slo"]}
    if "request_rate" in said and "concurrency" not in said:
        merged.pop("concurrency", None)
    elif "concurrency" in said and "request_rate" not in said:
        merged.pop("request_rate", None)
    merged |= _models(earlier, said, add=add)
    merged |= _skus(earlier, said, add=add, each=each)
    if "skus" in said and len(merged.get("skus", ())) != len(earlier.get("skus", ())):
        merged = {
            key: value
            for key, value in merged.items()
            if key in said or key not in _ALIGNED or not _spread(value, len(earlier.get("skus", ())))
        }
    return merged


def reread_speed(parse: dict[str, Any], before: Mapping[str, Any], demand: Mapping[str, Any]) -> None:
    """Take back each user's speed where the same number is now said to be of all: it was read the other way before."""
    each = before.get("slo", {}).get("tpot_s")
    if each is None or abs(demand.get("tokens_per_s", 0.0) * each - 1.0) > SAME:
        return
    slo = {name: value for name, value in parse["slo"].items() if name != "tpot_s"}
    parse.pop("slo")
    if slo.keys() - {"percentile"}:
        parse["slo"] = slo


def kept_demand(demand: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """What a thread's demand is after a message without one; a speed of nobody ends where each user's is now said."""
    if demand.get("bare") and "tpot_s" in said.get("slo", {}):
        return {}
    return {key: value for key, value in demand.items() if key not in {"each", "bare"}}


def _spread(value: Any, options: int) -> bool:  # noqa: ANN401 - a JSON value
    """Whether a value was given per option."""
    inner = next(iter(value.values()), None) if isinstance(value, dict) else value
    return options > 1 and isinstance(inner, list) and len(inner) == options


def _models(earlier: Mapping[str, Any], said: Mapping[str, Any], *, add: bool) -> dict[str, Any]:
    before = list(earlier.get("models") or ([earlier["model"]] if "model" in earlier else []))
    now = list(said.get("models") or ([said["model"]] if "model" in said else []))
    models = before if not now else list(dict.fromkeys([*before, *now])) if add else now
    if not models:
        return {}
    return {"model": models[0]} if len(models) == 1 else {"models": models}


def _skus(earlier: Mapping[str, Any], said: Mapping[str, Any], *, add: bool, each: int | None) -> dict[str, Any]:
    before, counts = list(earlier.get("skus", ())), list(earlier.get("gpus") or [None] * len(earlier.get("skus", ())))
    now, new = list(said.get("skus", ())), list(said.get("gpus") or [None] * len(said.get("skus", ())))
    kept = counts[0] if counts and len(set(counts)) == 1 else None
    if now:
        new = [n if n is not None else kept for n in new]
        fresh = [(s, n) for s, n in zip(now, new, strict=True) if not (add and s in before and n in {None, kept})]
        pairs = [*zip(before, counts, strict=True), *fresh] if add else list(zip(now, new, strict=True))
    else:
        pairs = list(zip(before, [*said["gpus"]] * len(before) if said.get("gpus") else counts, strict=False))
    if each is not None:
        pairs = [(s, each) for s, _ in pairs]
    if not pairs:
        return {}
    found: dict[str, Any] = {"skus": [s for s, _ in pairs]}
    if any(n is not None for _, n in pairs):
        found["gpus"] = [n for _, n in pairs]
    return found
