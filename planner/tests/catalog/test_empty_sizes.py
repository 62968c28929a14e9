"""A config whose sizes are zero or absurd is refused by name, never divided by."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.importers.huggingface import read_config
from planner.catalog.models import built_in_models
from planner.core.errors import InvalidQuantity

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 11008, "vocab_size": 32000}
QWEN3_NEXT: dict[str, Any] = {
    "model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 8, "num_attention_heads": 16,
    "num_key_value_heads": 2, "head_dim": 256, "intermediate_size": 5120, "vocab_size": 151936,
    "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
    "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512,
    "num_experts_per_tok": 10, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512}


@pytest.mark.parametrize(("config", "field"), [
    (LLAMA, "hidden_size"), (LLAMA, "num_attention_heads"), (LLAMA, "intermediate_size"), (LLAMA, "vocab_size"),
    (QWEN3_NEXT, "full_attention_interval"), (QWEN3_NEXT, "linear_num_key_heads"),
    (QWEN3_NEXT, "linear_num_value_heads"), (QWEN3_NEXT, "linear_key_head_dim"),
])
def test_a_zero_is_named(config: dict[str, Any], field: str) -> None:
    read_config(config, id="whole")
    with pytest.raises(InvalidQuantity, match=field):
        read_config({**config, field: 0}, id="empty")


def test_an_absurd_width_is_refused() -> None:
    with pytest.raises(InvalidQuantity, match="not one of a model"):
        read_config({**LLAMA, "hidden_size": 10**9}, id="vast")


REFUSED = [
    ("meta-llama/llama-3.1-8b", "num_key_value_heads"), ("meta-llama/llama-3.1-8b", "head_dim"),
    ("meta-llama/llama-3.1-8b", "max_position_embeddings"), ("qwen/qwen3-30b-a3b", "moe_intermediate_size"),
    ("qwen/qwen3-30b-a3b", "decoder_sparse_step"), ("deepseek-ai/deepseek-v3", "moe_intermediate_size"),
    ("deepseek-ai/deepseek-v3", "qk_nope_head_dim"), ("deepseek-ai/deepseek-v3.2", "index_topk"),
    ("openai/gpt-oss-20b", "intermediate_size"), ("mistralai/mixtral-8x7b-v0.1", "intermediate_size")]
TOLERATED = [
    ("deepseek-ai/deepseek-v3", "first_k_dense_replace"), ("deepseek-ai/deepseek-v3", "num_nextn_predict_layers"),
    ("deepseek-ai/deepseek-v3", "n_group"), ("deepseek-ai/deepseek-v3", "n_shared_experts"),
    ("qwen/qwen3-next-80b-a3b-instruct", "shared_expert_intermediate_size"),
    ("mistralai/mistral-7b-v0.1", "sliding_window")]


@pytest.mark.parametrize(("model", "field"), REFUSED)
def test_a_zero_is_no_missing_size(model, field) -> None:
    config = dict(built_in_models().record(model)["config"])
    with pytest.raises(InvalidQuantity, match=rf"{field}( must be at least 1, not 0|$|\.)") as refusal:
        read_config(config | {field: 0}, id="x")
    assert refusal.value.pointer == f"/config/{field}"


@pytest.mark.parametrize(("model", "field"), TOLERATED)
def test_a_zero_that_configs_write_on_purpose_switches_off(model, field) -> None:
    config = dict(built_in_models().record(model)["config"])
    assert read_config(config | {field: 0}, id="x").layer_count == built_in_models().model(model).layer_count


@pytest.mark.parametrize("chosen", [[[]], [{}], [["a"], ["a"]]])
def test_a_nested_list_is_no_number_of_experts(chosen) -> None:
    with pytest.raises(InvalidQuantity, match="whole number"):
        read_config({**QWEN3_NEXT, "num_experts_per_tok": chosen}, id="x")
