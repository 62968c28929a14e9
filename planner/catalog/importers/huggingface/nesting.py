"""The language model inside a config: flat, or nested in a multimodal wrapper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.catalog.importers.huggingface.defaults import CLASS_DEFAULTS
from planner.catalog.importers.huggingface.registry import reader_name
from planner.catalog.importers.huggingface.towers import ENCODERS
from planner.core.errors import MissingFact

_NESTED = ("text_config", "llm_config", "language_config", "language_model_config", "text_model_config")
_OUTER = ("thinker_config", "llm_config")
# What a wrapper's language part is when it does not say: the default of the wrapper's configuration class.
_INNER_TYPES = {
    "gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text", "llama4": "llama4_text",
    "llava_next": "llama", "vipllava": "llama", "paligemma": "gemma", "mistral3": "mistral", "qwen2_5_vl":
    "qwen2_5_vl_text", "qwen3_vl": "qwen3_vl_text", "qwen3_5": "qwen3_5_text", "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5_moe": "qwen3_5_moe_text", "kimi_k25": "kimi_k2", "kimi_k3": "kimi_linear", "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text", "llava_onevision": "qwen2", "qwen2_audio": "qwen2", "kimi_vl": "deepseek_v3",
    "deepseek_vl_v2": "deepseek_v2", "minimax_m3_vl": "minimax_m3", "step3p7": "step3p5", "idefics3": "llama",
    "smolvlm": "llama", "ovis2": "qwen2", "gemma4_unified": "gemma4_unified_text", "internvl": "qwen2", "lfm2_vl":
    "lfm2", "exaone4_5": "exaone4_5_text", "mllama": "mllama_text_model",
}
_ARCHITECTURES = {
    "LlamaForCausalLM": "llama", "MistralForCausalLM": "mistral", "Qwen2ForCausalLM": "qwen2", "Qwen3MoeForCausalLM":
    "qwen3_moe", "InternLM2ForCausalLM": "internlm2", "GptOssForCausalLM": "gpt_oss", "DeepseekV3ForCausalLM":
    "deepseek_v3", "GemmaForCausalLM": "gemma", "DeepseekV4ForCausalLM": "deepseek_v4", "Grok1ForCausalLM": "grok-1",
    "Grok1ModelForCausalLM": "grok-1", "DeepseekV32ForCausalLM": "deepseek_v32", "Phi3ForCausalLM": "phi3",
    "Qwen2MoeForCausalLM": "qwen2_moe", "MixtralForCausalLM": "mixtral",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagePart:
    """The language model's own fields."""

    values: Mapping[str, object]
    model_type: str
    pointer: str
    read: tuple[str, ...] = ()
    """Wrapper fields that were used."""


def language_part(config: Mapping[str, object]) -> LanguagePart:
    """The fields of the language model and its type."""
    outer: Mapping[str, object] = config
    pointer = "/config"
    for name in _OUTER:
        inner = outer.get(name)
        if isinstance(inner, Mapping) and any(isinstance(inner.get(key), Mapping) for key in _NESTED):
            outer, pointer = inner, f"{pointer}/{name}"
    for name in _NESTED:
        inner = outer.get(name)
        if isinstance(inner, Mapping):
            return _nested(outer, inner, f"{pointer}/{name}")
    kind = _type_of(outer, None)
    values = dict(outer)
    if kind in _INNER_TYPES and f"{kind}_text" == _INNER_TYPES[kind]:
        kind = _INNER_TYPES[kind]  # the flat form that older files of the family have
    for name in ENCODERS:
        values.pop(name, None)
    return LanguagePart(values=values, model_type=kind, pointer=pointer, read=_WRAPPER_FIELDS)


_WRAPPER_FIELDS = ("image_token_id", "video_token_id", "vision_token_id")


def _nested(outer: Mapping[str, object], inner: Mapping[str, object], pointer: str) -> LanguagePart:
    kind = _type_of(inner, str(outer.get("model_type") or ""))
    values = {**CLASS_DEFAULTS.get(kind, {}), **inner}
    if inner.get("tie_word_embeddings") is None and isinstance(outer.get("tie_word_embeddings"), bool):
        values["tie_word_embeddings"] = outer["tie_word_embeddings"]
    for name in ("dtype", "torch_dtype"):
        if inner.get("dtype") is None and inner.get("torch_dtype") is None and outer.get(name) is not None:
            values[name] = outer[name]
    return LanguagePart(values=values, model_type=kind, pointer=pointer)


def _type_of(config: Mapping[str, object], wrapper: str | None) -> str:
    declared = config.get("model_type")
    architectures = config.get("architectures")
    first = str(architectures[0]) if isinstance(architectures, list | tuple) and architectures else ""
    known = _ARCHITECTURES.get(first)
    if isinstance(declared, str) and declared:
        kind = _INNER_TYPES.get(declared, declared) if wrapper == declared else declared
        return known if known and reader_name(kind) is None else kind
    if known:
        return known
    if wrapper in _INNER_TYPES:
        return _INNER_TYPES[wrapper]
    raise MissingFact("The configuration has no model_type.", fact="model_type", pointer="/config/model_type")
