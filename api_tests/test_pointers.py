"""Refusals point at the very field of the request that is wrong: formats, rows of runs, parameters said twice."""

import csv
from pathlib import Path

import pytest

PLAN = {"model": "llama-3.1-8b", "sku": "h100"}
DEMAND = {"request_rate": 1, "input_tokens": 100, "output_tokens": 100}
SCENARIO = {"currency": "USD", "workloads": [{"id": "a", "model": "llama-3.1-8b", "input_tokens": 100,
                                              "output_tokens": 100, "demand": {"request_rate": 1}}]}
ROWS = Path(__file__).parents[1] / "planner" / "tests" / "data" / "validation_silicon.csv"


def refused(answer, pointer):
    body = answer.json()
    assert answer.status_code == 422, body
    assert body["errors"][0]["pointer"] == pointer
    return body["detail"]


@pytest.mark.parametrize(("address", "body", "pointer"), [
    ("plan", PLAN | {"deployment": {"weights": "fp7"}}, "/deployment/weights"),
    ("plan", PLAN | {"deployment": {"weights": "gguf:q9_z"}}, "/deployment/weights"),
    ("plan", PLAN | {"deployment": {"kv_cache": "fp7"}}, "/deployment/kv_cache"),
    ("sweep", {"base": PLAN | {"deployment": {"weights": "fp7"}}, "axes": {"workload.concurrency": [1, 2]},
               "metrics": ["decode.step_time_s"]}, "/base/deployment/weights"),
    ("simulations", {"plan": PLAN | {"deployment": {"kv_cache": "fp7"}}}, "/plan/deployment/kv_cache"),
    ("speculation", {"base": PLAN | {"deployment": {"weights": "fp7"}}, "draft_tokens": 2, "acceptance": 0.5},
     "/base/deployment/weights"),
    ("size", {"model": "llama-3.1-8b", "skus": ["h100"], "demand": DEMAND, "deployment": {"weights": "fp7"}},
     "/deployment/weights"),
    ("size", {"model": "llama-3.1-8b", "skus": ["h100"], "demand": DEMAND,
              "constraints": {"formats": ["bf16", "fp7"]}}, "/constraints/formats/1"),
    ("frontier", {"model": "llama-3.1-8b", "skus": ["h100"], "formats": ["fp7"]}, "/formats/0"),
    ("whatif", {"scenario": SCENARIO | {"candidates": {"skus": ["h100"], "weights": ["fp7"]}}},
     "/scenario/candidates/weights/0"),
    ("whatif", {"scenario": SCENARIO | {"candidates": {"skus": ["h100"], "kv_cache": "fp7"}}},
     "/scenario/candidates/kv_cache"),
    ("fleet", {"scenario": SCENARIO | {"fleets": [{"sku": "h100", "gpus": 1, "weights": "fp7"}]}},
     "/scenario/fleets/0/weights"),
])
def test_an_unknown_format_is_pointed_at(client, address, body, pointer):
    assert "is not known" in refused(client.post(f"/v1/{address}", json=body), pointer)


def test_an_unknown_format_of_a_link_is_its_parameter(client):
    link = "/v1/plan?model=llama-3.1-8b&sku=h100"
    refused(client.get(f"{link}&weights=fp7"), "/query/weights")
    refused(client.get(f"{link}&kv=fp7"), "/query/kv")


