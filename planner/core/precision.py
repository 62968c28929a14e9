"""Number formats: bytes per element with scales, the ceiling they want, and what a chip really runs.

Effective bits include block scales: AWQ/GPTQ g128 = 4 + 16/128 + 4/128 = 4.15625; MXFP4 = 4 + 8/32; NVFP4 = 4 + 8/16;
fp8 with 128×128 blocks carries one fp32 scale per 16,384 elements.

References
----------
OCP Microscaling Formats (MX) v1.0, 2023, table 1 (MXFP4); NVIDIA, Introducing NVFP4, 2025 (block of 16, e4m3 scale);
Lin et al., AWQ, arXiv 2306.00978 (group 128); DeepSeek-V3, arXiv 2412.19437, §3.3 (128×128 blocks).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.errors import MissingFact, UnsupportedFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFormat:
    """How weights are stored and which multiply-add pipe their GEMMs want."""

    name: str
    bytes_per_element: float
    """[byte], scales included."""
    pipes: tuple[str, ...]
    """Peaks tried in order; the first the chip has is the ceiling."""
    activation_bytes: float = 2.0
    """[byte] per activation element entering the GEMM."""
    dynamic_quantisation: bool = False
    """Activations are quantised at run time before the GEMM."""
    weight_only_fallback: bool = False
    """Engines run it weight-only where the chip lacks the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFormat:
    """How K and V are stored; storage only, it needs no arithmetic units."""

    name: str
    bytes_per_element: float
    """[byte], scales included."""


_HALF = ("bf16", "fp16")

WEIGHT_FORMATS: Mapping[str, WeightFormat] = {f.name: f for f in (
    WeightFormat(name="fp32", bytes_per_element=4.0, pipes=("fp32",), activation_bytes=4.0),
    WeightFormat(name="fp16", bytes_per_element=2.0, pipes=("fp16", "bf16")),
    WeightFormat(name="bf16", bytes_per_element=2.0, pipes=_HALF),
    WeightFormat(name="fp8", bytes_per_element=1.0, pipes=("fp8",), activation_bytes=1.0, dynamic_quantisation=True),
    WeightFormat(name="fp8_block", bytes_per_element=1.0 + 4 / 128**2, pipes=("fp8",), activation_bytes=1.0,
                 dynamic_quantisation=True),
    WeightFormat(name="int8", bytes_per_element=1.0, pipes=("int8",), activation_bytes=1.0, dynamic_quantisation=True),
    WeightFormat(name="w8a16", bytes_per_element=1.0, pipes=_HALF),
    WeightFormat(name="w4a16", bytes_per_element=(4 + 16 / 128 + 4 / 128) / 8, pipes=_HALF),
    WeightFormat(name="w4a16_g64", bytes_per_element=(4 + 16 / 64) / 8, pipes=_HALF),
    WeightFormat(name="w4a16_g32", bytes_per_element=(4 + 16 / 32) / 8, pipes=_HALF),
    WeightFormat(name="mxfp4", bytes_per_element=(4 + 8 / 32) / 8, pipes=("fp4",), activation_bytes=(4 + 8 / 32) / 8,
                 dynamic_quantisation=True, weight_only_fallback=True),
    WeightFormat(name="nvfp4", bytes_per_element=(4 + 8 / 16) / 8, pipes=("fp4",), activation_bytes=(4 + 8 / 16) / 8,
                 dynamic_quantisation=True, weight_only_fallback=True),
)}

CACHE_FORMATS: Mapping[str, CacheFormat] = {f.name: f for f in (
    CacheFormat(name="fp32", bytes_per_element=4.0),
    CacheFormat(name="bf16", bytes_per_element=2.0),
    CacheFormat(name="fp16", bytes_per_element=2.0),
    CacheFormat(name="fp8", bytes_per_element=1.0),
    CacheFormat(name="int8", bytes_per_element=1.0),
    CacheFormat(name="nvfp4", bytes_per_element=0.5 + 1 / 16),
)}

_ALIASES = {
    "float32": "fp32", "f32": "fp32", "float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "bf16",
    "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8-e4m3": "fp8", "fp8e4m3": "fp8", "w8a8_fp8": "fp8", "w8a8-fp8": "fp8",
    "fp8-block": "fp8_block", "int4": "w4a16", "awq": "w4a16", "gptq": "w4a16", "int4_wo": "w4a16", "int4-awq": "w4a16",
    "awq_int4": "w4a16", "gptq_int4": "w4a16", "awq-int4": "w4a16", "gptq-int4": "w4a16", "awq_marlin": "w4a16",
    "gptq_marlin": "w4a16", "int4_awq": "w4a16", "int4_gptq": "w4a16", "w4a16_awq": "w4a16", "w4a16_mxfp4": "mxfp4",
    "int8 (w8a8)": "int8", "w8a8": "int8", "w8a8_int8": "int8", "int8_w8a8": "int8", "int8_wo": "w8a16", "fp4": "nvfp4",
    "w4a4": "nvfp4", "nvfp4_w4a4": "nvfp4",
}

