"""Users' own files over HTTP: configs, weight indexes, GGUF, start-up logs."""

import pytest

from planner.tests.catalog.test_engine_log import SGLANG, TRTLLM, VLLM_V0, VLLM_V1

CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
          "max_position_embeddings": 131072, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
          "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 500000.0}


def log(client, text, **given):
    answer = client.post("/v1/import/engine-log", json={"text": text, **given})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return body, {line["quantity"]: line for line in body["lines"]}


@pytest.mark.parametrize("body", [CONFIG, {"id": "acme/own", "config": CONFIG}])
def test_a_config_is_counted_exactly(client, body):
    answer = client.post("/v1/import/hf-config", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["parameters"]["total"] == 8_030_261_248
    assert answer.json()["id"] == body.get("id", "imported")


def test_a_family_that_is_not_known_is_refused_by_name(client):
    unknown = {"model_type": "oracle", "architectures": ["OracleForCausalLM"]}
    answer = client.post("/v1/import/hf-config", json=CONFIG | unknown)
    assert answer.status_code == 422
    assert "oracle" in answer.json()["detail"]


def test_an_index_and_a_header_give_exact_bytes(client):
    index = client.post("/v1/import/safetensors-index", json={
        "metadata": {"total_size": 1234}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})
    assert (index.json()["total_bytes"], index.json()["tensors"], index.json()["files"]) == (1234, 2, 2)
    header = client.post("/v1/import/safetensors-index", json={
        "model.layers.0.mlp.up_proj.weight": {"dtype": "BF16", "shape": [4, 8], "data_offsets": [0, 64]}})
    assert header.status_code == 200, header.text
    assert header.json()["total_bytes"] == 64
    assert client.post("/v1/import/safetensors-index", json={"weight_map": {}}).status_code == 422


def test_what_is_no_gguf_is_refused(client):
    assert client.post("/v1/import/gguf", content=b"").status_code == 422
    assert client.post("/v1/import/gguf", content=b"not a model at all").status_code == 422


def test_a_vllm_log_line_by_line(client):
    body, lines = log(client, VLLM_V1, sku="h100", memory_utilization=0.95, max_num_seqs=1024)
    assert lines["weights_bytes"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert lines["kv_pool_bytes"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert lines["kv_capacity_tokens"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert lines["kv_capacity_tokens_of_observed_pool"]["ratio"] == pytest.approx(1.0, abs=1e-3)
    assert lines["graph_bytes"]["observed"] == pytest.approx(0.91 * 2**30)
    assert body["learned"]["sku"] == "h100-sxm-80gb"
    assert abs(body["learned"]["extra_reserve_bytes"]) < 0.1 * 2**30
    assert body["warnings"] == []


def test_an_old_log_that_names_its_memory(client):
    body, lines = log(client, VLLM_V0, sku="rtx-3090-24gb")
    assert lines["activation_bytes"]["ratio"] == pytest.approx(1.0, abs=0.05)
    assert lines["max_concurrency_of_observed_pool"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert body["row"]["engine_version"] == "0.6.4"


def test_without_a_gpu_what_can_be_compared_is(client):
    body, lines = log(client, VLLM_V1)
    assert lines["weights_bytes"]["ratio"] == pytest.approx(1.0, abs=0.01)
    assert lines["kv_pool_bytes"]["predicted"] is None
    assert body["learned"] is None
    assert "give sku" in body["warnings"][0]


@pytest.mark.parametrize(("text", "given", "tokens"), [
    (SGLANG, {"sku": "rtx-4090-24gb"}, 327310),
    (TRTLLM, {"sku": "rtx-5090-32gb", "model": "llama-3.1-8b", "weights": "fp8"}, 263008)])
def test_other_engines(client, text, given, tokens):
    _, lines = log(client, text, **given)
    assert lines["kv_capacity_tokens"]["observed"] == tokens
    assert lines["kv_capacity_tokens"]["predicted"] == pytest.approx(tokens, rel=0.6)


def test_a_log_without_its_model_asks_for_it(client):
    answer = client.post("/v1/import/engine-log", json={"text": TRTLLM, "sku": "rtx-5090-32gb"})
    assert (answer.status_code, answer.json()["code"]) == (422, "missing_fact")
    assert client.post("/v1/import/engine-log", json={"text": "hello"}).status_code == 422


def test_what_a_log_teaches_is_kept_and_applies_to_the_plans_that_name_it(client):
    heavier = VLLM_V1.replace("58.11 GiB", "50.11 GiB")
    given = {"sku": "h100", "memory_utilization": 0.95, "max_num_seqs": 1024}
    body, _ = log(client, heavier, save_as="our-h100", **given)
    extra = body["learned"]["extra_reserve_bytes"]
    assert extra == pytest.approx(8 * 2**30, rel=0.05)
    question = {"model": "llama-3.1-8b", "sku": "h100"}
    usual, ours = (client.post("/v1/plan", json=question | more).json()["fit"]
                   for more in ({}, {"calibration": "our-h100"}))
    assert usual["kv_pool_bytes"] - ours["kv_pool_bytes"] == pytest.approx(extra)
    assert client.post("/v1/import/engine-log", json={"text": VLLM_V1, "save_as": "nothing"}).status_code == 422
