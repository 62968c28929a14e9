"""What the labels of benchmark files mean: engines, formats, KV caches, accelerators."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.core.errors import UnsupportedFormat
from planner.core.precision import weight_format

_ENGINES: tuple[tuple[str, str], ...] = (("vllm", "vllm"), ("sglang", "sglang"), ("tensorrt", "trtllm"),
                                         ("trt", "trtllm"))
# Runtimes that widen integer weights to 16 bit before the multiply (their own documentation of quantised models).
_WEIGHT_ONLY_RUNTIMES = ("gpt-fast", "llama.cpp", "exllama", "tinychat", "mlc")
_FORMATS: Mapping[str, str] = {"": "bf16", "int4_wo": "w4a16", "int8_wo": "w8a16"}
_GROUPED = re.compile(r"^(?:awq|gptq)-int(\d)(?:-g\d+)?$")
_ASSUMED = re.compile(r"\s*\(.*\)$")
_SKUS: Mapping[str, str] = {
    "rtxpro6000-bse": "rtx-pro-6000-server-96gb", "gh200-480gb": "gh200-96gb", "rtx4090": "rtx-4090-24gb",
    "rtx3090": "rtx-3090-24gb", "rtx3090ti": "rtx-3090-ti-24gb", "rtxa6000": "rtx-a6000-48gb",
    "rtx6000ada": "rtx-6000-ada-48gb", "rtx5000ada": "rtx-5000-ada-32gb", "rtx4000ada": "rtx-4000-ada-20gb",
    "jetsonagxorin-64gb": "jetson-agx-orin-64gb", "gb10": "dgx-spark-128gb",
}
_UNKNOWN_CACHE = ("", "auto")


def engine_of(label: str) -> str:
    """The planner's engine behind a file's label; runtimes it does not know are generic."""
    low = label.lower()
    return next((engine for part, engine in _ENGINES if part in low), "generic")


def weights_of(label: str, engine_label: str) -> str:
    """The planner's weight format behind a file's label; refused by name where there is none."""
    text = _ASSUMED.sub("", label.strip().lower())
    text = _FORMATS.get(text, text)
    grouped = _GROUPED.match(text)
    if grouped:
        text = "w4a16" if grouped.group(1) == "4" else "w8a16"
    if text.startswith("gguf-"):
        text = f"gguf:{text.removeprefix('gguf-')}"
    if text.startswith("int4"):
        text = "w4a16"
    if text == "int8" and any(name in engine_label.lower() for name in _WEIGHT_ONLY_RUNTIMES):
        text = "w8a16"
    if text.startswith("exl2"):
        raise UnsupportedFormat(f"Weight format {label!r} mixes widths per tensor.", hint="EXL2 is not modelled.")
    return weight_format(text).name


def cache_of(label: str) -> str:
    """The KV format a file states; ``auto`` where it does not."""
    text = label.strip().lower()
    if "fp8" in text:
        return "fp8"
    return "auto" if text in _UNKNOWN_CACHE or text.startswith("auto") else _ASSUMED.sub("", text)


def sku_of(label: str) -> str:
    """A name the catalogue resolves, from a file's accelerator label."""
    return _SKUS.get(label.strip().lower(), label.strip())


def unstated_cache(*, engine: str, weights: str, tuned: bool, native_fp4: bool) -> str:
    """The KV format of a run that does not state one.

    NVIDIA's quantised checkpoints for TensorRT-LLM declare an fp8 cache (kv_cache_quant_algo in hf_quant_config.json);
    the tuned vLLM recipes of dated public runs on fp4 chips set one; everything else keeps 16 bit.
    """
    quantised = weights not in {"bf16", "fp16", "fp32"}
    if quantised and (engine == "trtllm" or (engine == "vllm" and tuned and native_fp4)):
        return "fp8"
    return "auto"
