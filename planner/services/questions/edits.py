"""Edits that a button makes to a request: the same as saying it in the thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.services.questions.requests import workload_of

EDITS = ("fp8", "fp8_kv", "context", "why", "cost", "size", "plan")


def edited(context: Mapping[str, Any], edit: str, value: str | None = None) -> dict[str, Any]:
    """A request after a button: other format, twice the context, another GPU or model, another question about it."""
    parse = dict(context["parse"])
    intent = str(context["intent"])
    if edit == "fp8":
        parse["weights"] = "fp8"
    elif edit == "fp8_kv":
        parse["kv_cache"] = "fp8"
    elif edit == "context":
        parse = _longer(parse)
    elif edit in {"sku", "model"} and value is not None:
        parse = _other(parse, edit, value)
    elif edit in {"why", "cost", "plan"}:
        intent = edit
    elif edit == "size":
        parse.pop("gpus", None)
        intent = "size"
    return {"intent": intent, "parse": parse, "ask": [], "choices": {}}


def _longer(parse: dict[str, Any]) -> dict[str, Any]:
    """Twice the window said, or twice the prompt."""
    if isinstance(parse.get("context_tokens"), int | float):
        return parse | {"context_tokens": 2 * parse["context_tokens"]}
    workload, _ = workload_of(parse)
    return parse | {"input_tokens": 2 * workload["input_tokens"]}


def _other(parse: dict[str, Any], edit: str, value: str) -> dict[str, Any]:
    """The same question of another model, or on another GPU with the count kept."""
    if edit == "model":
        return {k: v for k, v in parse.items() if k != "models"} | {"model": value}
    kept = {k: v for k, v in parse.items() if k not in {"skus", "gpus", "price"}}
    counts = parse.get("gpus") or [None]
    return kept | {"skus": [value]} | ({"gpus": [counts[0]]} if counts[0] is not None else {})


def filled(context: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """A request completed by a form: model and GPU by id, the rest as numbers."""
    parse = dict(context["parse"])
    for key, text in given.items():
        if key == "model":
            parse = _other(parse, "model", text)
        elif key == "skus":
            parse = _other(parse, "sku", text)
        elif key in {"ttft_s", "tpot_s"}:
            parse["slo"] = {**parse.get("slo", {}), key: float(text)}
        elif key == "share":
            parse["concurrency"] = max(1.0, float(parse.get("users", 1)) * float(text))
        else:
            parse[key] = float(text)
    return {"intent": context["intent"], "parse": parse, "ask": [], "choices": {}}
