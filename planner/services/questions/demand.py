"""The load behind a demand in tokens, and the load of a question that speaks of none: said as an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.fleet.terms import SECONDS_PER_MONTH, rate_of_tokens
from planner.core.quantities.format import significant
from planner.services.parse import Parsed
from planner.services.parse.load import SECONDS
from planner.services.questions.requests import ASSUMED_LOAD, UNUSED_LOAD, workload_of

_LOADS = ("request_rate", "concurrency", "users")
_ALONE = frozenset({"plan", "compare"})


def loaded(parsed: Parsed) -> Mapping[str, Any]:
    """The request with a load from the tokens said, or one request in flight where the first token is asked of."""
    parse, demand = parsed.parse, dict(parsed.demand)
    if "tokens_per_s" not in demand and "tokens_per_month" in parse:
        said = f"{significant(parse['tokens_per_month'])} tokens a month"
        demand |= {"tokens_per_s": parse["tokens_per_month"] / SECONDS["M"], "tokens": "all", "said": said}
    seen = parsed.intent == "why" and "tokens_per_month" not in parse  # a speed in a why is what somebody measured
    asked = "tokens_per_s" in demand and not seen
    if any(key in parse for key in _LOADS):
        unused = f"“{demand['said']}” is not used: the other load said is" if asked else ""
        return {**parse, UNUSED_LOAD: unused} if unused else parse
    if asked:
        return _from_tokens(parse, demand)
    if demand.get("first_token") and parsed.intent in _ALONE:
        note = "1 request in flight, as the time to the first token is asked and no load said"
        return {**parse, "concurrency": 1, ASSUMED_LOAD: note}
    return parse


def read_as(parsed: Parsed) -> str:
    """Whose speed a bare one was taken for, and how to ask for the other; nothing where it was said."""
    demand = parsed.demand
    if "each" in demand:
        return f" “{demand['each']}” is read as each user's; for all users together say “{demand['each']} in total”."
    if demand.get("bare") and parsed.intent != "why" and not any(key in parsed.parse for key in _LOADS):
        return f" “{demand['said']}” is read as of all users together; for each one say “{demand['said']} per user”."
    return ""


def _from_tokens(parse: Mapping[str, Any], demand: Mapping[str, Any]) -> dict[str, Any]:
    """Requests per second that make so many tokens."""
    workload, _ = workload_of(parse)
    prompt, answer = workload["input_tokens"], workload["output_tokens"]
    each, what = {"input": (prompt, f"{prompt:,.0f} prompt tokens"),
                  "output": (answer, f"{answer:,.0f} answer tokens")}.get(
        demand["tokens"], (prompt + answer, f"{prompt + answer:,.0f} prompt and answer tokens"))
    rate = rate_of_tokens(demand["tokens_per_s"] * SECONDS_PER_MONTH, each)
    note = f"“{demand['said']}” of {what} a request, spread evenly: {significant(rate)} requests/s"
    return {**parse, "request_rate": rate, ASSUMED_LOAD: note}
