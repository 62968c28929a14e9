"""Formats: effective bytes with scales, aliases, and the pipe a chip really runs them on."""

from __future__ import annotations

import pytest

from planner.core.errors import MissingFact, UnsupportedFormat
from planner.core.precision import cache_format, compute_pipe, weight_format
from planner.tests.build import A100, H100

BLACKWELL = {"bf16": 2.25e15, "fp16": 2.25e15, "fp8": 4.5e15, "fp4": 9e15}


@pytest.mark.parametrize(("name", "size"), [
    ("fp32", 4), ("bf16", 2), ("fp8", 1), ("fp8_block", 1 + 4 / 16384), ("w4a16", 4.15625 / 8), ("mxfp4", 4.25 / 8),
    ("nvfp4", 4.5 / 8), ("gguf:q4_k_m", 4.89 / 8), ("gguf:q8_0", 8.5 / 8), ("gguf:q5_k", 5.5 / 8)])
def test_effective_bytes_include_scales(name: str, size: float) -> None:
    assert weight_format(name).bytes_per_element == pytest.approx(size)


@pytest.mark.parametrize(("alias", "name"), [
    ("AWQ", "w4a16"), ("gptq", "w4a16"), ("int4", "w4a16"), ("int8 (w8a8)", "int8"), ("fp8_e4m3", "fp8"),
    ("bfloat16", "bf16"), (" FP8 ", "fp8"), ("fp4", "nvfp4")])
def test_aliases(alias: str, name: str) -> None:
    assert weight_format(alias).name == name


@pytest.mark.parametrize("text", ["fp7", "", "gguf:q9_z", "auto"])
def test_unknown_weight_formats_list_the_known(text: str) -> None:
    with pytest.raises(UnsupportedFormat) as refusal:
        weight_format(text)
    assert "Known" in str(refusal.value.hint)


def test_cache_formats() -> None:
    assert cache_format("FP8_E5M2").bytes_per_element == 1
    assert cache_format("nvfp4").bytes_per_element == pytest.approx(0.5625)
    with pytest.raises(UnsupportedFormat):
        cache_format("w4a16")


def test_w8a8_needs_fp8_units() -> None:
    assert compute_pipe(weight_format("fp8"), H100.peaks, "H100").pipe == "fp8"
    with pytest.raises(MissingFact) as refusal:
        compute_pipe(weight_format("fp8"), A100.peaks, "A100")
    assert refusal.value.fact == "peak_flop_per_s.fp8"
    assert "w8a16" in str(refusal.value.hint)


def test_weight_only_runs_at_the_16_bit_ceiling() -> None:
    for name in ("w8a16", "w4a16", "gguf:q4_k_m"):
        found = compute_pipe(weight_format(name), A100.peaks, "A100")
        assert (found.pipe, found.peak, found.weight_only) == ("bf16", 312e12, True)


def test_fp4_falls_back_to_weight_only_where_there_is_no_unit() -> None:
    native = compute_pipe(weight_format("nvfp4"), BLACKWELL, "B200")
    assert (native.pipe, native.weight_only) == ("fp4", False)
    fallback = compute_pipe(weight_format("nvfp4"), H100.peaks, "H100")
    assert (fallback.pipe, fallback.weight_only) == ("bf16", True)
    with pytest.raises(MissingFact):
        compute_pipe(weight_format("mxfp4"), {"fp32": 1e13}, "CPU")


def test_fp16_weights_use_whichever_half_pipe_exists() -> None:
    assert compute_pipe(weight_format("bf16"), {"fp16": 125e12}, "V100").pipe == "fp16"
