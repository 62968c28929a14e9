"""A question in plain words, and its answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from planner.schemas.base import Answer, Question


class AskRequest(Question):
    """A question in plain words, and the `context` of the answer before it in its thread."""

    text: Annotated[str, Field(min_length=1, max_length=40_000,
                               examples=["llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"])]
    context: dict[str, Any] | None = None


class AskAnswer(Answer):
    """An answer in words and figures."""

    intent: Annotated[str, Field(description="why compare cost size batch fits plan")]
    verdict: Annotated[str, Field(description="The first sentence, with what was assumed of it")]
    lead: Annotated[str, Field(description="What was planned")]
    figures: Annotated[list[dict[str, Any]], Field(description="label, path in a plan, value, text, low and high ends "
                                                               "of the 90 % interval as text")]
    lines: Annotated[list[str], Field(description="One line an option, or what would help")]
    limit: str
    lever: str
    assumptions: list[str]
    warnings: list[str]
    notes: Annotated[list[str], Field(description="How something was read")]
    warn: Annotated[list[str], Field(description="Codes as in /v1/parse")]
    plans: Annotated[list[dict[str, Any]], Field(description="The questions of POST /v1/plan behind the answer")]
    context: Annotated[dict[str, Any], Field(description="Send it with a follow-up")]
