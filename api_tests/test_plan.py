"""Plans, comparisons, links and sweeps over HTTP: the contract's fields, its numbers, and kind refusals."""

import io
import json
import math

import pyarrow as pa
import pytest

QUESTION = {"model": "llama-3.1-70b", "sku": "h100-sxm-80gb", "deployment": {"tensor_parallel": 4},
            "workload": {"input_tokens": 7692, "output_tokens": 1000, "concurrency": 64}}
SECTIONS = {
    "fit": {"fits", "reason", "shortfall_bytes", "capacity_bytes", "usable_bytes", "weights_bytes", "activation_bytes",
            "other_bytes", "kv_pool_bytes", "kv_bytes_per_token", "kv_capacity_tokens", "max_concurrency",
            "max_context_tokens"},
    "decode": {"batch", "context_tokens", "step_time_s", "tokens_per_s_per_user", "tokens_per_s",
               "tokens_per_s_per_gpu", "flop", "traffic", "intensity_flop_per_byte", "ridge_flop_per_byte", "bound",
               "fraction_of_peak",
               "bandwidth_fraction", "kv_fraction", "operators", "batch_critical", "batch_critical_effective",
               "batch_critical_step", "batch_crossover", "batch_crossover_simple"},
    "prefill": {"tokens", "time_s", "tokens_per_s", "flop", "traffic", "intensity_flop_per_byte", "bound", "operators"},
    "serving": {"concurrency", "request_rate", "ttft_s", "tpot_s", "itl_s", "e2e_s", "output_tokens_per_s",
                "total_tokens_per_s", "output_tokens_per_s_per_gpu", "utilization", "saturated", "max_request_rate",
                "limit", "meets_slo"},
    "calibration": {"id", "kind", "measured_on"},
}


def ask(client, **changes):
    return client.post("/v1/plan", json={**QUESTION, **changes})


def finite(value):
    if isinstance(value, dict):
        return all(finite(v) for v in value.values())
    if isinstance(value, list):
        return all(finite(v) for v in value)
    return not isinstance(value, float) or math.isfinite(value)


def test_an_answer_has_every_field_of_the_contract(client):
    answer = ask(client, price={"usd_per_gpu_hour": 2.5}, slo={"ttft_s": 2, "tpot_s": 0.05}).json()
    for section, names in SECTIONS.items():
        assert names <= set(answer[section]), section
    streams = {"weights_bytes", "kv_bytes", "activation_bytes", "link_bytes", "total_bytes"}
    assert streams == set(answer["decode"]["traffic"])
    assert {"name", "count", "flop", "traffic_bytes", "intensity_flop_per_byte", "time_s", "bound"} <= set(
        answer["decode"]["operators"][0])
    assert {"mean", "p50", "p95", "p99"} == set(answer["serving"]["ttft_s"])
    assert {"usd_per_gpu_hour", "usd_per_hour", "usd_per_million_output_tokens", "usd_per_million_tokens",
            "joules_per_output_token"} == set(answer["cost"])
    assert answer["serving"]["meets_slo"] in (True, False)
    assert {"change", "effect", "note"} <= set(answer["levers"][0])
    assert {"metric", "before", "after", "ratio"} == set(answer["levers"][0]["effect"])
    assert answer["intervals"]["serving.tpot_s.mean"][0] < answer["serving"]["tpot_s"]["mean"]
    assert finite(answer)


def test_operator_times_and_overhead_add_up_to_the_step(client):
    for calibration in ("auto", "ideal"):
        decode = ask(client, calibration=calibration).json()["decode"]
        total = sum(o["time_s"] for o in decode["operators"]) + decode["overhead_s"]
        assert total == pytest.approx(decode["step_time_s"], rel=1e-9)
        assert sum(o["flop"] for o in decode["operators"]) == pytest.approx(decode["flop"], rel=1e-9)


