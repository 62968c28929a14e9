"""Faults reported against public sizing tools, as tests of the kind of fault; each with its thread as source."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planner.catalog.importers.huggingface import read_config
from planner.catalog.models import built_in_models
from planner.core.architecture.cache import (
    bytes_per_token,
    cache_bytes,
    expanded_elements_per_token,
    first_bytes_per_token,
)
from planner.core.architecture.model import Model
from planner.core.architecture.parameters import count_parameters
from planner.core.architecture.parts import Module
from planner.core.precision import weight_format

_GIB = 2**30
_BF16, _FP8, _Q8_0 = 2.0, 1.0, 34 / 32  # bytes per cache element; q8_0 keeps an fp16 scale per 32


def _model(name: str) -> Model:
    return built_in_models().model(name)


def _total(name: str) -> int:
    return count_parameters(_model(name)).total


def _weights(model: Model) -> float:
    """Bytes of the language model in its own scheme, by kind of module."""
    counts = count_parameters(model)
    return sum(number * weight_format(model.scheme.of(Module(kind))).bytes_per_element
               for kind, number in counts.modules.items())


_CASES: tuple[tuple[str, str, Callable[[], float], float, float], ...] = (
    ("head_dim is declared, not hidden / heads", "https://github.com/LMCache/LMCache/issues/688",
     lambda: first_bytes_per_token(_model("qwen/qwen3-4b"), _BF16), 147_456, 0),
    ("head_dim is declared, not hidden / heads", "https://github.com/NVIDIA/Model-Optimizer/issues/2482",
     lambda: first_bytes_per_token(_model("mistralai/mistral-small-24b-instruct-2501"), _BF16), 163_840, 0),
    ("head_dim is declared, all layers full", "https://github.com/ai-dynamo/dynamo/pull/14431",
     lambda: first_bytes_per_token(_model("google/gemma-2-9b"), _BF16), 344_064, 0),
    ("grouped queries share keys", "https://github.com/jranaraki/vllm-fit/issues/2",
     lambda: first_bytes_per_token(_model("meta-llama/llama-3.1-8b"), _BF16), 131_072, 0),
    ("weight format does not set the cache's", "https://github.com/vllm-project/vllm/issues/22291",
     lambda: cache_bytes(_model("qwen/qwen2.5-7b-instruct"), 3072, _BF16), 176_160_768, 0),
    ("grouped queries share keys",
     "https://www.peakinfer.com/blog/what-changes-when-100-users-hit-your-llm",
     lambda: cache_bytes(_model("meta-llama/llama-2-70b-hf"), 2048, _BF16) / _GIB, 0.625, 0.001),
    ("cache does not scale with weight bytes", "https://hn.jakechampion.name/reader/https://selfhostllm.org",
     lambda: cache_bytes(_model("meta-llama/llama-2-7b-hf"), 8192, _BF16) / _GIB, 4.0, 0.001),
    ("cache does not scale with weight bytes", "https://hn.jakechampion.name/reader/https://selfhostllm.org",
     lambda: cache_bytes(_model("meta-llama/llama-3.1-8b"), 8192, _BF16) / _GIB, 1.0, 0.001),
    ("cache does not scale with weight bytes", "https://hn.jakechampion.name/reader/https://selfhostllm.org",
     lambda: cache_bytes(_model("qwen/qwen2.5-7b"), 8192, _BF16) / _GIB, 0.44, 0.02),
    ("one latent, rotary part included", "https://github.com/LMCache/LMCache/pull/694",
     lambda: bytes_per_token(_model("deepseek-ai/deepseek-v3"), _BF16), 70_272, 0),
    ("latent cache at 64k", "https://github.com/gpustack/gguf-parser-go/issues/8",
     lambda: cache_bytes(_model("deepseek-ai/deepseek-v3"), 65_536, _BF16) / _GIB, 4.29, 0.01),
    ("expanded heads at 64k", "https://github.com/gpustack/gguf-parser-go/issues/8",
     lambda: expanded_elements_per_token(_model("deepseek-ai/deepseek-v3")) * 2 * 65_536 / _GIB, 305.0, 0.01),
    ("expanded keys are wider than values", "https://github.com/ollama/ollama/issues/5136",
     lambda: expanded_elements_per_token(_model("deepseek-ai/deepseek-v2-lite")) * 2 * 32_768 / 2**20, 8640, 0),
    ("latent is repeated on every rank", "https://github.com/vllm-project/recipes/pull/115",
     lambda: 46.80 * _GIB / bytes_per_token(_model("moonshotai/kimi-k2-instruct"), _BF16), 715_072, 0.01),
    ("packed fp8 latent and index keys", "https://github.com/sgl-project/sglang/pull/11309",
     lambda: cache_bytes(_model("deepseek-ai/deepseek-v3.2"), 1_462_784, _FP8) / _GIB, 65.48, 0.01),
    ("only full layers grow", "https://github.com/gpustack/gpustack/issues/2101",
     lambda: bytes_per_token(_model("google/gemma-3-27b-it"), _Q8_0) * 128_000 / _GIB, 5.2, 0.01),
    ("a window stops growing", "https://github.com/ai-dynamo/aiconfigurator/pull/1201",
     lambda: cache_bytes(_model("google/gemma-3-27b-it"), 32_768, _BF16) / _GIB, 2.91, 0.05),
    ("linear layers keep no keys", "https://github.com/noonghunna/club-3090/issues/46",
     lambda: bytes_per_token(_model("qwen/qwen3.6-27b"), _BF16) / 2, 32_768, 0),
    ("linear layers keep no keys", "https://github.com/tobocop2/lilbee/pull/721",
     lambda: cache_bytes(_model("qwen/qwen3.6-27b"), 65_536, _Q8_0) / _GIB, 2.12, 0.01),
    ("every expert is resident", "https://github.com/AlexsJones/llmfit/pull/497",
     lambda: _total("deepseek-ai/deepseek-v3") * 0.58 / 1e9, 389, 0.05),
    ("every expert is resident", "https://hn.jakechampion.name/reader/https://selfhostllm.org",
     lambda: _total("mistralai/mixtral-8x7b-v0.1") * 2 / 1e9, 93.4, 0.02),
    ("experts multiply the MLP", "https://github.com/jranaraki/vllm-fit/issues/27",
     lambda: _total("mistralai/mixtral-8x7b-v0.1") / 1e9, 46.7, 0.01),
    ("whole model", "https://github.com/huggingface/accelerate/issues/3379",
     lambda: _total("meta-llama/llama-3.1-70b") * 2 / 1e9, 141.1, 0.01),
    ("fp8 cache halves a token", "https://github.com/llm-d-incubation/llm-d-planner/pull/205",
     lambda: 58.53 * _GIB / bytes_per_token(_model("qwen/qwen2.5-7b"), _FP8), 2_192_000, 0.01),
    ("trained context", "https://github.com/llm-d-incubation/llm-d-planner/pull/205",
     lambda: float(_model("microsoft/phi-2").context_trained or 0), 2048, 0),
    ("four heads a rank at TP2", "https://github.com/eugr/spark-vllm-docker/issues/396",
     lambda: bytes_per_token(_model("minimaxai/minimax-m2.7"), _BF16) / 2 * 196_608 / _GIB, 23.25, 0.001),
    ("text cache of a vision model", "index:6775121577",
     lambda: 38.41 * _GIB / (bytes_per_token(_model("qwen/qwen3-vl-8b-instruct"), _BF16) / 2), 559_232, 0.001),
    ("q8_0 cache", "https://github.com/ollama/ollama/issues/10128",
     lambda: cache_bytes(_model("qwen/qwen2.5-7b-instruct"), 262_144, _Q8_0) / _GIB, 7.44, 0.01),
    ("405B in bf16", "https://github.com/ai-dynamo/aiconfigurator/pull/509",
     lambda: _total("meta-llama/llama-3.1-405b") * 2 / 1e9, 811.7, 0.001),
    ("cache of one request", "https://github.com/vllm-project/vllm/issues/19148",
     lambda: cache_bytes(_model("qwen/qwen2.5-7b-instruct"), 70_000, _BF16) / _GIB, 3.74, 0.002),
)


@pytest.mark.parametrize(("fault", "thread", "ours", "right", "tolerance"), _CASES,
                         ids=[f"{index}-{case[0]}" for index, case in enumerate(_CASES)])
def test_right_answer(fault: str, thread: str, ours: Callable[[], float], right: float, tolerance: float) -> None:
    assert thread
    assert ours() == pytest.approx(right, rel=tolerance, abs=1e-9), fault


def test_run_time_fp8_keeps_embedding_and_head_wide() -> None:
    # https://github.com/llm-d-incubation/llm-d-planner/pull/205: 8.49 GiB loaded, not 14.96.
    config = dict(built_in_models().record("meta-llama/llama-3.1-8b")["config"])
    model = read_config({**config, "quantization_config": {"quant_method": "fp8"}}, id="x")
    assert _weights(model) / _GIB == pytest.approx(8.49, rel=0.02)


def test_partly_quantised_checkpoint() -> None:
    # https://www.robotmunki.com/pages/vllm-startup-log-annotated.html: only MLPs are four bits wide; 31.18 GiB were
    # logged, of which the weights themselves are 30.4.
    config = dict(built_in_models().record("google/gemma-4-31b")["config"])
    layers = range(60)
    quantised = {"quant_method": "modelopt", "quant_algo": "NVFP4",
                 "ignore": ["lm_head", *(f"model.language_model.layers.{i}.self_attn*" for i in layers)]}
    model = read_config({**config, "quantization_config": quantised}, id="x")
    tower = built_in_models().record("google/gemma-4-31b")["towers"][0]["parameters"]
    assert model.scheme.of(Module.MLP) == "nvfp4"
    assert model.scheme.of(Module.ATTENTION) == "bf16"
    assert (_weights(model) + 2 * tower) / _GIB == pytest.approx(30.4, rel=0.01)


def test_active_parameters_are_not_memory() -> None:
    counts = count_parameters(_model("deepseek-ai/deepseek-v3"))
    assert counts.active < counts.total / 15
