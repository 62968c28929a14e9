"""Which reader understands which ``model_type``; readers load when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from planner.catalog.importers.huggingface.blocks import Draft
from planner.catalog.importers.huggingface.fields import Fields

Reader = Callable[[Fields, str], Draft]

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("dense", "read", """llama mistral ministral ministral3 Yi yi internlm internlm2 internlm3 aquila xverse baichuan
        granite smollm3 seed_oss qwen2 qwen2_vl_text qwen2_5_vl_text qwen2_vl qwen2_5_vl
        qwen2_audio_text qwen3 qwen3_vl_text hunyuan_v1_dense gemma gemma2 gemma3_text vaultgemma
        phi3 phi4mm phi3_v olmo olmo2 olmo3 cohere cohere2 glm glm4 glm4v_text exaone exaone4 exaone4_5_text
        ernie4_5 helium arcee nemotron minicpm orion apertus starcoder2 cwm iquestcoder hyperclovax
        jais2 granite_swa nanochat"""),
    ("mixtures", "mixtral", """mixtral olmoe phimoe granitemoe granitemoeshared granitemoe_swa minimax_m2 grok-1
        flex_olmo"""),
    ("mixtures", "qwen_moe", "qwen2_moe qwen3_moe qwen3_vl_moe_text qwen3_omni_moe_text"),
    ("mixtures", "deepseek_style", """deepseek glm4_moe dots1 hy_v3 exaone_moe solar_open glm4v_moe_text
        bailing_moe bailing_moe_v2 mellum sarvam_moe"""),
    ("mixtures", "hunyuan", "hunyuan hunyuan_v1_moe"),
    ("mixtures", "gpt_oss", "gpt_oss"),
    ("mixtures", "dbrx", "dbrx"),
    ("mixtures", "arctic", "arctic"),
    ("mixtures", "llama4", "llama4_text"),
    ("mixtures", "ernie", "ernie4_5_moe"),
    ("latent", "deepseek", """deepseek_v2 deepseek_v3 deepseek_v32 kimi_k2 glm_moe_dsa glm4_moe_lite minicpm3 youtu
        kimi_vl_text sarvam_mla"""),
    ("latent", "deepseek_v4", "deepseek_v4"),
    ("recurrent", "mamba", "mamba falcon_mamba"),
    ("recurrent", "mamba2", "mamba2"),
    ("recurrent", "jamba", "jamba"),
    ("recurrent", "falcon_h1", "falcon_h1"),
    ("recurrent", "nemotron_h", "nemotron_h"),
    ("recurrent", "granite_hybrid", "granitemoehybrid bamba"),
    ("linear", "qwen_next", "qwen3_next qwen3_5_text qwen3_5_moe_text qwen3_5 qwen3_5_moe"),
    ("linear", "kimi_linear", "kimi_linear"),
    ("linear", "glm5_next", "glm5_next_text"),
    ("linear", "minimax", "minimax minimax_text_01 minimax_m1"),
    ("recurrent", "lfm2", "lfm2 lfm2_moe"),
    ("irregular", "mllama", "mllama_text_model"),
    ("per_layer", "laguna", "laguna"),
    ("per_layer", "openelm", "openelm"),
    ("classic", "persimmon", "persimmon"),
    ("gemma", "gemma3n", "gemma3n_text"),
    ("gemma", "gemma4", "gemma4_text gemma4_unified_text"),
    ("classic", "gpt2", "gpt2 gpt_bigcode"),
    ("classic", "gptj", "gptj codegen"),
    ("classic", "gpt_neo", "gpt_neo"),
    ("classic", "gpt_neox", "gpt_neox"),
    ("classic", "opt", "opt"),
    ("classic", "bloom", "bloom"),
    ("classic", "mpt", "mpt"),
    ("classic", "falcon", "falcon RefinedWeb RefinedWebModel"),
    ("classic", "phi", "phi phi-msft"),
    ("classic", "stablelm", "stablelm stablelm_epoch"),
    ("classic", "qwen", "qwen"),
    ("classic", "chatglm", "chatglm"),
    ("irregular", "nemotron_nas", "nemotron-nas deci"),
    ("irregular", "minimax_m3", "minimax_m3 minimax_m3_vl_text"),
    ("irregular", "step3p5", "step3p5 step3p5_text step3p7"),
    ("irregular", "mimo", "mimo"),
    ("irregular", "mimo_v2", "mimo_v2_flash mimo_v2"),
    ("irregular", "afmoe", "afmoe"),
)
_READERS = {name: (module, function) for module, function, names in _TABLE for name in names.split()}


def known_types() -> tuple[str, ...]:
    """Every ``model_type`` with a reader."""
    return tuple(sorted(_READERS))


def reader_name(model_type: str) -> tuple[str, str] | None:
    """Module and function of the reader of a ``model_type``, or None."""
    return _READERS.get(model_type)


@cache
def reader_of(model_type: str) -> Reader | None:
    """The reader of a ``model_type``, or None."""
    entry = _READERS.get(model_type)
    if entry is None:
        return None
    module = import_module(f"planner.catalog.importers.huggingface.families.{entry[0]}")
    reader: Reader = getattr(module, entry[1])
    return reader
