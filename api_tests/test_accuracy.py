"""Validation, learning from own runs and the published report over HTTP, on both databases."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from planner.services.worker import Worker

DATA = Path(__file__).parents[1] / "planner" / "tests" / "data" / "measured_runs.csv"
RAW = DATA.read_bytes()
RECORDS = list(csv.DictReader(RAW.decode().splitlines()))
OWN = [{**r, "tpot_ms": 1.5 * float(r["tpot_ms"])} for r in RECORDS if r["n_gpus"] == "8" and "Llama" in r["model"]]
CSV = {"content-type": "text/csv"}
PLAN = {"model": "llama-3.1-70b", "sku": "h100", "workload": {"input_tokens": 1024, "output_tokens": 1024,
                                                              "concurrency": 16},
        "deployment": {"engine": "vllm", "tensor_parallel": 8, "weights": "fp8"}}


def validate(client, content=RAW, headers=CSV, **query):
    return client.post("/v1/validate", content=content, headers=headers, params=query)


def test_a_csv_is_scored_in_the_contracts_names(client):
    answer = validate(client)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["rows"], body["predicted"], body["refused"]) == (23, 23, [])
    assert {"n", "mape", "median_ape", "p90_ape", "bias", "coverage_90"} <= set(body["metrics"]["tpot"])
    assert body["metrics"]["throughput"] is None
    assert body["metrics"]["tpot"]["mape"] < 0.5
    assert any(set(group["by"]) == {"engine", "gpu", "model"} for group in body["groups"])
    assert "row_results" not in body


def test_json_rows_give_the_same_answer_with_each_row_where_asked(client):
    sent = client.post("/v1/validate", json={"rows": RECORDS}, params={"detail": "rows", "learn": 2})
    assert sent.status_code == 200, sent.text
    body = sent.json()
    assert body["metrics"] == validate(client).json()["metrics"]
    assert len(body["row_results"]) == 23
    assert {"predicted_tpot_ms", "predicted_ttft_ms", "predicted_tok_s_per_gpu", "low", "high", "gate",
            "refused_reason"} <= set(body["row_results"][0])
    assert body["learning"]["rows_learnt"] == 2


@pytest.mark.parametrize(("content", "headers", "status", "said"), [
    (b"a,b\n1,2\n", CSV, 422, "lacks"),
    (b"", CSV, 422, "lacks"),
    (b"model,gpu\n" * 200_000, CSV, 422, "more than 100,000 rows"),
    (gzip.compress(b"0" * 10**8), CSV, 422, "compressed"),
    (gzip.compress(RAW), CSV | {"content-encoding": "gzip"}, 415, "encoded as gzip"),
    (RAW, {"content-type": "application/vnd.ms-excel"}, 415, "text/csv"),
    (RAW, {}, 415, "text/csv"),
    (b"[1, 2", {"content-type": "application/json"}, 422, "JSON"),
    (b'{"rows": []}', {"content-type": "application/json"}, 422, "rows"),
    (b'{"rows": [{"a": true}]}', {"content-type": "application/json"}, 422, "rows"),
    (b'{"rows": [{"a": 1}], "more": 1}', {"content-type": "application/json"}, 422, "more"),
    (b'{"rows": [{"a": 1}]}', {"content-type": "application/json"}, 422, "lacks"),
    (b'{"rows": [{"isl": NaN}]}', {"content-type": "application/json"}, 422, "NaN"),
    (b"[]", {"content-type": "application/json"}, 422, "object"),
])
def test_a_hostile_file_gets_one_clear_sentence(client, content, headers, status, said):
    answer = validate(client, content, headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in answer.json()["detail"]


def test_hostile_cells_are_reasons_of_their_rows(client):
    rows = [RECORDS[0], {**RECORDS[1], "isl": "=HYPERLINK(1)"}, {**RECORDS[2], "tpot_ms": "nan"}]
    body = client.post("/v1/validate", json={"rows": rows}).json()
    assert (body["rows"], body["predicted"]) == (3, 1)
    assert {entry["reason"] for entry in body["refused"]} == {"isl is not a number", "tpot_ms is not a finite number"}


@pytest.mark.parametrize(("query", "status"), [
    ({"calibration": "nobody"}, 404), ({"calibration": "ideal"}, 422), ({"learn": 6}, 422), ({"detail": "all"}, 422),
    ({"detial": "rows"}, 422)])
def test_parameters_that_mean_nothing_are_refused(client, query, status):
    assert validate(client, **query).status_code == status


def test_a_long_file_becomes_a_job(client, planner):
    head, *lines = RAW.decode().splitlines()
    long = "\n".join([head, *(lines * 100)]).encode()
    job = validate(client, long, detail="rows")
    assert job.status_code == 202, job.text
    assert len(job.content) < 20_000
    assert Worker(planner.queue, planner.handlers, "here").run_once()
    result = json.loads(client.get(f"{job.headers['location']}/result").content)
    assert (result["rows"], len(result["row_results"])) == (2300, 2300)
    assert {entry["reason"] for entry in result["gated"]} == {"duplicate"}
    assert result["metrics"]["tpot"] == validate(client).json()["metrics"]["tpot"]
    asked = validate(client, headers=CSV | {"prefer": "respond-async"})
    assert asked.status_code == 202


def test_own_rows_correct_the_plans_that_name_them_and_only_those(client):
    before = client.post("/v1/plan", json=PLAN).json()
    made = client.post("/v1/calibrations/from-rows", json={"id": "ours", "rows": OWN[:3]})
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["calibration"]["id"] == "ours"
    assert body["factor"] > 1.1
    assert made.headers["location"] == "/v1/calibrations/ours"
    after = client.post("/v1/plan", json=PLAN | {"calibration": "ours"}).json()
    ratio = after["decode"]["step_time_s"] / before["decode"]["step_time_s"]
    assert ratio == pytest.approx(body["factor"], rel=0.05)
    assert after["calibration"]["id"] == "ours"
    assert "own run(s)" in after["provenance"]["efficiency"]
    low, high = after["intervals"]["serving.tpot_s.mean"]
    low_before, high_before = before["intervals"]["serving.tpot_s.mean"]
    assert high / low < high_before / low_before
    assert client.post("/v1/plan", json=PLAN).json()["decode"] == before["decode"]
    scored = client.post("/v1/validate", json={"rows": OWN}, params={"calibration": "ours"}).json()
    plain = client.post("/v1/validate", json={"rows": OWN}).json()
    assert scored["metrics"]["tpot"]["mape"] < 0.6 * plain["metrics"]["tpot"]["mape"]


def test_a_correction_of_another_model_sku_or_engine_is_refused(client):
    client.post("/v1/calibrations/from-rows", json={"id": "ours", "rows": OWN[:3]})
    for change in ({"model": "qwen3-32b"}, {"sku": "h200"},
                   {"deployment": {**PLAN["deployment"], "engine": "sglang"}}):
        answer = client.post("/v1/plan", json=PLAN | {"calibration": "ours"} | change)
        assert (answer.status_code, answer.json()["code"]) == (422, "missing_fact"), answer.text


def test_a_replaced_correction_is_used_at_once(client):
    client.post("/v1/calibrations/from-rows", json={"id": "ours", "rows": OWN[:3]})
    named = PLAN | {"calibration": "ours"}
    first = client.post("/v1/plan", json=named).json()["decode"]["step_time_s"]
    kept = client.get("/v1/calibrations/ours")
    client.delete("/v1/calibrations/ours", headers={"If-Match": kept.headers["etag"]})
    slower = [{**row, "tpot_ms": 1.3 * row["tpot_ms"]} for row in OWN[:3]]
    assert client.post("/v1/calibrations/from-rows", json={"id": "ours", "rows": slower}).status_code == 201
    assert client.post("/v1/plan", json=named).json()["decode"]["step_time_s"] > 1.1 * first


def test_an_idempotency_key_stores_one_correction(client):
    first, second = (client.post("/v1/calibrations/from-rows", json={"rows": OWN[:2]},
                                 headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.status_code == second.status_code == 201
    assert first.json()["calibration"]["id"] == second.json()["calibration"]["id"]


@pytest.mark.parametrize(("body", "said"), [
    ({"rows": RECORDS[:6]}, "at most"), ({"rows": []}, "at least"), ({}, "rows"),
    ({"rows": [{**RECORDS[0], "tpot_ms": "=1"}]}, "Row 1 cannot be used: tpot_ms is not a number"),
    ({"rows": [RECORDS[0], RECORDS[-1]]}, "more than one deployment"),
    ({"rows": [{**RECORDS[0], "model": "no-such-model"}]}, "Row 1 cannot be used: not_found")])
def test_rows_that_teach_nothing_are_refused(client, body, said):
    answer = client.post("/v1/calibrations/from-rows", json=body)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["detail"]


def test_a_correction_written_by_hand_is_refused_when_used(client):
    made = client.post("/v1/calibrations", json={"id": "forged", "sku": "h100", "record": {"own_rows": {"factor": 9}}})
    assert made.status_code == 201
    answer = client.post("/v1/plan", json=PLAN | {"calibration": "forged"})
    assert "cannot be read" in answer.json()["detail"]


def test_the_published_report(client):
    answer = client.get("/v1/accuracy")
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["files"]
    for file in body["files"]:
        assert {"rows", "predicted", "refused", "gated", "metrics", "groups"} <= set(file)
        assert file["source"]
        assert file["licence"]
    assert body["not_modelled"]


def test_sweeps_follow_a_named_correction(client):
    factor = client.post("/v1/calibrations/from-rows", json={"id": "ours", "rows": OWN[:3]}).json()["factor"]
    sweep = {"base": {**PLAN, "calibration": "ours"}, "axes": {"workload.concurrency": [1, 16]},
             "metrics": ["decode.step_time_s"]}
    slow = client.post("/v1/sweep", json=sweep).json()["metrics"]["decode.step_time_s"]
    plain = client.post("/v1/sweep", json=sweep | {"base": PLAN}).json()["metrics"]["decode.step_time_s"]
    plan = client.post("/v1/plan", json=PLAN | {"calibration": "ours"}).json()
    assert slow[1] == pytest.approx(plan["decode"]["step_time_s"], rel=1e-6)
    assert [a / b for a, b in zip(slow, plain, strict=True)] == pytest.approx([factor, factor], rel=0.05)
