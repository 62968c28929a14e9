"""A GGUF file as a model: its metadata as config fields, its tensor list as exact bytes and formats by module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from planner.catalog.importers.gguf_reader import GgufFront, read_front
from planner.catalog.importers.huggingface import read_config
from planner.catalog.importers.tensor_names import module_of
from planner.core.architecture.model import Model, WeightScheme
from planner.core.architecture.parameters import count_parameters
from planner.core.architecture.parts import Module
from planner.core.errors import AdapterError, MissingFact

# GGUF architecture → model_type; llama covers Mistral and, with experts, Mixtral.
_TYPES = {
    "llama": "llama", "qwen2": "qwen2", "qwen2moe": "qwen2_moe", "qwen3": "qwen3", "qwen3moe": "qwen3_moe",
    "gemma": "gemma", "gemma2": "gemma2", "gemma3": "gemma3_text", "phi2": "phi", "phi3": "phi3", "gpt2": "gpt2",
    "deepseek2": "deepseek_v2", "gpt-oss": "gpt_oss", "falcon": "falcon", "mpt": "mpt", "bloom": "bloom",
    "gptneox": "gpt_neox", "starcoder2": "starcoder2", "stablelm": "stablelm", "command-r": "cohere",
    "cohere2": "cohere2", "olmo": "olmo", "olmo2": "olmo2", "olmoe": "olmoe", "granite": "granite", "glm4": "glm4",
    "granitemoe": "granitemoe", "internlm2": "internlm2", "exaone": "exaone", "exaone4": "exaone4",
    "minicpm": "minicpm", "smollm3": "smollm3", "seed_oss": "seed_oss", "mistral3": "ministral3", "orion": "orion",
    "baichuan": "baichuan", "nemotron": "nemotron", "chatglm": "glm", "glm4moe": "glm4_moe", "dots1": "dots1",
    "arcee": "arcee", "ernie4_5": "ernie4_5", "apertus": "apertus", "hunyuan-dense": "hunyuan_v1_dense",
}
_FIELDS = {
    "block_count": "num_hidden_layers", "embedding_length": "hidden_size", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads", "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim", "context_length": "max_position_embeddings", "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok", "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "attention.sliding_window": "sliding_window", "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank", "rope.dimension_count": "qk_rope_head_dim",
    "leading_dense_block_count": "first_k_dense_replace", "expert_shared_count": "n_shared_experts",
    "attention.key_length_mla": "key_mla", "attention.value_length_mla": "value_mla",
    "attention.value_length": "value_plain",
}
_LATENT = {"q_lora_rank", "kv_lora_rank", "qk_rope_head_dim", "key_mla", "value_mla", "value_plain"}
_MODULES = {"attention": Module.ATTENTION, "mlp": Module.MLP, "experts": Module.EXPERTS, "router": Module.ROUTER,
            "shared_experts": Module.SHARED_EXPERTS, "embedding": Module.EMBEDDING, "head": Module.HEAD}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufModel:
    """A model with the exact size of its file."""

    model: Model
    total_bytes: int
    elements: int
    bytes_by_module: Mapping[str, int]
    bytes_by_type: Mapping[str, int]
    unexplained_elements: int
    """Elements of the file less those of the model; not zero where the architecture departs from what was read."""


def read_gguf(stream: BinaryIO, *, id: str) -> GgufModel:
    """The model of an open GGUF file; its weights are not read."""
    front = read_front(stream)
    model = read_config(config_of(front), id=id)
    types: dict[Module, Counter[str]] = {}
    for tensor in front.tensors:
        module = _MODULES.get(module_of(tensor.name))
        if module is not None:
            types.setdefault(module, Counter())[tensor.type] += tensor.bytes
    overrides = {module: f"gguf:{counts.most_common(1)[0][0]}" for module, counts in types.items()}
    modules: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for tensor in front.tensors:
        modules[module_of(tensor.name)] += tensor.bytes
        kinds[tensor.type] += tensor.bytes
    elements = sum(tensor.elements for tensor in front.tensors)
    return GgufModel(model=replace(model, scheme=WeightScheme(default="bf16", overrides=overrides)),
                     total_bytes=sum(kinds.values()), elements=elements, bytes_by_module=dict(modules),
                     bytes_by_type=dict(kinds), unexplained_elements=elements - count_parameters(model).total)


def read_gguf_path(path: Path) -> GgufModel:
    """The model of a GGUF file."""
    try:
        with path.open("rb") as stream:
            return read_gguf(stream, id=path.stem)
    except OSError as error:
        raise AdapterError(f"{path.name}: {error}") from error


def config_of(front: GgufFront) -> dict[str, object]:
    """The metadata under the names a config.json uses."""
    architecture = str(front.metadata.get("general.architecture", ""))
    model_type = _TYPES.get(architecture)
    if model_type is None:
        raise MissingFact(f"GGUF files of architecture {architecture[:40]!r} are not modelled.",
                          fact="general.architecture")
    config: dict[str, object] = {}
    for key, name in _FIELDS.items():
        value = front.metadata.get(f"{architecture}.{key}")
        if value is not None:
            config[name] = _uniform(value, key)
    names = {tensor.name for tensor in front.tensors}
    config["tie_word_embeddings"] = "output.weight" not in names
    config["vocab_size"] = _vocabulary(front, architecture)
    return _adapted(config, model_type, names)


def _uniform(value: object, key: str) -> object:
    """A number given once, or once per layer if it is the same everywhere."""
    if not isinstance(value, list):
        return value
    if len(set(value)) != 1:
        raise MissingFact(f"{key} differs from layer to layer, which the GGUF reader does not model.", fact=key)
    return value[0]


def _vocabulary(front: GgufFront, architecture: str) -> object:
    """Rows of the embedding; the metadata may leave padding out."""
    table = next((tensor for tensor in front.tensors if tensor.name == "token_embd.weight"), None)
    if table is not None:
        return table.shape[-1]
    return front.metadata.get(f"{architecture}.vocab_size") or front.lengths.get("tokenizer.ggml.tokens")


def _adapted(config: dict[str, object], model_type: str, names: set[str]) -> dict[str, object]:
    """Fields whose meaning depends on the family."""
    experts = config.get("num_experts")
    if not experts:
        config = {name: value for name, value in config.items() if not name.startswith("num_experts")}
    if model_type == "llama" and experts:
        model_type, config["num_local_experts"] = "mixtral", config.pop("num_experts")
    if model_type == "deepseek_v2":
        config = _deepseek(config, names)
        model_type = str(config["model_type"])
    else:
        config = {name: value for name, value in config.items() if name not in _LATENT}
    if any(name.endswith("attn_q.bias") for name in names) and model_type in {"llama", "qwen3", "glm4_moe", "seed_oss"}:
        config["attention_bias"] = True
        config["attention_out_bias"] = any(name.endswith("attn_output.bias") for name in names)
    return {**config, "model_type": model_type}


def _deepseek(config: dict[str, object], names: set[str]) -> dict[str, object]:
    """DeepSeek's head widths, from key and value lengths."""
    rope = config.get("qk_rope_head_dim")
    # Newer files give the expanded widths under their own names; the plain ones then describe the absorbed form.
    plain = config.pop("head_dim", None), config.pop("value_plain", None)
    key, value = config.pop("key_mla", plain[0]), config.pop("value_mla", plain[1])
    if not isinstance(rope, int) or not isinstance(key, int) or not isinstance(value, int):
        raise MissingFact("The GGUF file gives no key, value or rotary width.", fact="attention.key_length")
    config |= {"qk_nope_head_dim": key - rope, "v_head_dim": value,
               "n_routed_experts": config.pop("num_experts", None)}
    corrected = any("exp_probs_b" in name for name in names)
    config["model_type"] = "deepseek_v3" if corrected else "deepseek_v2"
    return {name: value for name, value in config.items() if value is not None
            and name not in {"shared_expert_intermediate_size", "num_key_value_heads"}}