def test_a_simulation_of_an_unknown_model_is_no_job(client):
    answer = client.post("/v1/simulations", json={"plan": PLAN | {"model": "nobody/nothing"}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/plan/model")


@pytest.mark.parametrize(("address", "name"), [("/v1/plan?model=llama-3.1-8b&sku=h100&tp=1&tp=2", "tp"),
                                               ("/v1/skus?limit=1&q=h&limit=2", "limit"),
                                               ("/v1/jobs?state=failed&state=queued", "state")])
def test_a_parameter_said_twice_is_refused(client, address, name):
    assert f"{name} is given 2 times" in refused(client.get(address), f"/query/{name}")


def own(change):
    with ROWS.open(newline="", encoding="utf-8") as file:
        row = next(csv.DictReader(file))
    return {**row, **change}


@pytest.mark.parametrize(("rows", "pointer", "words"), [
    ([{}, {}, {"tpot_ms": "0"}], "/rows/2/tpot_ms", "greater than zero"),
    ([{}, {"tpot_ms": "fast"}], "/rows/1/tpot_ms", "not a number"),
    ([{"isl": ""}], "/rows/0/isl", "isl is empty"),
    ([{"gpu": "no-such-gpu"}], "/rows/0/gpu", "no-such-gpu"),
    ([{}, {"model": "nobody/nothing"}], "/rows/1/model", "nobody/nothing"),
    ([{"weight_dtype": "fp7"}], "/rows/0/weight_dtype", "fp7"),
    ([{"mode": "disagg"}], "/rows/0/mode", "disaggregated"),
    ([{"tpot_ms": "", "ttft_ms": ""}], "/rows/0", "nothing measured"),
])
def test_a_row_that_teaches_nothing_is_pointed_at(client, rows, pointer, words):
    answer = client.post("/v1/calibrations/from-rows", json={"rows": [own(change) for change in rows]})
    assert words in refused(answer, pointer)


def test_columns_that_nothing_reads_are_named(client):
    lacking = {name: value for name, value in own({"tpot_mss": 3.0}).items() if name != "tpot_ms"}
    answer = client.post("/v1/calibrations/from-rows", json={"rows": [lacking]})
    refused(answer, "/rows")
    assert answer.json()["hint"].startswith("Is tpot_mss meant to be tpot_ms?")
    said = ["Column tpot_mss is not read; did you mean tpot_ms?", "Column colour is not read."]
    extra = own({"tpot_mss": 3.0, "colour": "red"})
    learnt = client.post("/v1/calibrations/from-rows", json={"rows": [extra]})
    assert learnt.status_code == 201
    assert learnt.json()["warnings"][:2] == said
    assert client.post("/v1/validate", json={"rows": [extra]}).json()["warnings"] == said
    assert client.post("/v1/validate", json={"rows": [own({})]}).json()["warnings"] == []


def test_the_interval_of_a_correction_is_of_what_it_leaves(client):
    learnt = client.post("/v1/calibrations/from-rows", json={"rows": [own({"tpot_ms": "60"})]}).json()
    low, high = learnt["measured_over_corrected_interval"]
    assert low < 1 < high
    assert learnt["factor_interval"] == [low, high]
    fields = client.get("/openapi.json").json()["components"]["schemas"]["LearntAnswer"]["properties"]
    assert "not an interval of the factor" in fields["factor_interval"]["description"]


@pytest.mark.parametrize(("body", "pointer"), [
    (PLAN | {"slo": {"ttft_s": 0}}, "/slo/ttft_s"), (PLAN | {"workload": {"concurrency": -3}}, "/workload/concurrency"),
    (PLAN | {"workload": {"request_rate": 0}}, "/workload/request_rate"),
    (PLAN | {"deployment": {"memory_utilization": 0}}, "/deployment/memory_utilization"),
])
def test_what_must_not_be_nothing_is_asked_to_be_greater_than_zero(client, body, pointer):
    detail = refused(client.post("/v1/plan", json=body), pointer)
    assert "must be greater than zero, got" in detail
    assert "1e-09" not in detail


def test_limits_that_are_reached_are_still_named(client):
    assert "at least 1e-09" in refused(client.post("/v1/plan", json=PLAN | {"slo": {"ttft_s": 1e-12}}), "/slo/ttft_s")
    assert "at most 4096" in refused(client.post("/v1/plan", json=PLAN | {"deployment": {"tensor_parallel": 9999}}),
                                     "/deployment/tensor_parallel")
