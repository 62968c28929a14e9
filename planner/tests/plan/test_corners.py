"""Where a plan answers null a sweep does, at the corners of every field and for models that lack a part."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.services.frontier.reading import frontier_question
from planner.services.plan.reading import place, question_of
from planner.services.sizing.reading import sizing_question
from planner.services.sweep.axes import read_axes
from planner.services.sweep.metrics import METRICS
from planner.services.sweep.output import as_document
from planner.tests.plan.test_sweep import PLANNER, at

CARD = {"id": "card", "params": 7e9, "layers": 32, "kv_heads": 8, "head_dim": 128, "vocab": 32000}
PAIRS = [("llama-3.1-8b", "h100", "vllm"), ("llama-3.1-8b", "h100", "sglang"), ("gemma-3-27b-it", "h100", "trtllm"),
         ("falcon-mamba-7b", "h100", "generic"), (CARD, "h100", "vllm"), ("gpt-oss-20b", "mi300x", "sglang"),
         ("deepseek-v3", "h200", "vllm")]
CORNERS = [
    {"workload.output_tokens": [1.0, 2.0, 1000.0], "workload.concurrency": [0.3, 1, 64]},
    {"workload.input_tokens": [1.0, 1000.0], "workload.prefix_cache_hit": [0.0, 1.0],
     "workload.output_tokens": [1.0, 300.0]},
    {"workload.request_rate": [1e-9, 1.0, 1e6], "workload.output_tokens": [1.0, 1.5, 100.0],
     "workload.arrival_cv": [0.0, 1.0, 3.0]},
    {"workload.batch": [1, 1.5, 1e6], "workload.context_tokens": [0.1, 1, 1e6]},
    {"deployment.max_num_seqs": [1, 256], "deployment.max_num_batched_tokens": [1, 8192],
     "workload.concurrency": [0.5, 2, 500]},
    {"deployment.memory_utilization": [0.01, 0.9], "deployment.max_model_len": [1, 5000],
     "price.usd_per_gpu_hour": [0.0, 2.0]},
    {"workload.input_cv": [0.0, 10.0], "workload.output_cv": [0.0, 10.0], "workload.output_tokens": [1.0, 50.0]},
    {"workload.input_tokens": [1.0, 1e8], "workload.output_tokens": [1.0, 1e6]},
]
TAILS = {"serving.ttft_s.p95", "serving.ttft_s.p99", "serving.e2e_s.p95"}


def same(found: object, wanted: object, name: str) -> bool:
    """Whether two JSON values are one; tails of almost no spread are differences of almost equal squares."""
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return found == wanted
    return not isinstance(found, bool | None) and math.isclose(found, wanted, rel_tol=1e-6 if name in TAILS else 1e-11)


@pytest.mark.parametrize("calibration", ["auto", "ideal"])
@pytest.mark.parametrize(("model", "sku", "engine"), PAIRS)
def test_a_row_of_a_sweep_is_the_plan_at_every_corner(model, sku, engine, calibration) -> None:
    base = {"model": model, "sku": sku, "calibration": calibration,
            "deployment": {"engine": engine, "tensor_parallel": 8 if model == "deepseek-v3" else 1}}
    for axes in CORNERS:
        shown = as_document(PLANNER.sweeps.columns(base, read_axes(axes, 10**6), list(METRICS)))["metrics"]
        for index, point in enumerate(itertools.product(*axes.values())):
            document = base | {"deployment": dict(base["deployment"])}
            for path, value in zip(axes, point, strict=True):
                place(document, path, value)
            answer = PLANNER.plans.answer(question_of(document))
            wrong = {name: (shown[name][index], at(answer, name)) for name in METRICS
                     if not same(shown[name][index], at(answer, name), name)}
            assert not wrong, (dict(zip(axes, point, strict=True)), wrong)


def test_the_axis_of_a_load_replaces_the_load_of_the_base() -> None:
    base = {"model": "llama-3.1-8b", "sku": "h100", "workload": {"request_rate": 2.0}}
    swept = PLANNER.sweeps.columns(base, read_axes({"workload.concurrency": [1.0, 8.0]}, 10), ["serving.concurrency"])
    assert swept.metrics["serving.concurrency"].tolist() == [1.0, 8.0]


def test_one_token_keeps_every_time_per_token() -> None:
    asked = {"model": "llama-3.1-8b", "sku": "h100", "workload": {"output_tokens": 1.0, "concurrency": 4.0},
             "slo": {"tpot_s": 1e-6}}
    serving = PLANNER.plans.answer(question_of(asked))["serving"]
    assert serving["meets_slo"] is True
    assert serving["tokens_per_s_per_user"] is None
    assert set(serving["tpot_s"].values()) == set(serving["itl_s"].values()) == {None}


def test_one_token_has_no_speed_in_a_frontier_and_still_a_front() -> None:
    question = frontier_question({"model": "llama-3.1-8b", "skus": ["h100"], "concurrency": [1, 16],
                                  "workload": {"input_tokens": 1000.0, "output_tokens": 1.0}})
    answer = PLANNER.frontiers.answer(question)
    assert {row["tokens_per_s_per_user"] for row in answer["points"]} == {None}
    assert {row["tpot_s"] for row in answer["points"]} == {None}
    assert any(row["pareto"] for row in answer["points"])
    assert "time to first token" in answer["assumptions"][-1]


def test_one_token_is_sized_by_its_first() -> None:
    document = {"model": "llama-3.1-8b", "skus": ["h100"], "slo": {"tpot_s": 1e-4, "ttft_s": 1.0}, "demand": {
        "request_rate": 5.0, "input_tokens": 500.0, "output_tokens": 1.0}}
    option = PLANNER.sizing.answer(sizing_question(document))["options"][0]
    assert option["tpot_s"] is None
    assert option["ttft_s"] <= 1.0
    assert option["simulated"]["tpot_s"] is None


def test_evenly_spaced_arrivals_wait_less() -> None:
    def waits(cv: float) -> float:
        plan = {"model": "llama-3.1-8b", "sku": "h100", "workload": {"request_rate": 5.0, "arrival_cv": cv}}
        return PLANNER.plans.answer(question_of(plan))["serving"]["ttft_s"]["mean"]

    assert waits(0.0) <= waits(1.0) < waits(3.0)
    with pytest.raises(InvalidQuantity):
        waits(-1.0)


def test_no_column_is_infinite_where_a_plan_says_null() -> None:
    columns = PLANNER.sweeps.columns(
        {"model": "llama-3.1-8b", "sku": "h100"}, read_axes({"workload.request_rate": [1e5]}, 10), list(METRICS))
    assert np.isinf(columns.metrics["serving.ttft_s.mean"]).all()
    assert as_document(columns)["metrics"]["serving.ttft_s.mean"] == [None]


def test_one_token_is_told_as_answers_a_second() -> None:
    asked = {"model": "llama-3.1-8b", "sku": "h100", "workload": {"output_tokens": 1.0, "concurrency": 4.0}}
    text = PLANNER.plans.answer(question_of(asked))["explanation"]
    assert "answers of one token a second" in text
    assert "each user" not in text
