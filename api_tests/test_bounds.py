"""Questions that would keep a core for long: bounded by name, or jobs; and where a refusal points."""

import json

import httpx
import pytest

from api_tests.conftest import Loopback
from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings
from planner.schemas.procurement import EXAMPLE
from planner.services.ports import Caller

PLAN = {"model": "llama-3.1-8b", "sku": "h100-sxm-80gb", "deployment": {"tensor_parallel": 1}}
SIZE = {"model": "llama-3.1-8b", "skus": ["h100-sxm-80gb"],
        "demand": {"request_rate": 5, "input_tokens": 500, "output_tokens": 100}}
CARD = {"params": 8e9, "layers": 32, "kv_heads": 8, "head_dim": 128, "vocab": 128_000}
BAD_CARD = {**CARD, "params": -1.0}
BAD_CONFIG = {"config": {"model_type": "llama", "num_hidden_layers": "many"}}
BAD_SKU = {"id": "x", "name": "X", "vendor": "v", "memory_bytes": 8e10, "bandwidth_bytes_per_s": 2e12,
           "peak_flop_per_s": {"bf17": 1e15}}


def refused(answer, status, pointer):
    assert answer.status_code == status, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer
    return answer.json()["detail"]


def finished(client, planner, answer, kind):
    """The result of the job an answer made, run as a worker runs it."""
    assert answer.status_code == 202, answer.text
    job = client.get(answer.headers["Location"]).json()
    assert (job["kind"], job["state"]) == (kind, "queued")
    return json.loads(planner.handlers[kind](job["request"], Caller(), lambda *_: None).content)


def test_a_sizing_over_many_combinations_is_a_job(client):
    formats = ["bf16", "fp8", "int8", "w8a16", "w4a16", "mxfp4", "nvfp4", "fp8_block", "fp16"]
    wide = {**SIZE, "skus": ["h100-sxm-80gb"] * 8,
            "constraints": {"engines": ["vllm", "sglang", "trtllm", "generic"], "formats": formats}}
    assert client.post("/v1/size", json=wide).status_code == 202
    narrow = {**wide, "verification": "closed_form", "constraints": {"formats": formats}}
    assert client.post("/v1/size", json=narrow).status_code == 200


def test_a_sizing_without_steps_left_says_what_it_did_not_verify(environment):
    services = Planner(settings({**environment, "PLANNER_SIZING_STEPS": "0"}))
    with httpx.Client(transport=Loopback(create_app(services)), base_url="http://localhost") as client:
        answer = client.post("/v1/size", json=SIZE).json()
    services.close()
    assert not any(option["verified"] for option in answer["options"])
    assert any("Not every pick was simulated" in line for line in answer["assumptions"])


def test_a_long_fleet_is_a_job(client, planner):
    question = {"scenario": EXAMPLE, "gap": 0.2, "time_limit_s": 20}
    result = finished(client, planner, client.post("/v1/fleet", json=question), "fleet")
    assert result["status"] == "optimal"


def test_a_whatif_asked_for_later_is_a_job(client, planner):
    question = {"scenario": EXAMPLE, "uncertainty": False, "sensitivity": False}
    answer = client.post("/v1/whatif", json=question, headers={"Prefer": "respond-async"})
    result = finished(client, planner, answer, "whatif")
    assert result["best"] == client.post("/v1/whatif", json=question).json()["best"]


@pytest.mark.parametrize(("address", "body", "pointer"), [
    ("/v1/frontier", {"model": "llama-3.1-8b", "skus": ["h100-sxm-80gb"] * 64,
                      "engines": ["vllm", "sglang"]}, "/skus"),
    ("/v1/frontier", {"model": "llama-3.1-8b", "skus": ["h100-sxm-80gb"] * 64, "formats": ["bf16"] * 4,
                      "concurrency": [1.0] * 256, "layouts": [{"tensor_parallel": 1}] * 2}, "/skus"),
    ("/v1/whatif", {"scenario": {**EXAMPLE, "horizon_months": 240, "months_per_period": 1, "blocks_per_period": 11}},
     "/scenario/blocks_per_period"),
    ("/v1/sweep", {"base": PLAN, "axes": {"sku": [f"chip-{i}" for i in range(2001)]}}, ""),
    ("/v1/disaggregation", {"base": PLAN, "request_rate": 1, "gpus": 8, "transfer_bytes_per_s": 5e-324},
     "/transfer_bytes_per_s"),
])
def test_what_would_take_minutes_is_refused_by_name(client, address, body, pointer):
    refused(client.post(address, json=body), 422, pointer)


