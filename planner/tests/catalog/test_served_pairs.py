"""Which chips under which engines count as seen in whole runs, and what that does to intervals."""

from __future__ import annotations

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.plan.reading import question_of


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))


def plan(planner: Planner, sku: str, engine: str) -> dict:
    return planner.plans.answer(question_of({
        "model": "meta-llama/Llama-3.1-8B", "sku": sku, "deployment": {"engine": engine},
        "workload": {"input_tokens": 1024, "output_tokens": 128, "concurrency": 8},
    }))  # fmt: skip


def width(answer: dict) -> float:
    low, high = answer["intervals"]["serving.tpot_s.mean"]
    return high / low


@pytest.mark.parametrize(
    ("sku", "engine", "seen"),
    [("h100-sxm-80gb", "vllm", True), ("h200-sxm-141gb", "sglang", True), ("b200-sxm-180gb", "trtllm", True),
     ("h100-sxm-80gb", "generic", False), ("a100-sxm-80gb", "vllm", False), ("mi300x-192gb", "vllm", False)],
)  # fmt: skip
def test_pairs_without_fitted_runs_have_wider_intervals_and_say_why(
    planner: Planner, sku: str, engine: str, seen: bool
) -> None:
    answer = plan(planner, sku, engine)
    assert any("No served run of" in row for row in answer["assumptions"]) is not seen
    known = width(plan(planner, "h100-sxm-80gb", "vllm"))
    assert 1.2 < known < 1.7
    assert (width(answer) <= 1.001 * known) is seen
    assert width(answer) < 2.2
