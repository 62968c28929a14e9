"""Which format each kind of module gets from the quantisation configs that tools write."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.importers.huggingface import read_config
from planner.catalog.importers.huggingface.quantization import cache_format_of
from planner.core.architecture.parts import Module
from planner.core.errors import InvalidQuantity, MissingFact

_DENSE = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256, "torch_dtype": "bfloat16"}
_MIXED = {"model_type": "qwen2_moe", "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 128, "moe_intermediate_size": 32, "num_experts": 4,
          "num_experts_per_tok": 2, "shared_expert_intermediate_size": 64, "vocab_size": 256, "mlp_only_layers": [0]}
_A, _M, _E, _S, _H = Module.ATTENTION, Module.MLP, Module.EXPERTS, Module.SHARED_EXPERTS, Module.HEAD
_INT4 = {"weights": {"num_bits": 4, "type": "int", "group_size": 128, "strategy": "group"}, "targets": ["Linear"]}
_FP8 = {"weights": {"num_bits": 8, "type": "float", "strategy": "channel"}, "targets": ["Linear"],
        "input_activations": {"num_bits": 8, "type": "float", "dynamic": True}}
_NVFP4 = {"weights": {"num_bits": 4, "type": "float", "group_size": 16}, "targets": ["Linear"]}


def _compressed(group: dict[str, Any], **extra: Any) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}, **extra}


@pytest.mark.parametrize(("quantization", "formats"), [
    (None, {_A: "bf16", _M: "bf16", _E: "bf16", _H: "bf16"}),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, {_A: "fp8_block", _E: "fp8_block", _H: "bf16"}),
    ({"quant_method": "fp8", "modules_to_not_convert": ["lm_head", "self_attn"]}, {_A: "bf16", _M: "fp8"}),
    ({"quant_method": "fbgemm_fp8"}, {_A: "fp8", _S: "fp8"}),
    ({"quant_method": "awq", "bits": 4, "group_size": 128}, {_A: "w4a16", _E: "w4a16", _H: "bf16"}),
    ({"quant_method": "gptq", "bits": 4, "group_size": 32, "lm_head": True}, {_M: "w4a16_g32", _H: "w4a16_g32"}),
    ({"quant_method": "gptq", "bits": 8, "group_size": -1}, {_M: "w8a16"}),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*self_attn.*": {}}},
     {_A: "bf16", _E: "w4a16"}),
    ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, {_A: "w4a16"}),
    ({"quant_method": "mxfp4"}, {_A: "bf16", _M: "bf16", _E: "mxfp4"}),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, {_A: "w8a16"}),
    ({"quant_method": "bitsandbytes", "bnb_4bit_use_double_quant": True}, {_A: "w4a16"}),
    (_compressed(_INT4, ignore=["lm_head", "re:.*self_attn.*"]), {_A: "bf16", _M: "w4a16", _H: "bf16"}),
    (_compressed(_FP8, ignore=["lm_head"]), {_A: "fp8", _E: "fp8", _H: "bf16"}),
    (_compressed(_FP8), {_H: "fp8"}),
    (_compressed({**_FP8, "input_activations": None}, ignore=["lm_head"]), {_A: "w8a16"}),
    (_compressed(_NVFP4, ignore=["lm_head", "re:.*shared_expert.*"]), {_E: "nvfp4", _S: "bf16"}),
    (_compressed({**_NVFP4, "weights": {**_NVFP4["weights"], "group_size": 32}}, format="mxfp4-pack-quantized"),
     {_E: "mxfp4"}),
    (_compressed({**_INT4, "targets": ["re:.*experts.*"]}, ignore=["lm_head"]), {_A: "bf16", _E: "w4a16"}),
    (_compressed({"weights": {"num_bits": 8, "type": "int"}, "input_activations": {"num_bits": 8},
                  "targets": ["Linear"]}, ignore=["lm_head"]), {_A: "int8"}),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": [
        "lm_head", *(f"model.layers.{i}.self_attn*" for i in range(8))]}, {_A: "bf16", _E: "nvfp4", _H: "bf16"}),
    ({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}},
     {_A: "fp8", _H: "bf16"}),
    ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {
        **{f"model.layers.{i}.self_attn.q_proj": {"quant_algo": "FP8"} for i in range(8)},
        **{f"model.layers.{i}.mlp.experts": {"quant_algo": "NVFP4"} for i in range(8)},
        "lm_head": {"quant_algo": "FP8"}}}, {_A: "fp8", _E: "nvfp4", _S: "bf16", _H: "fp8"}),
    ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp4"}}, "exclude": ["lm_head"]},
     {_A: "mxfp4"}),
    ({"quant_method": "fp8", "weight_block_size": [128, 128], "moe_quant_algo": "NVFP4"},
     {_A: "fp8_block", _E: "nvfp4"}),
])
def test_formats_by_module(quantization: dict[str, Any] | None, formats: dict[Module, str]) -> None:
    model = read_config({**_MIXED, "quantization_config": quantization}, id="x")
    assert {module: model.scheme.of(module) for module in formats} == formats


def test_only_layers_that_have_a_kind_vote() -> None:
    # The list skips the one dense layer whole; the experts of the others stay quantised.
    quantization = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0*"]}
    model = read_config({**_MIXED, "quantization_config": quantization}, id="x")
    assert model.scheme.of(_M) == "bf16"
    assert model.scheme.of(_E) == "nvfp4"


def test_hf_quant_config_beside_the_fields() -> None:
    config = {**_DENSE, "producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8",
                                                                          "exclude_modules": ["lm_head"]}}
    assert read_config(config, id="x").scheme.of(_A) == "fp8"


@pytest.mark.parametrize(("dtype", "name"), [("float16", "fp16"), ("torch.bfloat16", "bf16"), ("float32", "bf16")])
def test_unquantised_dtype(dtype: str, name: str) -> None:
    assert read_config({**_DENSE, "torch_dtype": dtype}, id="x").scheme.of(_A) == name


@pytest.mark.parametrize(("quantization", "fact"), [
    ({"quant_method": "exl9"}, "quant_method"), ({"quant_method": "gptq", "bits": 3}, "bits"),
    ({"quant_method": "modelopt", "quant_algo": "W1A1"}, "quant_algo"),
    ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "quantized_layers"),
    ({"quant_method": "compressed-tensors"}, "config_groups"),
    (_compressed({"targets": ["Linear"]}), "weights"),
    ({"quant_method": "quark", "global_quant_config": {"weight": [{"dtype": "fp2"}]}}, "global_quant_config"),
])
def test_what_is_not_modelled_is_named(quantization: dict[str, Any], fact: str) -> None:
    with pytest.raises(MissingFact) as caught:
        read_config({**_DENSE, "quantization_config": quantization}, id="x")
    assert fact in caught.value.fact


@pytest.mark.parametrize("quantization", [
    "fp8", {"quant_method": "fp8", "modules_to_not_convert": "lm_head"},
    {"quant_method": "fp8", "modules_to_not_convert": ["re:("]}, _compressed(5),  # type: ignore[arg-type] # hostile
    {"quant_method": "awq", "modules_to_not_convert": ["a"] * 200_001},
])
def test_malformed_configs_are_refused(quantization: Any) -> None:
    with pytest.raises(InvalidQuantity):
        read_config({**_DENSE, "quantization_config": quantization}, id="x")


def test_unknown_dtype_is_refused() -> None:
    with pytest.raises(MissingFact, match="dtype"):
        read_config({**_DENSE, "torch_dtype": "posit8"}, id="x")


@pytest.mark.parametrize(("quantization", "name"), [
    (None, None), ({"kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"), ({"kv_cache_scheme": None}, None),
    ({"kv_cache_scheme": {"num_bits": 8, "type": "int"}}, "int8"), ({"kv_cache_quant_algo": "FP8"}, "fp8"),
    ({"kv_cache_quant_algo": "NVFP4"}, "nvfp4"), ({"kv_cache_quant_algo": None}, None),
])
def test_declared_cache_format(quantization: dict[str, Any] | None, name: str | None) -> None:
    assert cache_format_of(quantization) == name