# Effective bits per weight of llama.cpp types: ggml-common.h block layouts (block bytes * 8 / block elements).
GGUF_BITS: Mapping[str, float] = {
    "f32": 32.0, "f16": 16.0, "bf16": 16.0, "q8_0": 8.5, "q6_k": 6.5625, "q5_k": 5.5, "q5_0": 5.5, "q5_1": 6.0,
    "q4_k": 4.5, "q4_0": 4.5, "q4_1": 5.0, "q3_k": 3.4375, "q2_k": 2.625, "iq4_nl": 4.5, "iq4_xs": 4.25,
    "iq3_s": 3.4375, "iq3_xxs": 3.0625, "iq2_s": 2.5625, "iq2_xs": 2.3125, "iq2_xxs": 2.0625, "iq1_s": 1.5625,
    "iq1_m": 1.75, "mxfp4": 4.25,
}
# Whole-file mixes: bits per weight that llama.cpp's quantize table prints for an 8B Llama (README of tools/quantize).
GGUF_MIX_BITS: Mapping[str, float] = {
    "q2_k": 3.16, "q3_k_s": 3.64, "q3_k_m": 4.00, "q3_k_l": 4.30, "q4_k_s": 4.67, "q4_k_m": 4.89, "q5_k_s": 5.57,
    "q5_k_m": 5.70, "q6_k": 6.56, "q8_0": 8.50, "q4_0": 4.66, "q4_1": 5.14, "q5_0": 5.59, "q5_1": 6.06,
    "iq4_xs": 4.46, "iq4_nl": 4.68, "f16": 16.0, "bf16": 16.0, "f32": 32.0, "mxfp4": 4.25,
}


def weight_format(text: str) -> WeightFormat:
    """The weight format of that name, alias or ``gguf:<type>``.

    Parameters
    ----------
    text : str
        As a user or a config.json writes it; case does not matter.

    Returns
    -------
    WeightFormat
        The format with its effective bytes per element.

    Raises
    ------
    UnsupportedFormat
        The text names no known format.
    """
    key = text.strip().lower()
    key = _ALIASES.get(key, key)
    if key.startswith("gguf:"):
        kind = key.removeprefix("gguf:").strip()
        bits = GGUF_MIX_BITS.get(kind, GGUF_BITS.get(kind))
        if bits is None:
            raise UnsupportedFormat(f"GGUF type {kind!r} is not known.", hint="Known: " + ", ".join(GGUF_MIX_BITS))
        return WeightFormat(name=f"gguf:{kind}", bytes_per_element=bits / 8, pipes=_HALF)
    if key not in WEIGHT_FORMATS:
        raise UnsupportedFormat(f"Weight format {text!r} is not known.",
                                hint="Known: " + ", ".join(WEIGHT_FORMATS) + ", gguf:<type>, auto.")
    return WEIGHT_FORMATS[key]


def cache_format(text: str) -> CacheFormat:
    """The KV-cache format of that name or alias.

    Parameters
    ----------
    text : str
        As a user writes it; case does not matter.

    Returns
    -------
    CacheFormat
        The format with its effective bytes per element.

    Raises
    ------
    UnsupportedFormat
        The text names no known cache format.
    """
    key = text.strip().lower()
    key = _ALIASES.get(key, key)
    if key not in CACHE_FORMATS:
        raise UnsupportedFormat(f"KV cache format {text!r} is not known.",
                                hint="Known: " + ", ".join(CACHE_FORMATS) + ", auto.")
    return CACHE_FORMATS[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """The multiply-add pipe a format runs on, on one chip."""

    pipe: str
    peak: float
    """[FLOP/s], dense."""
    weight_only: bool
    """Weights are widened to 16 bit before the multiply."""


def compute_pipe(fmt: WeightFormat, peaks: Mapping[str, float], chip: str) -> Compute:
    """The ceiling a weight format runs under on a chip with these peaks.

    Parameters
    ----------
    fmt : WeightFormat
        The weights' format.
    peaks : mapping
        Dense peak [FLOP/s] by pipe name (bf16, fp8, ...).
    chip : str
        The chip's name, for the refusal.

    Returns
    -------
    Compute
        Pipe, dense peak and whether the format is only storage here.

    Raises
    ------
    MissingFact
        The chip publishes no peak for the format and engines do not fall back.
    """
    for pipe in fmt.pipes:
        if peaks.get(pipe):
            return Compute(pipe=pipe, peak=peaks[pipe], weight_only=fmt.activation_bytes > fmt.bytes_per_element)
    if fmt.weight_only_fallback:
        for pipe in _HALF:
            if peaks.get(pipe):
                return Compute(pipe=pipe, peak=peaks[pipe], weight_only=True)
    suggestion = "w8a16" if fmt.bytes_per_element >= 1 else "w4a16"
    raise MissingFact(f"{chip} has no {fmt.pipes[0]} units (no {fmt.pipes[0]} peak is published), so weights="
                      f"{fmt.name} has no compute ceiling there.", fact=f"peak_flop_per_s.{fmt.pipes[0]}",
                      hint=f"Use weights={suggestion} (weight-only, 16-bit compute).", pointer="/deployment/weights")
