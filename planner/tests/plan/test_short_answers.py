"""Answers of a few tokens, where prompts are all the work: Little's law and physics hold all the same."""

from __future__ import annotations

import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.plan.reading import question_of

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))


@pytest.mark.parametrize("calibration", ["auto", "ideal"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("answer", [1, 2, 3, 5, 10, 20, 50, 300])
def test_users_equal_rate_times_time(answer, engine, calibration) -> None:
    plan = PLANNER.plans.answer(question_of({
        "model": "llama-3.1-70b", "sku": "h100", "deployment": {"tensor_parallel": 4, "engine": engine},
        "workload": {"input_tokens": 1000, "output_tokens": answer, "concurrency": 64}, "calibration": calibration}))
    serving = plan["serving"]
    assert serving["request_rate"] * serving["e2e_s"]["mean"] == pytest.approx(64, rel=0.021)
    assert plan["prefill"]["time_s"] * 0.5 < serving["ttft_s"]["mean"] < 64 * 2 * plan["prefill"]["time_s"]
    if answer == 1:
        assert serving["tpot_s"]["mean"] is None
    else:
        assert serving["tpot_s"]["mean"] >= plan["decode"]["step_time_s"] * 0.5
        assert serving["tpot_s"]["p95"] >= serving["tpot_s"]["mean"] * 0.999


@pytest.mark.parametrize("data", [1, 2])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("answer", [1, 3, 10])
def test_long_prompts_with_short_answers_take_their_prompts_time(answer, engine, data) -> None:
    plan = PLANNER.plans.answer(question_of({
        "model": "llama-3.1-8b", "sku": "h100",
        "deployment": {"tensor_parallel": 1, "data_parallel": data, "engine": engine},
        "workload": {"input_tokens": 7000, "output_tokens": answer, "concurrency": 64}}))
    prompts = data / plan["prefill"]["time_s"]
    assert 0.85 * prompts < plan["serving"]["request_rate"] < 1.2 * prompts
    assert plan["serving"]["max_request_rate"] < 1.2 * prompts