def test_llama_70b_on_h100_has_its_published_numbers(client):
    answer = ask(client, calibration="ideal").json()
    assert answer["fit"]["kv_bytes_per_token"] == 327_680
    assert round(answer["decode"]["batch_critical"]) == 295
    assert answer["decode"]["context_tokens"] == 8192
    assert answer["decode"]["batch_crossover_simple"] == pytest.approx(52.57, abs=0.01)
    assert answer["decode"]["batch_crossover"] == pytest.approx(51.78, abs=0.01)
    model = client.get("/v1/models/llama-3.1-70b").json()
    assert model["parameters"]["total"] == 70_553_706_496


def test_fp8_keeps_b_star_and_halves_the_crossover(client):
    rows = {(r["weights"], r["kv_cache"]): r for r in ask(client, calibration="ideal").json()["precision"]}
    plain, w8a8, weight_only, cache = (rows[k] for k in (("bf16", "bf16"), ("fp8", "bf16"), ("w8a16", "bf16"),
                                                         ("bf16", "fp8")))
    assert w8a8["batch_critical"] == pytest.approx(plain["batch_critical"], rel=1e-3)
    assert weight_only["batch_critical"] == pytest.approx(plain["batch_critical"] / 2)
    assert w8a8["batch_crossover"] == pytest.approx(plain["batch_crossover"] / 2, rel=0.02)
    assert cache["batch_crossover"] == pytest.approx(plain["batch_crossover"] * 2)
    assert plain["step_time_s"] > w8a8["step_time_s"] > plain["step_time_s"] / 2.05


def test_one_card_is_too_small_and_says_by_how_much(client):
    answer = ask(client, deployment={"tensor_parallel": 1}).json()
    assert answer["fit"]["fits"] is False
    assert answer["fit"]["shortfall_bytes"] > 60e9
    assert answer["serving"] is None
    assert answer["cost"] is None
    assert answer["decode"]["step_time_s"] > 0.0418
    assert "does not fit" in answer["explanation"]


def test_a_link_asks_the_same_question(client):
    link = client.get("/v1/plan?model=llama-3.1-70b&sku=h100-sxm-80gb&tp=4&in=7692&out=1000&concurrency=64").json()
    assert link == ask(client).json()


def test_context_suffixes_are_binary_and_others_decimal(client):
    answer = client.get("/v1/plan?model=llama-3.1-8b&sku=h100&context=8k&in=2k&out=1k").json()
    assert answer["decode"]["context_tokens"] == 8192
    assert answer["prefill"]["tokens"] == 2000


def test_ideal_uses_the_batch_that_was_asked(client):
    assert ask(client, calibration="ideal", workload={"concurrency": 7}).json()["decode"]["batch"] == 7


@pytest.mark.parametrize(("changes", "status", "pointer"), [
    ({"workload": {"input_tokens": -1}}, 422, "/workload/input_tokens"),
    ({"workload": {"output_tokens": 0}}, 422, "/workload/output_tokens"),
    ({"workload": {"concurrency": 1e30}}, 422, "/workload/concurrency"),
    ({"workload": {"concurrency": "64"}}, 422, "/workload/concurrency"),
    ({"workload": {"concurrency": 4, "request_rate": 2}}, 422, "/workload/concurrency"),
    ({"deployment": {"tensor_parallel": 3}}, 422, "/deployment/tensor_parallel"),
    ({"deployment": {"tensor_parallel": 4, "colour": 1}}, 422, "/deployment/colour"),
    ({"deployment": {"weights": "fp7"}}, 422, None),
    ({"deployment": {"pipeline_parallel": 4000}}, 422, "/deployment/pipeline_parallel"),
    ({"sku": "a100", "deployment": {"weights": "fp8"}}, 422, "/deployment/weights"),
    ({"model": "no-such-model"}, 404, "/model"), ({"sku": "h9000"}, 404, "/sku"),
    ({"model": "llama"}, 409, "/model"), ({"calibration": "nobody"}, 404, "/calibration"),
    ({"model": 7}, 422, "/model"), ({"model": {"id": "x"}}, 422, None),
])
def test_refusals_name_the_field(client, changes, status, pointer):
    refusal = ask(client, **changes)
    body = refusal.json()
    assert refusal.status_code == status, body
    assert refusal.headers["content-type"] == "application/problem+json"
    assert len(body["detail"]) > 10
    if pointer is not None:
        assert body["errors"][0]["pointer"] == pointer


