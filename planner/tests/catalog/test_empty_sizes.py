"""A config whose sizes are zero or absurd is refused by name, never divided by."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.importers.huggingface import read_config
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
