"""Scoring, its linear-time JSON, jobs, and corrections learnt from own runs."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import orjson
import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.errors import AdapterError, InvalidQuantity, MissingFact
from planner.core.execution.bound import bind
from planner.core.execution.own_runs import OwnRunsProfile, slowed
from planner.core.execution.step import decode_step, prompt_step
from planner.core.workload import Workload
from planner.services.accuracy.corrected import OWN_ROWS, check_model, corrected
from planner.services.accuracy.files import checked_rows
from planner.services.accuracy.validating import handler, packed, unpacked
from planner.services.plan.question import Deployment, PlanQuestion
from planner.services.ports import Caller

DATA = Path(__file__).parents[1] / "data" / "measured_runs.csv"
RECORDS = list(csv.DictReader(DATA.read_text(encoding="utf-8").splitlines()))
OF_ONE = [r for r in RECORDS if r["n_gpus"] == "8" and "Llama" in r["model"]]


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    return Planner(settings({"PLANNER_DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('none')}/none.sqlite3"}))


def rows(*records):
    return checked_rows(list(records))


def configured(planner, model, sku, **deployment):
    load = Workload(input_tokens=1000, output_tokens=500, concurrency=8)
    question = PlanQuestion(model=model, sku=sku, workload=load, deployment=Deployment(**deployment))
    return planner.plans.configure(question)[0]


def test_every_fault_stands_under_its_own_row(planner):
    bad = [{**RECORDS[0], "tpot_ms": "=1+1"}, RECORDS[1], {**RECORDS[2], "model": "no-such-model"}, RECORDS[3],
           RECORDS[3]]
    answer = planner.validations.answer(rows(*bad), detail=True)
    assert (answer["rows"], answer["predicted"]) == (5, 3)
    assert answer["gated"] == [{"reason": "duplicate", "count": 1}]
    lines = {line["number"]: line for line in answer["row_results"]}
    assert sorted(lines) == [1, 2, 3, 4, 5]
    assert "not a number" in lines[1]["refused_reason"]
    assert lines[3]["refused_reason"].startswith("not_found")
    assert lines[5]["gate"] == "duplicate"
    assert lines[2]["predicted_tpot_ms"] > 0


def test_a_file_of_unreadable_rows_scores_nothing(planner):
    answer = planner.validations.answer(rows({**RECORDS[0], "isl": "nan"}), learn=3, detail=True)
    assert (answer["rows"], answer["predicted"], answer["groups"]) == (1, 0, [])
    assert set(answer["metrics"].values()) == {None}
    assert answer["learning"]["n"] == 0


def test_bounds_cannot_be_validated(planner):
    with pytest.raises(InvalidQuantity, match="bounds"):
        planner.validations.answer(rows(*RECORDS), calibration="ideal")


def test_a_job_gives_the_same_answer(planner):
    told = []
    run = handler(lambda: planner.validations)
    request = {"rows_zlib": packed(RECORDS), "calibration": "auto", "detail": True, "learn": 1}
    outcome = run(request, Caller(), lambda share, words: told.append((share, words)))
    direct = planner.validations.answer(rows(*RECORDS), detail=True, learn=1)
    assert orjson.loads(outcome.content) == orjson.loads(orjson.dumps(direct))
    assert told[0] == (0.0, "reading")


def test_a_job_never_unpacks_more_than_a_file(monkeypatch):
    monkeypatch.setattr("planner.services.accuracy.validating._LARGEST_REQUEST", 1000)
    with pytest.raises(InvalidQuantity, match="larger"):
        unpacked(packed([{"model": "m" * 100_000}]))


@pytest.mark.parametrize(("model", "sku", "layout"), [
    ("llama-3.1-70b", "h100", {"tensor_parallel": 4}), ("gpt-oss-120b", "b200", {"tensor_parallel": 1}),
    ("deepseek-ai/deepseek-r1", "h200", {"tensor_parallel": 8}),
    ("qwen/qwen3-next-80b-a3b-instruct", "h200", {"tensor_parallel": 2})])
def test_a_slowed_profile_slows_every_step_by_its_factor(planner, model, sku, layout):
    found = configured(planner, model, sku, **layout)
    profile, chip = found.resolved.profile, found.resolved.chip
    slow = bind(found.table, chip, slowed(profile, 1.25))
    for batch, context in ((1.0, 500.0), (16.0, 4000.0), (256.0, 900.0)):
        before = decode_step(found.bound, np.asarray(batch), np.asarray(context)).step_time
        after = decode_step(slow, np.asarray(batch), np.asarray(context)).step_time
        assert after == pytest.approx(1.25 * before, rel=0.01)
    before = prompt_step(found.bound, np.asarray(2000.0), np.asarray(0.0)).step_time
    assert prompt_step(slow, np.asarray(2000.0), np.asarray(0.0)).step_time == pytest.approx(1.25 * before, rel=0.01)


def test_a_quickened_profile_stays_above_the_datasheet(planner):
    found = configured(planner, "llama-3.1-70b", "h100", tensor_parallel=4)
    quick = bind(found.table, found.resolved.chip, slowed(found.resolved.profile, 0.2))
    for batch in (1.0, 64.0, 512.0):
        ideal = decode_step(found.ideal, np.asarray(batch), np.asarray(2000.0)).step_time
        assert decode_step(quick, np.asarray(batch), np.asarray(2000.0)).step_time >= ideal
    with pytest.raises(InvalidQuantity, match="factor"):
        slowed(found.resolved.profile, 0.01)


def test_own_rows_move_the_prediction_towards_what_was_measured(planner):
    twice = [{**r, "tpot_ms": str(1.5 * float(r["tpot_ms"]))} for r in OF_ONE[:3]]
    one, three = planner.own_rows.learn(rows(twice[0])), planner.own_rows.learn(rows(*twice))
    before = np.mean([np.log(line["measured_over_predicted"]) for line in three.rows])
    assert 0 < np.log(one.factor) < np.log(three.rows[0]["measured_over_predicted"])
    assert 0.5 * before < np.log(three.factor) < before
    assert three.factor_interval[1] < one.factor_interval[1]
    for line in three.rows:
        assert line["corrected_tpot_s"] == pytest.approx(three.factor * line["predicted_tpot_s"], rel=0.02)
    assert three.warnings


def test_a_throughput_teaches_as_a_step_time_does(planner):
    run = dict.fromkeys(("model_base", "kv_dtype", "pp", "ep", "dp", "tpot_ms_mean", "itl_ms_mean", "ttft_ms_mean"), "")
    run |= {"model": "llama-3.1-8b", "engine": "vllm", "gpu_sku": "h100", "n_gpus": "1", "tp": "1", "isl": "1000",
            "weight_dtype": "bf16", "osl": "500", "concurrency": "16", "kind": "serving-concurrency", "source": "own",
            "spec_decode": "none"}
    predicted = planner.validations.answer(rows({**run, "tok_s_per_gpu": "100"}), detail=True)["row_results"][0]
    half = str(predicted["predicted_tok_s_per_gpu"] / 1.2)
    assert 1.0 < planner.own_rows.learn(rows({**run, "tok_s_per_gpu": half})).factor < 1.25
    with pytest.raises(InvalidQuantity, match="neither"):
        planner.own_rows.learn(rows({**run, "tok_s_per_gpu": "", "ttft_ms_mean": "100"}))


@pytest.mark.parametrize(("sent", "said"), [
    (OF_ONE[:3] * 2, "1 to 5 rows"),
    ([OF_ONE[0], {**OF_ONE[1], "tpot_ms": "nan"}], "Row 2 cannot be used"),
    ([OF_ONE[0], {**OF_ONE[1], "n_gpus": "4"}], "more than one deployment"),
    ([{**OF_ONE[0], "ttft_ms": "300000"}], "queue_limited|cold_start"),
])
def test_rows_that_teach_nothing_are_refused(planner, sent, said):
    with pytest.raises(InvalidQuantity, match=said):
        planner.own_rows.learn(rows(*sent))


def test_a_gated_row_is_left_out_and_said_so(planner):
    learnt = planner.own_rows.learn(rows(OF_ONE[0], OF_ONE[0], OF_ONE[1]))
    assert [line.get("left_out") for line in learnt.rows] == [None, None, "duplicate"]
    assert learnt.document["record"][OWN_ROWS]["rows_learnt"] == 2


def test_a_correction_holds_for_its_model_engine_and_efficiencies_only(planner):
    learnt = planner.own_rows.learn(rows(*OF_ONE[:2])).document["record"][OWN_ROWS]
    base = configured(planner, "llama-3.1-70b", "h100", tensor_parallel=8).resolved.profile
    made = corrected(base, learnt, "mine")
    assert isinstance(made, OwnRunsProfile)
    assert (made.id, made.model) == ("mine", learnt["model"])
    assert made.spread["tpot_dense"].between < base.spread["tpot_dense"].between
    assert made.spread["ttft"] == base.spread["ttft"]
    check_model(made, learnt["model"])
    check_model(base, "any")
    with pytest.raises(MissingFact, match="was learnt from runs of"):
        check_model(made, "qwen/qwen3-32b")
    with pytest.raises(MissingFact, match="sglang"):
        corrected(dataclasses.replace(base, engine="sglang"), learnt, "mine")
    with pytest.raises(MissingFact, match="built-in efficiencies of"):
        corrected(dataclasses.replace(base, measured_on="1999-01-01"), learnt, "mine")


@pytest.mark.parametrize("change", [
    {"factor": "big"}, {"factor": 1e9}, {"factor": float("nan")}, {"kind": "ttft"}, {"model": 7}, {"spread": {}},
    {"spread": {"within": 0.1, "between": -1, "degrees": 8}},
    {"spread": {"within": 0.1, "between": 0.1, "degrees": 0}}])
def test_a_correction_that_was_not_made_here_is_refused(planner, change):
    learnt = planner.own_rows.learn(rows(*OF_ONE[:2])).document["record"][OWN_ROWS]
    base = configured(planner, "llama-3.1-70b", "h100", tensor_parallel=8).resolved.profile
    with pytest.raises(AdapterError, match="cannot be read"):
        corrected(base, {**learnt, **change}, "mine")
    with pytest.raises(AdapterError, match="cannot be read"):
        corrected(base, {}, "mine")