def test_a_missing_unit_is_refused_by_name_with_what_would_do(client):
    body = ask(client, sku="a100", deployment={"weights": "fp8"}).json()
    assert (body["code"], body["fact"]) == ("missing_fact", "peak_flop_per_s.fp8")
    assert "w8a16" in body["hint"]


@pytest.mark.parametrize(("load", "name"), [
    ({"input_tokens": 200_000}, "input + output"), ({"context_tokens": 200_000}, "context_tokens")])
def test_a_context_over_the_trained_length_warns(client, load, name):
    answer = ask(client, workload=load | {"concurrency": 1}).json()
    assert any("trained" in line and line.startswith(name) for line in answer["warnings"])


@pytest.mark.parametrize(("change", "line"), [
    ({"deployment": {"max_model_len": 1024}, "workload": {"output_tokens": 1000}},
     "input + output = 2,000 tokens exceeds max_model_len = 1,024"),
    ({"deployment": {"max_model_len": 2048}, "workload": {"context_tokens": 9000}},
     "context_tokens = 9,000 tokens exceeds max_model_len = 2,048"),
    ({"deployment": {"max_model_len": 200_000}}, "max_model_len = 200,000 tokens exceeds the 131,072 the model"),
    ({"deployment": {"tensor_parallel": 4, "expert_parallel": 4}}, "expert_parallel = 4 changes nothing"),
    ({"deployment": {"tensor_parallel": 1}, "workload": {"context_tokens": 1_000_000}},
     "that one sequence may reach in this KV pool"),
    ({"workload": {"batch": 1e6}}, "batch = 1,000,000 exceeds the 256 sequences that max_num_seqs admits"),
    ({"workload": {"batch": 1e6}}, "sequences that the KV pool holds"),
    ({"deployment": {"max_num_batched_tokens": 10}}, "less than max_num_seqs = 256: vLLM refuses to start"),
    ({"deployment": {"tensor_parallel": 16}}, "tensor_parallel = 16 reaches beyond the 8 GPUs"),
    ({"deployment": {"engine_version": "banana"}}, "engine_version 'banana' tells no era of vllm"),
])
def test_settings_that_an_engine_would_refuse_or_ignore_warn(client, change, line):
    model = {"model": "llama-3.1-8b", "sku": "h100"}
    warned, plain = ask(client, **model, **change).json(), ask(client, **model).json()
    assert any(line in found for found in warned["warnings"]), warned["warnings"]
    assert plain["warnings"] == []


def test_experts_in_parallel_do_not_warn_where_there_are_experts(client):
    answer = ask(client, model="mixtral-8x7b-v0.1", sku="h100", deployment={"tensor_parallel": 4, "expert_parallel": 4})
    assert not any("expert_parallel" in line for line in answer.json()["warnings"])


def test_what_a_window_keeps_beside_itself_is_explained(client):
    windowed = ask(client, model="gemma-3-27b-it", sku="h100", workload={"input_tokens": 8000, "concurrency": 1}).json()
    assert any("prompt chunk" in line for line in windowed["assumptions"])
    plain = ask(client, model="llama-3.1-8b", sku="h100").json()
    assert not any("prompt chunk" in line for line in plain["assumptions"])


@pytest.mark.parametrize("sku", ["h100", "l4", "t4"])
def test_no_interval_is_faster_than_physics(client, sku):
    answer = ask(client, model="llama-3.1-8b", sku=sku, deployment={"tensor_parallel": 1},
                 workload={"input_tokens": 1000, "output_tokens": 200, "concurrency": 1}).json()
    decode, seen = answer["decode"], answer["intervals"]
    floor = decode["step_time_s"] * max(decode["bandwidth_fraction"], decode["fraction_of_peak"])
    assert floor * (1 - 1e-12) <= seen["decode.step_time_s"][0] < decode["step_time_s"]
    assert decode["tokens_per_s"] < seen["decode.tokens_per_s"][1] <= decode["batch"] / floor * (1 + 1e-12)


