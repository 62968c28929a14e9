"""The parse question and its answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from planner.schemas.base import Answer, Question


class ParseRequest(Question):
    """A question in plain words, and the earlier answer of its thread (or that answer's `parse` alone)."""

    text: Annotated[str, Field(max_length=40_000, examples=["llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"])]
    context: dict[str, Any] | None = None


class ParseAnswer(Answer):
    """What was understood: only what the text or its thread states."""

    intent: Annotated[str, Field(description="help why compare cost size batch fits plan, or unknown: out of scope")]
    parse: Annotated[dict[str, Any], Field(description="model, models, skus, gpus, weights, kv_cache, …")]
    ask: Annotated[list[str], Field(description="What must be asked before answering")]
    choices: Annotated[dict[str, list[str]], Field(description="What an ambiguous or unknown name can mean")]
    warn: Annotated[list[str], Field(description="currency node_price itl_as_tpot unknown_model unknown_sku")]
    notes: Annotated[list[str], Field(description="How something was read")]
    unread: Annotated[str, Field(description="Words nothing was made of")]