@pytest.mark.parametrize(("address", "body", "pointer"), [
    ("/v1/plan", {**PLAN, "model": BAD_CARD}, "/model/params"),
    ("/v1/plan", {**PLAN, "model": BAD_CONFIG}, "/model/config/hidden_size"),
    ("/v1/plan", {**PLAN, "sku": BAD_SKU}, "/sku/peak_flop_per_s/bf17"),
    ("/v1/frontier", {"model": "llama-3.1-8b", "skus": ["h100-sxm-80gb", BAD_SKU]}, "/skus/1/peak_flop_per_s/bf17"),
    ("/v1/size", {**SIZE, "skus": ["h100-sxm-80gb", BAD_SKU]}, "/skus/1/peak_flop_per_s/bf17"),
    ("/v1/speculation", {"base": {**PLAN, "model": BAD_CARD}, "acceptance": 0.5}, "/base/model/params"),
    ("/v1/sweep", {"base": {**PLAN, "model": BAD_CARD}, "axes": {"workload.concurrency": [1]}}, "/base/model/params"),
    ("/v1/labs/gemm", {"sku": BAD_SKU, "m": 1, "n": 1, "k": 1}, "/sku/peak_flop_per_s/bf17"),
    ("/v1/whatif", {"scenario": {**EXAMPLE, "workloads": [{**EXAMPLE["workloads"][0], "model": BAD_CARD}]}},
     "/scenario/workloads/0/model/params"),
])
def test_a_refusal_points_into_the_inline_document(client, address, body, pointer):
    refused(client.post(address, json=body), 422, pointer)


@pytest.mark.parametrize(("change", "pointer"), [
    ({"candidates": {"skus": ["h100-sxm-80gb", "no-chip"]}}, "/scenario/candidates/skus/1"),
    ({"prices": [{"sku": "no-chip", "kind": "on_demand", "price_per_gpu_hour": 1}]}, "/scenario/prices/0/sku"),
    ({"fleets": [{"sku": "no-chip", "gpus": 8}]}, "/scenario/fleets/0/sku"),
    ({"workloads": [{**EXAMPLE["workloads"][0], "model": "no-model"}]}, "/scenario/workloads/0/model"),
])
def test_a_refusal_points_into_the_scenario(client, change, pointer):
    refused(client.post("/v1/fleet", json={"scenario": {**EXAMPLE, **change}}), 404, pointer)


def test_a_refused_rival_is_not_the_scenarios_fault(client):
    rival = {**EXAMPLE, "candidates": {"skus": ["no-chip"]}}
    refused(client.post("/v1/whatif", json={"scenario": EXAMPLE, "against": rival}), 404, "/against/candidates/skus/0")


def test_a_link_is_refused_by_its_own_names(client):
    query = "/v1/plan?model=llama-3.1-8b&sku=h100-sxm-80gb"
    assert "at most 4096" in refused(client.get(f"{query}&tp=9999"), 422, "/query/tp")
    refused(client.get(f"{query}&tp=one"), 422, "/query/tp")
    refused(client.get(f"{query}&concurrency=1&rate=1"), 422, "/query/concurrency")
    refused(client.get("/v1/plan?model=no-model&sku=h100-sxm-80gb"), 404, "/query/model")
    refused(client.get("/v1/models/no-model"), 404, "/path/id")
    refused(client.get("/v1/models/no-model/history"), 404, "/path/id")


@pytest.mark.parametrize(("axes", "pointer", "words"), [
    ({"workload.concurrency": [4, 0]}, "/axes/workload.concurrency/1", "must be greater than zero, got 0"),
    ({"deployment.engine": ["vllm", "none"]}, "/axes/deployment.engine/1", "must be one of"),
    ({"deployment.weights": [""]}, "/axes/deployment.weights/0", "at least 1 character,"),
    ({"deployment.zzz": [1]}, "/axes/deployment.zzz", "cannot be an axis"),
])
def test_a_refused_axis_is_told_in_a_sentence(client, axes, pointer, words):
    detail = refused(client.post("/v1/sweep", json={"base": PLAN, "axes": axes}), 422, pointer)
    assert words in detail
    assert "Input should" not in detail


def test_a_bad_base_of_a_sweep_is_told_as_a_plans(client):
    body = {"base": {**PLAN, "deployment": {"tensor_parallel": 0}}, "axes": {"workload.concurrency": [1]}}
    assert "must be at least 1" in refused(client.post("/v1/sweep", json=body), 422, "/base/deployment/tensor_parallel")


def test_a_datasheet_is_no_entry(client):
    answer = client.put("/v1/calibrations/mine/datasheet", json={})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET")
    taken = {"id": "org/datasheet", **CARD}
    refused(client.post("/v1/models", json=taken), 422, "/id")


def test_a_price_of_no_day_is_not_kept(client):
    price = {"id": "mine", "sku": "h100-sxm-80gb", "usd_per_gpu_hour": 2.0}
    assert "not a date" in refused(client.post("/v1/prices", json={**price, "date": "0000-01"}), 422, "/date")
    assert client.post("/v1/prices", json={**price, "date": "2026-02"}).status_code == 201
    assert client.post("/v1/whatif", json={"scenario": EXAMPLE}).status_code == 200


def test_no_name_holds_what_a_database_cannot(client):
    """PostgreSQL stores every character but NUL; SQLite stores it, so both refuse it alike."""
    refused(client.post("/v1/scenarios", json={"name": "a\0", "question": "plan", "request": {}}), 422, "/name")
    refused(client.get("/v1/models/a%00"), 422, "/path/id")
    refused(client.get("/v1/models/a%00/history"), 422, "/path/id")
    refused(client.get("/v1/calibrations/a%00/datasheet"), 422, "/path/id")
    refused(client.post("/v1/validate?calibration=a%00", content="gpu,model\n", headers={"Content-Type": "text/csv"}),
            422, "/query/calibration")
    kept = {"name": "a", "question": "plan", "request": {"model": "b\0"}, "notes": "c\0"}
    assert client.post("/v1/scenarios", json=kept).json()["notes"] == "c\0"
