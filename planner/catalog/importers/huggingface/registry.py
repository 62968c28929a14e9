"""Which reader understands which ``model_type``; readers load when first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from planner.catalog.importers.huggingface.blocks import Draft
from planner.catalog.importers.huggingface.fields import Fields

Reader = Callable[[Fields, str], Draft]

_DENSE = """llama mistral ministral ministral3 Yi yi internlm internlm2 internlm3 aquila xverse baichuan granite smollm3
seed_oss qwen2 qwen2_vl_text qwen2_5_vl_text qwen2_vl qwen2_5_vl qwen2_audio_text qwen3 qwen3_vl_text hunyuan_v1_dense
gemma gemma2 gemma3_text vaultgemma phi3 olmo olmo2 olmo3 cohere cohere2 glm glm4 glm4v_text exaone exaone4 ernie4_5
helium arcee nemotron minicpm orion apertus starcoder2"""
_READERS: dict[str, tuple[str, str]] = {name: ("dense", "read") for name in _DENSE.split()}
_READERS |= {name: ("mixtures", "mixtral") for name in
             ("mixtral", "olmoe", "phimoe", "granitemoe", "granitemoeshared", "minimax_m2", "grok-1", "flex_olmo")}
_READERS |= {name: ("mixtures", "qwen_moe") for name in
             ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text")}
_READERS |= {name: ("mixtures", "deepseek_style") for name in
             ("deepseek", "glm4_moe", "dots1", "hy_v3", "exaone_moe", "solar_open", "glm4v_moe_text", "bailing_moe")}
_READERS |= {name: ("mixtures", "hunyuan") for name in ("hunyuan", "hunyuan_v1_moe")}
_READERS |= {name: ("latent", "deepseek") for name in
             ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite", "minicpm3",
              "youtu", "kimi_vl_text")}
_READERS |= {name: ("recurrent", "mamba") for name in ("mamba", "falcon_mamba")}
_READERS |= {name: ("recurrent", "granite_hybrid") for name in ("granitemoehybrid", "bamba")}
_READERS |= {name: ("linear", "qwen_next") for name in
             ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "qwen3_5", "qwen3_5_moe")}
_READERS |= {name: ("linear", "minimax") for name in ("minimax", "minimax_text_01", "minimax_m1")}
_READERS |= {name: ("classic", "gpt2") for name in ("gpt2", "gpt_bigcode")}
_READERS |= {name: ("classic", "gptj") for name in ("gptj", "codegen")}
_READERS |= {name: ("classic", "falcon") for name in ("falcon", "RefinedWeb", "RefinedWebModel")}
_READERS |= {name: ("classic", "phi") for name in ("phi", "phi-msft")}
_READERS |= {name: ("classic", "stablelm") for name in ("stablelm", "stablelm_epoch")}
_READERS |= {name: ("irregular", "step3p5") for name in ("step3p5", "step3p5_text")}
_READERS |= {name: ("irregular", "minimax_m3") for name in ("minimax_m3", "minimax_m3_vl_text")}
_READERS |= {
    "gpt_oss": ("mixtures", "gpt_oss"), "dbrx": ("mixtures", "dbrx"), "arctic": ("mixtures", "arctic"),
    "llama4_text": ("mixtures", "llama4"), "ernie4_5_moe": ("mixtures", "ernie"),
    "deepseek_v4": ("latent", "deepseek_v4"), "mamba2": ("recurrent", "mamba2"), "jamba": ("recurrent", "jamba"),
    "falcon_h1": ("recurrent", "falcon_h1"), "nemotron_h": ("recurrent", "nemotron_h"),
    "kimi_linear": ("linear", "kimi_linear"), "gemma3n_text": ("gemma", "gemma3n"), "gemma4_text": ("gemma", "gemma4"),
    "gpt_neo": ("classic", "gpt_neo"), "gpt_neox": ("classic", "gpt_neox"), "opt": ("classic", "opt"),
    "bloom": ("classic", "bloom"), "mpt": ("classic", "mpt"), "qwen": ("classic", "qwen"),
    "chatglm": ("classic", "chatglm"), "nemotron-nas": ("irregular", "nemotron_nas"),
    "deci": ("irregular", "nemotron_nas"), "mimo": ("irregular", "mimo"), "mimo_v2_flash": ("irregular", "mimo_v2"),
    "afmoe": ("irregular", "afmoe"),
}


def known_types() -> tuple[str, ...]:
    """Every ``model_type`` with a reader."""
    return tuple(sorted(_READERS))


@cache
def reader_of(model_type: str) -> Reader | None:
    """The reader of a ``model_type``, or None."""
    entry = _READERS.get(model_type)
    if entry is None:
        return None
    module = import_module(f"planner.catalog.importers.huggingface.families.{entry[0]}")
    reader: Reader = getattr(module, entry[1])
    return reader
