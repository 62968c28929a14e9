"""No end of an interval lies beyond physics: FLOP and bytes at datasheet ceilings, users and arrivals."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

from planner.bootstrap import Planner
from planner.catalog.chips import built_in_chips
from planner.catalog.models import built_in_models
from planner.config import settings
from planner.core.errors import PlannerError
from planner.core.execution.floor import Ceilings, Served
from planner.services.plan.reading import question_of

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
MODELS, SKUS = built_in_models().ids(), [entry.chip.id for entry in built_in_chips().entries()]
ROUNDING = 1e-9


def drawn(rng: random.Random) -> dict[str, Any]:
    work: dict[str, Any] = {"input_tokens": math.exp(rng.uniform(0, 10)), "output_tokens": math.exp(rng.uniform(0, 8)),
                            rng.choice(["concurrency", "request_rate"]): math.exp(rng.uniform(-2, 6))}
    rare = {"prefix_cache_hit": rng.random(), "input_cv": 2 * rng.random(), "output_cv": 2 * rng.random(),
            "context_tokens": math.exp(rng.uniform(0, 11)), "batch": math.exp(rng.uniform(0, 6))}
    work |= {name: value for name, value in rare.items() if rng.random() < 0.15}
    return {"model": rng.choice(list(MODELS)), "sku": rng.choice(SKUS), "workload": work, "deployment": {
        "engine": rng.choice(["vllm", "sglang", "trtllm", "generic"]), "weights": rng.choice(["auto", "fp8", "w4a16"]),
        "tensor_parallel": rng.choice([1, 2, 4, 8]), "pipeline_parallel": rng.choice([1, 1, 1, 2]),
        "data_parallel": rng.choice([1, 1, 2])}}


def value_at(answer: dict[str, Any], path: str) -> float:
    here: Any = answer
    for step in path.split("."):
        here = here[step]
    return float(here)


@pytest.mark.parametrize("seed", range(12))
def test_no_end_lies_beyond_physics(seed) -> None:
    rng, checked = random.Random(seed), 0  # noqa: S311 - no secret
    while checked < 6:
        question = drawn(rng)
        try:
            answer = PLANNER.plans.answer(question_of(question))
        except PlannerError:
            continue
        checked += 1
        seen, work = answer["intervals"], question["workload"]
        for path, (low, high) in seen.items():
            assert 0 < low <= value_at(answer, path) * (1 + ROUNDING) <= high * (1 + 2 * ROUNDING), (path, question)
        same = question | {"calibration": "ideal", "workload": work | {"batch": answer["decode"]["batch"]}}
        ideal = PLANNER.plans.answer(question_of(same))
        step, prompt = ideal["decode"]["step_time_s"], ideal["prefill"]["time_s"]
        assert seen["decode.step_time_s"][0] >= step * (1 - ROUNDING), question
        assert seen["decode.tokens_per_s"][1] <= answer["decode"]["batch"] / step * (1 + ROUNDING), question
        assert seen["prefill.time_s"][0] >= prompt * (1 - ROUNDING), question
        if answer["serving"] is None:
            continue
        gaps = max(work["output_tokens"] - 1.0, 0.0)
        each = step * min(1.0, answer["serving"]["mean_batch"] / answer["decode"]["batch"])
        first = seen.get("serving.ttft_s.mean", [math.inf])[0]
        assert first >= prompt * (1 - ROUNDING), question
        assert seen.get("serving.tpot_s.mean", [math.inf])[0] >= each * (1 - ROUNDING), question
        assert seen.get("serving.e2e_s.mean", [math.inf])[0] >= (prompt + gaps * each) * (1 - ROUNDING), question
        asked = work.get("request_rate") or work["concurrency"] / (prompt + gaps * each)
        most = asked * max(work["output_tokens"], 1.0)
        assert seen["serving.output_tokens_per_s"][1] <= most * (1 + ROUNDING), question


def test_a_wide_interval_is_cut_at_the_bound() -> None:
    """On a card whose family nobody measured the spread alone would reach past what the datasheet allows."""
    answer = PLANNER.plans.answer(question_of({
        "model": "llama-3.1-8b", "sku": "rtx-3090", "deployment": {"tensor_parallel": 1, "weights": "w4a16"},
        "workload": {"input_tokens": 4000, "output_tokens": 200, "concurrency": 1}}))
    ideal = PLANNER.plans.answer(question_of({
        "model": "llama-3.1-8b", "sku": "rtx-3090", "calibration": "ideal", "deployment": {
            "tensor_parallel": 1, "weights": "w4a16"},
        "workload": {"input_tokens": 4000, "output_tokens": 200, "concurrency": 1}}))
    assert answer["intervals"]["prefill.time_s"][0] >= ideal["prefill"]["time_s"]
    whole = ideal["prefill"]["time_s"] + 199 * ideal["decode"]["step_time_s"]
    assert answer["intervals"]["serving.e2e_s.mean"][0] >= whole
    assert answer["intervals"]["serving.output_tokens_per_s"][1] <= 200 / whole


def test_floors_by_hand() -> None:
    found = Ceilings(bandwidth=10.0, half_peak=100.0, peaks={"up": 200.0}, link_rates={"reduce": 5.0})
    assert found.step([("up", 400.0, 10.0, 0.0), ("norm", 50.0, 20.0, 0.0), ("reduce", 0.0, 0.0, 15.0)]) == 2 + 2 + 3
    assert found.peak == 200.0
    load = Served(step=0.5, step_flop=400.0, step_cache_bytes=8.0, batch=4.0, running=2.0, prompt=3.0,
                  prompt_flop=600.0, prompt_cv=math.sqrt(3), gaps=10.0, groups=2.0)
    assert load.between_tokens == 0.25
    assert (load.first_token(median=False), load.first_token(median=True)) == (3.0, pytest.approx(1.5))
    assert load.whole == 5.5
    assert load.request_rate(found) == pytest.approx(200.0 / (300.0 + 1000.0))
    assert load.request_rate_at_batch(found) == pytest.approx(200.0 / 1300.0)
    single = replace(load, prompt_flop=0.0, gaps=0.0)
    assert single.request_rate_at_batch(found) == math.inf
    assert Ceilings(bandwidth=1.0, half_peak=7.0, peaks={}, link_rates={}).peak == 7.0