def test_an_overloaded_replica_links_the_simulation_that_plays_it(client):
    calm = ask(client, workload={"concurrency": 8}).json()["serving"]
    assert calm["simulation"] is None
    serving = ask(client, workload={"request_rate": 500}).json()["serving"]
    assert serving["saturated"] is True
    assert serving["ttft_s"]["mean"] is None
    assert serving["request_rate"] <= serving["max_request_rate"] < 500
    link = serving["simulation"]
    body = {**link["body"], "requests": 200}
    assert client.request(link["method"], link["href"], json=body).status_code == 202


def test_inline_documents_are_answered(client):
    card = {"id": "tiny/card", "params": 8e9, "layers": 32, "kv_heads": 8, "head_dim": 128, "vocab": 128256}
    sku = {"id": "mine", "name": "Mine", "vendor": "me", "memory_bytes": 8e10, "bandwidth_bytes_per_s": 3.35e12,
           "peak_flop_per_s": {"bf16": 9.89e14}, "link_bytes_per_s": 4.5e11, "power_w": 700}
    answer = client.post("/v1/plan", json={"model": card, "sku": sku, "calibration": "ideal",
                                           "workload": {"concurrency": 1, "context_tokens": 1}}).json()
    assert answer["decode"]["step_time_s"] == pytest.approx(4.776e-3, rel=1e-3)
    assert answer["decode"]["batch_critical_step"] is None
    assert any("card" in line for line in answer["warnings"])


def test_compare_keeps_the_order_and_shows_refusals(client):
    plans = client.post("/v1/compare", json={"plans": [
        QUESTION, {**QUESTION, "sku": "a100", "deployment": {"weights": "fp8"}},
        {**QUESTION, "sku": "h200"}]}).json()["plans"]
    assert [p["sku"] for p in plans] == ["h100-sxm-80gb", "a100", "h200-sxm-141gb"]
    assert plans[1]["refused"]["code"] == "missing_fact"


SWEEP = {"base": {"model": "llama-3.1-8b", "sku": "h100", "deployment": {"tensor_parallel": 1}},
         "axes": {"workload.concurrency": [1, 8], "deployment.weights": ["bf16", "fp8"]},
         "metrics": ["decode.step_time_s", "decode.bound", "fit.fits", "serving.output_tokens_per_s"]}


def test_a_sweep_is_plans_in_columns(client):
    body = client.post("/v1/sweep", json=SWEEP).json()
    assert body["shape"] == [2, 2]
    plan = client.post("/v1/plan", json={"model": "llama-3.1-8b", "sku": "h100", "workload": {"concurrency": 8},
                                         "deployment": {"tensor_parallel": 1, "weights": "bf16"}}).json()
    assert body["metrics"]["decode.step_time_s"][2] == pytest.approx(plan["decode"]["step_time_s"], rel=1e-12)
    assert body["metrics"]["decode.bound"][2] == plan["decode"]["bound"]
    assert body["metrics"]["fit.fits"] == [True] * 4


def test_a_sweep_streams_arrow(client):
    answer = client.post("/v1/sweep", json=SWEEP, headers={"accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()
    assert table.num_rows == 4
    assert table.column_names[:2] == ["workload.concurrency", "deployment.weights"]


def test_a_large_sweep_becomes_a_job(client):
    axes = {"workload.concurrency": list(range(1, 401)), "workload.input_tokens": list(range(1, 401))}
    answer = client.post("/v1/sweep", json={**SWEEP, "axes": axes})
    assert answer.status_code == 202
    assert client.get(answer.headers["location"]).json()["kind"] == "sweep"


@pytest.mark.parametrize("axes", [{"workload.colour": [1]}, {"workload.concurrency": []},
                                  {"deployment.engine": ["fast"]}, {"workload.concurrency": [0]}, {}])
def test_bad_axes_are_refused(client, axes):
    refusal = client.post("/v1/sweep", json={**SWEEP, "axes": axes})
    assert refusal.status_code == 422
    assert json.dumps(refusal.json())
