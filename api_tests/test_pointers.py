"""Refusals point at the very field of the request that is wrong: formats, rows of runs, parameters said twice."""

import csv
from pathlib import Path

import pytest

from planner.schemas.scenario import ScenarioQuestion
from planner.services.ports import Caller
from planner.services.worker import Worker

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


METRICS = ["decode.step_time_s"]


def pointers(refused):
    return [one["errors"][0]["pointer"] for one in refused]


def test_a_refused_plan_of_a_comparison_is_pointed_at(client):
    plans = [PLAN, PLAN | {"deployment": {"weights": "fp7"}}, PLAN | {"deployment": {"kv_cache": "fp7"}},
             PLAN | {"sku": "nobody"}, PLAN | {"deployment": {"tensor_parallel": 3}},
             PLAN | {"sku": "a100", "deployment": {"weights": "fp8"}}, PLAN | {"sku": {"id": "own", "name": "own"}}]
    answers = client.post("/v1/compare", json={"plans": plans}).json()["plans"]
    assert "refused" not in answers[0]
    refused = [one["refused"] for one in answers[1:]]
    assert pointers(refused) == ["/plans/1/deployment/weights", "/plans/2/deployment/kv_cache", "/plans/3/sku",
                                 "/plans/4/deployment/tensor_parallel", "/plans/5/deployment/weights",
                                 "/plans/6/sku/memory_bytes"]
    assert refused[4]["fact"] == "peak_flop_per_s.fp8"


@pytest.mark.parametrize(("axes", "expected"), [
    ({"deployment.weights": ["bf16", "fp7"]}, ["/axes/deployment.weights/1"]),
    ({"deployment.kv_cache": ["fp7", "bf16"], "workload.concurrency": [1, 2]}, ["/axes/deployment.kv_cache/0"]),
    ({"sku": ["h100", "nobody", "a100"]}, ["/axes/sku/1"]),
    ({"deployment.tensor_parallel": [1, 3]}, ["/axes/deployment.tensor_parallel/1"]),
    ({"calibration": ["ideal", "nobody"]}, ["/axes/calibration/1"]),
    ({"sku": ["h100", "a100"], "deployment.weights": ["bf16", "fp8"]}, ["/axes/deployment.weights/1"]),
])
def test_a_refused_value_of_an_axis_is_pointed_at(client, axes, expected):
    answer = client.post("/v1/sweep", json={"base": PLAN, "axes": axes, "metrics": METRICS})
    assert pointers(answer.json()["refused"]) == expected


def test_what_the_base_says_is_pointed_at_in_the_base(client):
    answer = client.post("/v1/sweep", json={"base": PLAN | {"deployment": {"weights": "fp7"}}, "metrics": METRICS,
                                            "axes": {"deployment.tensor_parallel": [1, 2]}})
    assert pointers(answer.json()["refused"]) == ["/base/deployment/weights"] * 2


@pytest.mark.parametrize(("address", "body", "pointer", "words"), [
    ("sweep", {"base": PLAN, "axes": {"workload.concurrency": [1]}, "metrics": [*METRICS, "speed"]}, "/metrics/1",
     "not a column"),
    ("sweep", {"base": PLAN, "axes": {"a/b~c": [1]}, "metrics": METRICS}, "/axes/a~1b~0c", "cannot be an axis"),
    ("sweep", {"base": PLAN, "axes": {"workload.concurrency": [1, True]}, "metrics": METRICS},
     "/axes/workload.concurrency/1", "must be a text or a number, got true"),
    ("sweep", {"base": PLAN, "axes": {"workload.concurrency": []}, "metrics": METRICS}, "/axes/workload.concurrency",
     "at least 1 item,"),
    ("disaggregation", {"base": PLAN, "request_rate": 1, "gpus": 4, "prefill_deployment": {"weights": "fp7"}},
     "/prefill_deployment/weights", "not known"),
    ("disaggregation", {"base": PLAN, "request_rate": 1, "gpus": 4, "prefill_deployment": {"kv_cache": "fp7"}},
     "/prefill_deployment/kv_cache", "not known"),
    ("simulations", {"plan": PLAN, "input_law": {"kind": "empirical", "points": [1, 2], "cumulative": [0.5, 0.2]}},
     "/input_law/cumulative/1", "must not fall"),
    ("simulations", {"plan": PLAN, "output_law": {"kind": "empirical", "points": [2, 1], "cumulative": [0.5, 1]}},
     "/output_law/points/1", "must ascend"),
    ("simulations", {"plan": PLAN, "output_law": {"kind": "empirical", "points": [1, 2], "cumulative": [0.5, 0.9]}},
     "/output_law/cumulative/1", "rise to 1"),
    ("simulations", {"plan": PLAN, "input_law": {"kind": "empirical", "points": [2], "cumulative": [0.5, 1]}},
     "/input_law/cumulative", "1 lengths and 2 shares"),
    ("simulations", {"plan": PLAN, "input_law": {"kind": "uniform", "low": 5}}, "/input_law/high", "low and high"),
    ("simulations", {"plan": PLAN, "mode": "trace"}, "/trace", "needs a trace"),
    ("simulations", {"plan": PLAN | {"deployment": {"tensor_parallel": 3}}}, "/plan/deployment/tensor_parallel",
     "32 attention heads"),
])
def test_the_entry_that_is_wrong_is_pointed_at(client, address, body, pointer, words):
    assert words in refused(client.post(f"/v1/{address}", json=body), pointer)


