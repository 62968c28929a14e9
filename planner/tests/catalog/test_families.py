"""Corners of the family readers: alternative spellings, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.importers.huggingface import known_types, read_config
from planner.catalog.importers.huggingface.registry import reader_of
from planner.catalog.models import built_in_models
from planner.core.architecture.attention import Attention
from planner.core.architecture.cache import elements_per_token, window_elements_per_token
from planner.core.architecture.model import Model
from planner.core.architecture.parameters import count_parameters
from planner.core.errors import InvalidQuantity, MissingFact


def _config(model_id: str, **changes: Any) -> dict[str, Any]:
    made = {**built_in_models().record(model_id)["config"], **changes}
    return {name: value for name, value in made.items() if value != "absent"}


def _read(model_id: str, **changes: Any) -> Model:
    return read_config(_config(model_id, **changes), id="x", towers=())


def _total(model: Model) -> int:
    return count_parameters(model).total


def test_every_registered_reader_exists() -> None:
    for model_type in known_types():
        assert callable(reader_of(model_type))
    assert reader_of("retnet") is None


@pytest.mark.parametrize(("model_id", "changes"), [
    ("deepseek-ai/deepseek-v3.2", {"layer_types": ["indexed_attention"] * 61}),
    ("zai-org/glm-5.2", {"indexer_types": "absent", "index_topk_pattern": "FFF" + "SSSF" * 18 + "SSS"}),
    ("zai-org/glm-5.2", {"indexer_types": "absent"}),
    ("deepseek-ai/deepseek-v4-flash", {"compress_ratios": "absent", "layer_types": [
        "sliding_attention"] * 2 + ["compressed_sparse_attention", "heavily_compressed_attention"] * 20
        + ["compressed_sparse_attention"]}),
    ("deepseek-ai/deepseek-v4-flash", {"num_hash_layers": "absent", "mlp_layer_types": ["hash_moe"] * 3
                                       + ["moe"] * 40}),
    ("qwen/qwen3-next-80b-a3b-instruct", {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12}),
    ("moonshotai/kimi-linear-48b-a3b-instruct", {
        "linear_attn_config": "absent", "linear_num_heads": 32, "linear_head_dim": 128,
        "layer_types": [("full_attention" if i + 1 in {4, 8, 12, 16, 20, 24, 27} else "linear_attention")
                        for i in range(27)]}),
    ("minimaxai/minimax-m1-80k", {"attn_type_list": "absent"}),
    ("minimaxai/minimax-m1-80k", {"attn_type_list": "absent", "layer_types": (
        ["linear_attention"] * 7 + ["full_attention"]) * 10}),
    ("google/gemma-4-31b", {"global_head_dim": "absent", "num_global_key_value_heads": "absent", "per_layer_config": {
        f"{i:02}": {"head_dim": 512, "num_key_value_heads": 4} for i in range(5, 60, 6)}}),
    ("google/gemma-3n-e2b-it", {"intermediate_size": 8192}),
    ("nvidia/nemotron-h-8b-base-8k", {"hybrid_override_pattern": "absent", "layers_block_type": [
        {"M": "mamba", "*": "attention", "-": "mlp"}[letter]
        for letter in "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"]}),
    ("ibm-granite/granite-4.0-h-micro", {"layer_types": [
        "full_attention" if i in {5, 15, 25, 35} else "linear_attention" for i in range(40)]}),
    ("meta-llama/llama-4-scout-17b-16e-instruct", {
        "layer_types": (["chunked_attention"] * 3 + ["full_attention"]) * 12}),
    ("meta-llama/llama-4-scout-17b-16e-instruct", {"no_rope_layers": [1, 1, 1, 0] * 12}),
    ("minimaxai/minimax-m3", {"sparse_attention_config": "absent", "index_n_heads": 4, "index_head_dim": 128,
                              "index_block_size": 128, "index_topk_blocks": 16,
                              "layer_types": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 57}),
    ("openai/gpt-oss-20b", {"layer_types": "absent"}),
])
def test_other_spellings_mean_the_same(model_id: str, changes: dict[str, Any]) -> None:
    ours, other = _read(model_id), _read(model_id, **changes)
    assert other.layers == ours.layers


@pytest.mark.parametrize(("model_id", "changes", "word"), [
    ("deepseek-ai/deepseek-v3.2", {"layer_types": ["magic"] * 61}, "layer_types"),
    ("zai-org/glm-5.2", {"indexer_types": ["maybe"] * 78}, "indexer_types"),
    ("deepseek-ai/deepseek-v4-flash", {"compress_ratios": [7] * 43}, "compress_ratios"),
    ("deepseek-ai/deepseek-v4-flash", {"compress_ratios": "absent"}, "compress_ratios"),
    ("qwen/qwen3-next-80b-a3b-instruct", {"layer_types": ["magic"] * 48}, "magic"),
    ("qwen/qwen3-next-80b-a3b-instruct", {"attn_output_gate": 2}, "attn_output_gate"),
    ("google/gemma-2-27b", {"layer_types": ["magic"] * 46}, "magic"),
    ("google/gemma-2-27b", {"layer_types": ["full_attention"]}, "layer_types"),
    ("google/gemma-4-31b", {"per_layer_config": {"5": {"head_dim": 1}, "11": {"head_dim": 2}}}, "per_layer_config"),
    ("nvidia/nemotron-h-8b-base-8k", {"hybrid_override_pattern": "M-"}, "hybrid_override_pattern"),
    ("nvidia/nemotron-h-8b-base-8k", {"hybrid_override_pattern": "?" * 52}, "layer type"),
    ("ibm-granite/granite-4.0-h-micro", {"layer_types": ["magic"] * 40}, "magic"),
    ("ibm-granite/granite-4.0-h-micro", {"normalization_function": "layernorm"}, "normalization_function"),
    ("nvidia/llama-3_3-nemotron-super-49b-v1", {"block_configs": "absent"}, "block_configs"),
    ("nvidia/llama-3_3-nemotron-super-49b-v1", {"block_configs": [5] * 80}, "block_configs"),
    ("nvidia/llama-3_3-nemotron-super-49b-v1", {"block_configs": [
        {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 1.0, "twist": 3}}] * 80}, "twist"),
    ("minimaxai/minimax-m3", {"qk_norm_type": "none"}, "qk_norm_type"),
    ("mistralai/mixtral-8x7b-v0.1", {"num_experts_per_tok": 99}, "num_experts_per_tok"),
    ("mosaicml/mpt-7b", {"norm_type": "rmsnorm"}, "norm_type"),
    ("zai-org/chatglm3-6b", {"rmsnorm": 3}, "rmsnorm"),
    ("coherelabs/c4ai-command-a-03-2025", {"use_parallel_block": 7}, "use_parallel_block"),
    ("google/gemma-3n-e2b-it", {"intermediate_size": [8192] * 3}, "intermediate_size"),
    ("meta-llama/llama-3.1-8b", {"layer_types": "full_attention"}, "layer_types"),
    ("meta-llama/llama-3.1-8b", {"layer_types": ["full_attention"] * 5000}, "layer_types"),
    ("databricks/dbrx-instruct", {"attn_config": 5}, "attn_config"),
    ("mosaicml/mpt-7b", {"expansion_ratio": "4"}, "expansion_ratio"),
    ("deepseek-ai/deepseek-v2-lite", {"topk_method": 5}, "topk_method"),
    ("zai-org/chatglm3-6b", {"hidden_size": "absent"}, "hidden_size"),
])
def test_what_is_not_modelled_is_named(model_id: str, changes: dict[str, Any], word: str) -> None:
    with pytest.raises((MissingFact, InvalidQuantity), match=word):
        _read(model_id, **changes)


def test_cross_layer_sharing_of_hunyuan_is_refused() -> None:
    config = {"model_type": "hunyuan_v1_moe", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
              "head_dim": 16, "intermediate_size": 64, "num_experts": 4, "moe_topk": 1, "vocab_size": 100}
    assert read_config(config, id="x").layer_count == 4
    with pytest.raises(InvalidQuantity, match="use_cla"):
        read_config({**config, "use_cla": True, "cla_share_factor": 2}, id="x")
    with pytest.raises(InvalidQuantity, match="num_shared_expert"):
        read_config({**config, "num_shared_expert": [1, 2, 1, 1]}, id="x")


def test_sliding_windows_follow_their_switches() -> None:
    base = {"model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
            "intermediate_size": 64, "vocab_size": 100, "max_position_embeddings": 1000, "sliding_window": 100}
    assert window_elements_per_token(read_config(base, id="x")) == 0
    late = read_config({**base, "use_sliding_window": True, "max_window_layers": 3}, id="x")
    assert (elements_per_token(late), window_elements_per_token(late)) == (3 * 128, 128)
    wide = read_config({**base, "model_type": "mistral", "sliding_window": 1000}, id="x")
    assert window_elements_per_token(wide) == 0
    off = read_config({**base, "model_type": "mistral", "use_sliding_window": False}, id="x")
    assert window_elements_per_token(off) == 0


def test_attention_biases_reach_every_projection() -> None:
    base = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "intermediate_size": 96, "vocab_size": 100}
    biased = read_config({**base, "attention_bias": True, "mlp_bias": True}, id="x")
    assert _total(biased) - _total(read_config(base, id="x")) == 2 * (4 * 64 + 2 * 96 + 64)


def test_searched_blocks_may_drop_or_replace_parts() -> None:
    config = _config("nvidia/llama-3_3-nemotron-super-49b-v1")
    blocks = [{"attention": {"replace_with_linear": True}, "ffn": {"replace_with_linear": True}},
              {"attention": {"no_op": True}, "ffn": {"no_op": True}},
              {"attention": {"n_heads_in_group": 8, "window_length": 4096}, "ffn": {"ffn_mult": 5.25}}]
    model = read_config({**config, "block_configs": blocks, "num_hidden_layers": 3}, id="x")
    linear, nothing, usual = (layer for _, layer in model.layers)
    assert [matrix.name for matrix in linear.matrices()] == ["attention_linear", "mlp_linear"]
    assert nothing.matrices() == ()
    assert isinstance(usual.mixer, Attention)
    assert usual.mixer.window == 4096


def test_lowrank_projections_of_a_narrow_embedding_are_matrices() -> None:
    config = {"model_type": "opt", "hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 2, "vocab_size": 100,
              "num_attention_heads": 4, "word_embed_proj_dim": 32, "do_layer_norm_before": False}
    model = read_config(config, id="x")
    assert [matrix.name for matrix in model.extra_matrices] == ["project_in", "project_out"]
    assert count_parameters(model).embedding == 3200


def test_fp32_state_only_where_declared() -> None:
    declared = _read("nvidia/nvidia-nemotron-3-nano-30b-a3b-bf16")
    silent = _read("nvidia/nemotron-h-8b-base-8k")
    states = [next(layer.mixer.state() for _, layer in model.layers if layer.mixer and layer.mixer.state())
              for model in (declared, silent)]
    assert states[0] is not None
    assert states[1] is not None
    assert states[0].fp32_elements > 0
    assert states[1].fp32_elements == 0


def test_architecture_name_stands_in_for_an_unknown_type() -> None:
    config = {**_config("deepseek-ai/deepseek-v4-flash"), "model_type": "deepseek_ref",
              "architectures": ["DeepseekV4ForCausalLM"]}
    assert read_config(config, id="x").layers == _read("deepseek-ai/deepseek-v4-flash").layers
    typeless = {**_config("meta-llama/llama-3.1-8b"), "architectures": ["LlamaForCausalLM"]}
    del typeless["model_type"]
    assert read_config(typeless, id="x").family == "llama"


def test_a_thinker_holds_the_language_model() -> None:
    inner = _config("qwen/qwen3-30b-a3b")
    config = {"model_type": "qwen3_omni_moe", "thinker_config": {
        "model_type": "qwen3_omni_moe_thinker", "text_config": {**inner, "model_type": "qwen3_omni_moe_text"},
        "audio_config": {"d_model": 1280}}}
    model = read_config(config, id="x")
    assert _total(model) == _total(_read("qwen/qwen3-30b-a3b"))
    assert model.uncounted == ("audio",)


def test_neo_local_layers_from_either_field() -> None:
    base = {"model_type": "gpt_neo", "hidden_size": 64, "num_layers": 4, "num_heads": 4, "vocab_size": 100,
            "max_position_embeddings": 512, "window_size": 64}
    listed = read_config({**base, "attention_layers": ["global", "local"] * 2}, id="x")
    patterned = read_config({**base, "attention_types": [[["global", "local"], 2]]}, id="x")
    assert listed.layers == patterned.layers
    assert window_elements_per_token(listed) == 2 * 128
    assert window_elements_per_token(read_config(base, id="x")) == 0
    with pytest.raises(InvalidQuantity, match="attention_types"):
        read_config({**base, "attention_types": [5]}, id="x")


def test_plain_mamba2_and_lists_of_expert_counts() -> None:
    model = read_config({"model_type": "mamba2", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
                         "num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 32}, id="x")
    assert elements_per_token(model) == 0
    with pytest.raises(MissingFact, match="num_experts_per_tok"):
        _read("mistralai/mixtral-8x7b-v0.1", num_experts_per_tok="absent")


def test_draft_modules_nobody_describes_are_named() -> None:
    text = {"model_type": "exaone4_5_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
            "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "sliding_window": 16,
            "layer_types": ["sliding_attention"] * 3 + ["full_attention"], "num_nextn_predict_layers": 1}
    model = read_config({"model_type": "exaone4_5", "text_config": text, "vision_config": {"depth": 2}}, id="x")
    assert model.uncounted == ("vision", "mtp")
    assert window_elements_per_token(model) == 3 * elements_per_token(model)


def test_image_layers_of_llama_3_2() -> None:
    text = {"model_type": "mllama_text_model", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 5,
            "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "cross_attention_layers": [3]}
    model = read_config({"model_type": "mllama", "text_config": text}, id="x")
    assert [count for count, _ in model.layers] == [3, 1, 1]
    assert elements_per_token(model) == 4 * 64
    assert model.extra_embedding_parameters == 8 * 64
