"""When a reading counts as right: intent, every key of the parse, what must be asked, offered and warned of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.services.parse import Parsed

DATA = Path(__file__).resolve().parents[2] / "data" / "phrasings"
TOLERANCE = 1e-3


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def answer_of(parsed: Parsed) -> dict[str, Any]:
    """The reading as the API gives it, to be used as the next message's context."""
    return {
        "intent": parsed.intent,
        "parse": parsed.parse,
        "ask": list(parsed.ask),
        "choices": {key: list(ids) for key, ids in parsed.choices.items()},
        "warn": list(parsed.warn),
    }


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= TOLERANCE * max(abs(a), abs(b))
    return a == b or {a, b} == {"fp8", "fp8_block"} if isinstance(a, str) and isinstance(b, str) else a == b


def faults(case: Mapping[str, Any], parsed: Parsed) -> list[str]:
    """Why a reading is wrong; empty when it is right."""
    readings = [{}, *case.get("alternatives", ())]
    intents = {case["intent"], *(r["intent"] for r in readings if "intent" in r)}
    if parsed.intent not in intents:
        return [f"intent {parsed.intent}, not {sorted(intents)}"]
    found = []
    for reading in readings:
        fault = _fault({**case, **{k: v for k, v in reading.items() if k != "intent"}}, parsed)
        if fault is None:
            return []
        found.append(fault)
    return found


def _fault(case: Mapping[str, Any], parsed: Parsed) -> str | None:
    if not same(case["parse"], parsed.parse):
        keys = case["parse"].keys() | parsed.parse.keys()
        return str(
            {
                k: (case["parse"].get(k), parsed.parse.get(k))
                for k in keys
                if not same(case["parse"].get(k), parsed.parse.get(k))
            }
        )
    if set(case["ask"]) - set(parsed.ask) or (not case["ask"] and parsed.ask):
        return f"asks {parsed.ask}, not {case['ask']}"
    missing = {k: set(ids) - set(parsed.choices.get(k, ())) for k, ids in case.get("choices", {}).items()}
    if any(missing.values()):
        return f"does not offer {missing}"
    if set(case.get("warn", ())) - set(parsed.warn):
        return f"warns {parsed.warn}, not {case['warn']}"
    return None