WORKLOAD = SCENARIO["workloads"][0]
API = {"id": "hosted", "workload": "a", "price_per_million_input": 1, "price_per_million_output": 1}


@pytest.mark.parametrize("address", ["whatif", "fleet"])
@pytest.mark.parametrize(("change", "pointer", "words"), [
    ({"apis": [API, API | {"id": "other", "workload": "b"}]}, "/scenario/apis/1/workload", "unknown workload b"),
    ({"apis": [API, API]}, "/scenario/apis/1/id", "Two APIs"),
    ({"sites": [{"id": "own"}, {"id": "own"}]}, "/scenario/sites/1/id", "Two sites"),
    ({"workloads": [WORKLOAD, WORKLOAD]}, "/scenario/workloads/1/id", "Two workloads"),
    ({"workloads": [WORKLOAD | {"sites": ["cloud", "nowhere"]}]}, "/scenario/workloads/0/sites/1", "nowhere"),
    ({"ranges": {"mood": [0, 1]}}, "/scenario/ranges/mood", "no assumption"),
])
def test_a_wrong_name_inside_a_scenario_is_pointed_at(client, address, change, pointer, words):
    body = {"scenario": SCENARIO | {"candidates": {"skus": ["h100"]}} | change}
    assert words in refused(client.post(f"/v1/{address}", json=body), pointer)


def test_the_other_scenario_is_pointed_at(client):
    known = SCENARIO | {"candidates": {"skus": ["h100"]}}
    answer = client.post("/v1/whatif", json={"scenario": known, "against": "nothing"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/against")


def test_a_layout_that_cannot_be_is_rejected_by_its_own_width(client):
    scenario = SCENARIO | {"candidates": {"skus": ["h100"], "tensor_parallel": [3]}}
    answer = client.post("/v1/whatif", json={"scenario": scenario, "sensitivity": False, "uncertainty": False}).json()
    assert answer["best"] is None
    assert {row["layout"] for row in answer["rejected"]} == {"tp3"}


@pytest.mark.parametrize(("address", "body"), [
    ("size", {"model": "llama-3.1-8b", "skus": ["h100"], "demand": DEMAND, "verification": "closed_form"}),
    ("frontier", {"model": "llama-3.1-8b", "skus": ["h100"], "concurrency": [1]})])
def test_own_prices_take_every_name_of_a_sku(client, address, body):
    def price(prices):
        answer = client.post(f"/v1/{address}", json=body | {"usd_per_gpu_hour": prices}).json()
        return answer["options" if address == "size" else "points"][0]["usd_per_million_output_tokens"]

    assert price({"h100": 100.0}) == price({"h100-sxm-80gb": 100.0}) == pytest.approx(100 * price({"H100": 1.0}))
    answer = client.post(f"/v1/{address}", json=body | {"usd_per_gpu_hour": {"nobody/1": 1.0}})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/usd_per_gpu_hour/nobody~11")


@pytest.mark.parametrize(("kind", "request_", "pointer"), [
    ("sweep", {"base": PLAN | {"sku": "nobody"}, "axes": {"workload.concurrency": [1]}, "metrics": METRICS},
     "/base/sku"),
    ("fleet", {"scenario": None, "gap": 0.1, "time_limit_s": 1}, "/scenario/candidates/skus/1")])
def test_a_job_that_is_refused_points_into_its_request(planner, kind, request_, pointer):
    worker = Worker(planner.queue, planner.handlers, "tester")
    if kind == "fleet":
        scenario = SCENARIO | {"candidates": {"skus": ["h100", "nobody"]}}
        request_ = request_ | {"scenario": ScenarioQuestion.model_validate(scenario).model_dump()}
    job = planner.jobs.submit(kind, request_, Caller(workspace="default", name="tester"))
    assert worker.run_once()
    error = planner.jobs.get(job.id, Caller(workspace="default", name="tester")).error
    assert error["errors"][0]["pointer"] == pointer
