"""A sweep is the plan, point by point, within rounding and whatever the chunks."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.errors import InvalidQuantity
from planner.services.plan.reading import place, question_of
from planner.services.ports import Caller
from planner.services.sweep import service as sweeping
from planner.services.sweep.axes import read_axes
from planner.services.sweep.job import handler
from planner.services.sweep.metrics import LABELS, METRICS
from planner.services.sweep.output import as_document, values

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))


def at(answer: dict[str, Any], path: str) -> Any:
    here: Any = answer
    for step in path.split("."):
        if here is None:
            return None
        here = here[step]
    return here


CASES = [
    ({"model": "llama-3.1-8b", "sku": "h100", "deployment": {"tensor_parallel": 2}},
     {"workload.concurrency": [1, 17, 300], "workload.input_tokens": [100.0, 9000.0]}),
    ({"model": "llama-3.1-70b", "sku": "h100", "calibration": "ideal"},
     {"sku": ["h100", "mi300x"], "deployment.weights": ["bf16", "fp8"], "workload.concurrency": [3, 64]}),
    ({"model": "llama-3.1-70b", "sku": "h200"},
     {"workload.output_tokens": [10.0, 2000.0], "deployment.memory_utilization": [0.2, 0.9]}),
    ({"model": "mixtral-8x7b-v0.1", "sku": "h100", "deployment": {"tensor_parallel": 4}},
     {"workload.request_rate": [0.5, 4.0, 1e4], "workload.output_cv": [0.0, 0.7]}),
    ({"model": "gemma-3-27b-it", "sku": "b200", "deployment": {"tensor_parallel": 1}},
     {"workload.context_tokens": [500.0, 60000.0], "workload.batch": [1.0, 9.5]}),
    ({"model": "deepseek-v3", "sku": "h200", "deployment": {"tensor_parallel": 8, "expert_parallel": 8}},
     {"workload.concurrency": [8, 256], "workload.prefix_cache_hit": [0.0, 0.5]}),
]


@pytest.mark.parametrize(("base", "axes"), CASES)
def test_equals_the_plan(base, axes) -> None:
    names = [name for name in METRICS if not name.startswith("cost.")]
    columns = PLANNER.sweeps.columns(base, read_axes(axes, 10**6), names)
    shown = as_document(columns)["metrics"]
    for index, point in enumerate(itertools.product(*axes.values())):
        document = {k: dict(v) if isinstance(v, dict) else v for k, v in base.items()}
        for path, value in zip(axes, point, strict=True):
            place(document, path, value)
        answer = PLANNER.plans.answer(question_of(document))
        for name in names:
            wanted, found = at(answer, name), shown[name][index]
            if isinstance(wanted, float | int) and not isinstance(wanted, bool):
                assert found == pytest.approx(wanted, rel=1e-12), (name, point)
            else:
                assert found == wanted, (name, point)


def test_chunks_never_change_a_bit(monkeypatch) -> None:
    base = {"model": "mixtral-8x7b-v0.1", "sku": "h100", "deployment": {"tensor_parallel": 2}}
    axes = read_axes({"workload.concurrency": np.geomspace(1, 500, 23).tolist(),
                      "workload.input_tokens": np.geomspace(10, 20000, 11).tolist()}, 10**6)
    names = [name for name in METRICS if not name.startswith("cost.")]
    whole = PLANNER.sweeps.columns(base, axes, names)
    monkeypatch.setattr(sweeping, "CHUNK", 11)
    parts = PLANNER.sweeps.columns(base, axes, names)
    for name in names:
        assert np.array_equal(whole.metrics[name], parts.metrics[name], equal_nan=True), name


def test_a_refused_configuration_names_its_reason_and_leaves_nan() -> None:
    columns = PLANNER.sweeps.columns({"model": "llama-3.1-8b", "sku": "h100"},
                                     read_axes({"sku": ["a100", "h100"], "deployment.weights": ["fp8"]}, 100),
                                     ["decode.step_time_s"])
    assert len(columns.refused) == 1
    assert columns.refused[0]["code"] == "missing_fact"
    assert np.isnan(columns.metrics["decode.step_time_s"][0])
    assert values("decode.step_time_s", columns.metrics["decode.step_time_s"])[0] is None


def test_the_product_is_checked_before_anything_is_made() -> None:
    axes = {"workload.concurrency": list(range(1, 2001)), "workload.input_tokens": list(range(1, 2001))}
    with pytest.raises(InvalidQuantity, match="4,000,000 points"):
        read_axes(axes, 10**6)


@pytest.mark.parametrize("axes", [{"workload.colour": [1]}, {"workload.concurrency": []},
                                  {"workload.concurrency": ["many"]}, {"workload.concurrency": [-1]},
                                  {"workload.concurrency": [float("nan")]},
                                  {"workload.concurrency": [1], "workload.request_rate": [1.0]}])
def test_nonsense_axes_are_refused(axes) -> None:
    with pytest.raises(InvalidQuantity):
        read_axes(axes, 10**6)


def test_an_unknown_metric_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidQuantity) as refusal:
        PLANNER.sweeps.columns({"model": "llama-3.1-8b", "sku": "h100"}, (), ["decode.colour"])
    assert "decode.step_time_s" in str(refusal.value.hint)


def test_every_label_is_a_metric() -> None:
    assert set(LABELS) <= set(METRICS)


def test_a_job_writes_the_same_document_from_arrays() -> None:
    base = {"model": "llama-3.1-70b", "sku": "h100", "deployment": {"tensor_parallel": 1}}
    axes = {"deployment.weights": ["bf16", "fp8"], "workload.concurrency": [1, 8]}
    metrics = ["serving.tpot_s.mean", "decode.bound", "fit.fits", "decode.step_time_s"]
    columns = PLANNER.sweeps.columns(base, read_axes(axes, 100), metrics)
    told = handler(lambda: PLANNER.sweeps)({"base": base, "axes": axes, "metrics": metrics}, Caller(), lambda *_: None)
    assert orjson.loads(told.content) == json.loads(json.dumps(as_document(columns)))


@pytest.mark.parametrize(("model", "engine"), [("llama-3.1-8b", "vllm"), ("llama-3.1-8b", "trtllm"),
                                               ("gemma-3-27b-it", "sglang"), ("mistral-7b-v0.1", "vllm"),
                                               ("gpt-oss-20b", "vllm")])
@pytest.mark.parametrize("data", [1, 2])
def test_no_batch_holds_more_than_the_pool_at_its_context(model, engine, data) -> None:
    base = {"model": model, "sku": "h100", "calibration": "ideal",
            "deployment": {"engine": engine, "tensor_parallel": 4, "data_parallel": data, "max_num_seqs": 4096},
            "workload": {"concurrency": 1e5, "input_tokens": 1000.0, "output_tokens": 200.0}}
    names = ["fit.fits", "fit.max_concurrency", "fit.kv_pool_bytes", "decode.batch", "decode.traffic.kv_bytes"]
    contexts = [100.0, 1200.0, 3000.0, 30_000.0, 120_000.0]
    columns = PLANNER.sweeps.columns(base, read_axes({"workload.context_tokens": contexts}, 100), names)
    fits, most, pool, batch, read = (columns.metrics[name] for name in names)
    assert fits.all()
    assert (batch[0] >= most[0]) & (np.diff(batch) <= 0).all()
    assert (batch[0] == most[0]) | (engine == "vllm")  # which counts a prompt chunk beside a window
    assert (read <= pool * (1 + 1 / np.array(contexts) + 1e-9)).all()  # a step also writes one token of each
    assert (batch % data == 0).all()  # a sequence lives whole in one rank


@pytest.mark.parametrize("engine", ["vllm", "trtllm"])
def test_a_served_batch_holds_no_more_than_the_pool_at_the_context_asked_about(engine) -> None:
    answer = PLANNER.plans.answer(question_of({
        "model": "llama-3.1-8b", "sku": "h100",
        "deployment": {"engine": engine, "tensor_parallel": 1, "max_num_seqs": 2000},
        "workload": {"concurrency": 2000, "context_tokens": 30_000.0}}))
    assert answer["decode"]["traffic"]["kv_bytes"] <= answer["fit"]["kv_pool_bytes"]
    assert "twice the batch" not in {lever["change"] for lever in answer["levers"]}


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("model", ["gemma-3-27b-it", "mistral-7b-v0.1", "qwen3-next-80b-a3b-instruct"])
def test_plan_bound_and_service_cut_the_pool_alike(model, engine) -> None:
    """Windows, padded groups and states count the same whether a fit, a bound or a load is asked about."""
    question = {"model": model, "sku": "h100",
                "deployment": {"engine": engine, "tensor_parallel": 4, "max_num_seqs": 2000},
                "workload": {"concurrency": 2000, "context_tokens": 12_000.0, "input_tokens": 11_000.0,
                             "output_tokens": 1_000.0}}
    served, ideal = (PLANNER.plans.answer(question_of(question | {"calibration": c})) for c in ("auto", "ideal"))
    assert served["serving"]["limit"] == ideal["serving"]["limit"] == "kv_capacity"
    assert served["decode"]["batch"] == pytest.approx(ideal["decode"]["batch"], rel=0.03)
    assert served["decode"]["tokens_per_s"] < ideal["decode"]["tokens_per_s"]
    assert ideal["fit"]["max_concurrency"] <= ideal["decode"]["batch"]
    if engine != "vllm":
        assert ideal["fit"]["max_concurrency"] == ideal["decode"]["batch"]


def test_a_warmed_planner_has_compiled_what_it_answered_and_refuses_nothing_aloud() -> None:
    fresh = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
    fresh.warm()
    model, sku = (next(iter(fresh.catalog.libraries[kind].ids())) for kind in ("model", "sku"))
    kept = fresh.plans.configure(question_of({"model": model, "sku": sku}))[0]
    assert fresh.plans.configure(question_of({"model": model, "sku": sku}))[0] is kept


def test_variants_that_are_only_timed_build_no_step_table() -> None:
    fresh = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
    question = question_of({"model": "llama-3.1-8b", "sku": "h100"})
    answer = fresh.plans.answer(question)
    resolved, deployment, _ = fresh.plans.resolve(question)
    wide = fresh.plans.compiler.configuration(resolved, replace(deployment, tensor_parallel=2))
    assert "steps" not in wide.memo
    own = fresh.plans.compiler.configuration(resolved, replace(
        deployment, tensor_parallel=answer["deployment"]["tensor_parallel"]))
    assert "steps" in own.memo
    assert wide.steps is wide.steps
