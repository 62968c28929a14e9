"""Attention rows of a plan say which window they have, so that two of one name can be told apart."""

from __future__ import annotations

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.plan.reading import question_of

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))


def windows(model: str, part: str) -> dict[float | None, float]:
    answer = PLANNER.plans.answer(question_of({"model": model, "sku": "h100", "deployment": {"tensor_parallel": 2}}))
    return {o["window_tokens"]: o["count"] for o in answer[part]["operators"] if o["name"] == "attention"}


def test_windowed_layers_and_full_layers() -> None:
    assert windows("gemma-3-27b", "decode") == {1024.0: 52.0, None: 10.0}
    assert windows("gemma-3-27b", "prefill") == {1024.0: 52.0, None: 10.0}


def test_full_attention_has_no_window() -> None:
    assert windows("llama-3.1-70b", "decode") == {None: 80.0}
