"""Efficiency profiles resolve for every SKU and engine, say what they inherit, and refuse broken files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from planner.catalog.chips import built_in_chips
from planner.catalog.loader import catalog_root
from planner.catalog.profile_files import profile_text, write_profiles
from planner.catalog.profiles import ProfileCatalog, read_profile
from planner.core.errors import AdapterError, MissingFact, NotFound
from planner.core.precision import WEIGHT_FORMATS

ROOT = catalog_root() / "profiles"
CHIPS = built_in_chips()


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "generic"])
@pytest.mark.parametrize("sku", CHIPS.ids())
def test_every_sku_has_a_profile(sku: str, engine: str) -> None:
    profile = read_profile(ROOT, CHIPS.chip(sku), engine)
    assert profile.measured_on >= "2026"
    assert profile.source
    for fmt in WEIGHT_FORMATS:
        for weight_only in (False, True):
            assert 0 < profile.gemm_curve(fmt, weight_only=weight_only).memory <= 1
            assert 0 < profile.moe_curve(fmt, weight_only=weight_only, spread=True).compute <= 1
    assert profile.gemm_curve("gguf:q4_k_m").launch > 0
    for kind in ("gqa", "mla", "sparse", "index"):
        for cache in ("bf16", "fp16", "fp8", "int8", "nvfp4"):
            assert 0 < profile.decode_curve(kind, cache).memory <= 1
            assert profile.decode_curve(kind, cache).passes >= 1
            assert 0 < profile.prompt_curve(kind, cache).compute <= 1
    assert profile.recurrent_curve("linear").memory <= 1
    assert profile.recurrent_curve("ssm").memory <= 1
    assert set(profile.spread) == {"tpot_dense", "tpot_moe", "ttft"}


def test_inheritance_is_told() -> None:
    measured = read_profile(ROOT, CHIPS.chip("h100-sxm-80gb"), "vllm")
    assert "gemm.bf16" not in measured.inherited
    assert measured.inherited["overhead"].startswith("default/")
    relative = read_profile(ROOT, CHIPS.chip("h100-nvl-94gb"), "vllm")
    assert relative.inherited["gemm.bf16"] == "hopper/vllm"
    stranger = replace(CHIPS.chip("h100-sxm-80gb"), id="x", architecture="unheard-of")
    assert read_profile(ROOT, stranger, "vllm").inherited["gemm.bf16"] == "default/generic"


def test_a_curve_is_written_as_a_whole(tmp_path: Path) -> None:
    about = {"measured_on": "2026-11-29", "source": "a test"}
    for curve in ({"launch_s": 1e-6, "per_sequence_s": 2e-8}, {"launch_s": 3e-6, "passes": 2.0}):
        write_profiles(tmp_path, {("default", "generic"): {"decode.gqa:bf16": curve}}, **about)
    text = (tmp_path / "default" / "generic.toml").read_text(encoding="utf-8")
    assert "per_sequence_s" not in text  # a number of another form beside the new ones would be counted twice
    assert "launch_s = 3e-06" in text


def test_written_tables_join_those_already_there(tmp_path: Path) -> None:
    about = {"measured_on": "2026-11-29", "source": "a test"}
    first = {"gemm.fp8": {"launch_s": 1e-6}, "overhead": {"per_step_s": 1e-3}, "overhead.per_kind": {"mla_s": 2e-6}}
    write_profiles(tmp_path, {("default", "generic"): first}, **about)
    second = {"gemm.bf16": {"memory": 0.7}, "gather": {"link": 0.5}, "overhead": {"floor_scale": 0.7}}
    write_profiles(tmp_path, {("default", "generic"): second}, **about)
    text = (tmp_path / "default" / "generic.toml").read_text(encoding="utf-8")
    for line in ("launch_s = 1e-06", "memory = 0.7", "mla_s = 2e-06", "link = 0.5", "per_step_s = 0.001",
                 "floor_scale = 0.7"):
        assert line in text


def test_engines_without_files_get_the_generic_profile() -> None:
    chip = CHIPS.chip("a100-sxm-80gb")
    assert read_profile(ROOT, chip, "unheard-of").gemm == read_profile(ROOT, chip, "generic").gemm


def test_catalogue_names() -> None:
    catalog = ProfileCatalog(ROOT)
    chip = CHIPS.chip("h100-sxm-80gb")
    assert catalog.of(chip, "vllm", "ideal", "default") is None
    assert catalog.of(chip, "vllm", "auto", "default") is catalog.of(chip, "vllm", "auto", "default")
    with pytest.raises(NotFound):
        catalog.of(chip, "vllm", "mine", "default")


def test_written_profiles_read_back(tmp_path: Path) -> None:
    for name in ("generic", "vllm"):
        (tmp_path / "default").mkdir(exist_ok=True)
        (tmp_path / "default" / f"{name}.toml").write_text((ROOT / "default" / f"{name}.toml").read_text())
    written = write_profiles(
        tmp_path,
        {
            ("hopper", "vllm"): {
                "gemm.bf16": {"launch_s": 1.25e-6, "memory": 0.8123456},
                "decode.gqa:bf16": {"memory": 0.5},
            }
        },
        measured_on="2026-11-29",
        source="a test",
    )
    assert [p.name for p in written] == ["vllm.toml"]
    profile = read_profile(tmp_path, CHIPS.chip("h100-sxm-80gb"), "vllm")
    assert profile.gemm["bf16"].launch == 1.25e-6
    assert profile.gemm["bf16"].memory == 0.8123
    assert profile.decode["gqa:bf16"].memory == 0.5
    assert (
        profile.gemm["bf16"].serial
        == read_profile(ROOT, replace(CHIPS.chip("h100-sxm-80gb"), id="x", architecture="y"), "vllm")
        .gemm["bf16"]
        .serial
    )
    assert profile.inherited["gemm.fp8"] == "default/generic"


@pytest.mark.parametrize(
    "text", ["not toml [", '[about]\nmeasured_on = "2026-01-01"\nsource = "x"\n[gemm.bf16]\nlanch_s = 1']
)
def test_broken_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "default").mkdir()
    (tmp_path / "default" / "generic.toml").write_text((ROOT / "default" / "generic.toml").read_text())
    (tmp_path / "hopper").mkdir()
    (tmp_path / "hopper" / "vllm.toml").write_text(text)
    with pytest.raises(AdapterError):
        read_profile(tmp_path, CHIPS.chip("h100-sxm-80gb"), "vllm")


def test_text_quotes_what_toml_needs_quoted() -> None:
    text = profile_text({"decode.gqa:fp8": {"launch_s": 2e-6}}, measured_on="2026-11-29", source="a test")
    assert '[decode."gqa:fp8"]\nlaunch_s = 2e-06' in text


def test_moe_refuses_without_a_table() -> None:
    profile = replace(read_profile(ROOT, CHIPS.chip("h100-sxm-80gb"), "vllm"), moe={})
    with pytest.raises(MissingFact):
        profile.moe_curve("bf16")
