"""A question in plain words answered outright: its document, or what is missing refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from planner.core.errors import DomainError, MissingFact
from planner.services.parse import Grammar, Parsed
from planner.services.questions.answering import Answering
from planner.services.questions.reply import Reply

NAMES = {"model": "the model", "skus": "the GPU"}
"""What a question may lack, in words."""
EXAMPLES = ("Ask like this: “llama 3.3 70b on 4 h100, 2k in 500 out, 32 clients”, “which gpu for qwen3 32b, 40 users, "
            "30 tok/s each”, “does gpt-oss-120b fit on one h100”, “cost of llama 8b on l4”.")


def ask(grammar: Grammar, answering: Answering, text: str, context: Mapping[str, Any] | None = None,
        workspace: str = "default") -> dict[str, Any]:
    """Return the answer to a question, with what a follow-up needs as its context."""
    parsed = grammar.read(text, context)
    if parsed.intent in {"help", "unknown"}:
        raise DomainError("This is no question about serving a model that can be read.", hint=EXAMPLES, pointer="/text")
    if parsed.ask:
        raise _lacking(parsed)
    return _document(parsed, answering.reply(parsed, workspace))


def _lacking(parsed: Parsed) -> MissingFact:
    """What must be said before there is an answer, and what an open name can mean."""
    words = " and ".join(NAMES.get(key, key) for key in parsed.ask)
    choices = "; ".join(f"{NAMES.get(key, key)} could be {', '.join(found)}" for key, found in parsed.choices.items()
                        if found)
    return MissingFact(f"To be answered the question must name {words}.", fact=parsed.ask[0], pointer="/text",
                       hint=f"{choices[:1].upper()}{choices[1:]}." if choices else EXAMPLES)


def _document(parsed: Parsed, reply: Reply) -> dict[str, Any]:
    return {
        "intent": parsed.intent, "verdict": reply.verdict, "lead": reply.lead,
        "figures": [asdict(figure) for figure in reply.figures], "lines": list(reply.lines), "limit": reply.limit,
        "lever": reply.lever, "assumptions": list(reply.assumptions), "warnings": list(reply.warnings),
        "notes": list(parsed.notes), "warn": list(parsed.warn),
        "plans": [outcome.document for outcome in reply.outcomes if outcome.document],
        "context": {"intent": parsed.intent, "parse": parsed.parse, "demand": parsed.demand}}
