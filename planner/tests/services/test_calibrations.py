"""A calibration record laid over a chip's profile, and compared with its datasheet."""

import dataclasses

import pytest

from planner.catalog.chips import built_in_chips
from planner.catalog.loader import catalog_root
from planner.catalog.profiles import ProfileCatalog
from planner.core.errors import AdapterError, MissingFact, NotFound
from planner.services.calibrations import CalibratedProfiles, datasheet_comparison, overlay

H100 = built_in_chips().entry("h100-sxm-80gb").chip
PROFILES = ProfileCatalog(catalog_root() / "profiles")


def curve(kernel, dtype="bf16", **changes):
    parameters = {"launch_s": 5e-6, "serial_s": 6e-7, "growth_s": 1e-6, "per_sequence_s": 3e-8, "memory": 0.9,
                  "compute": 0.7, **changes}
    return {"kernel": kernel, "dtype": dtype, "bandwidth_bytes_per_s": 3.0e12, "peak_flop_per_s": 8e14,
            "parameters": parameters, "ramp": []}


def record(*curves):
    return {"measured_on": "2026-03-01T10:00:00+00:00", "device": {"name": "NVIDIA H100"}, "curves": list(curves),
            "ceilings": {"bandwidth_bytes_per_s": 3.015e12, "peak_flop_per_s": {"bf16": 7.4e14, "fp32": 5e13}}}


def base():
    return PROFILES.of(H100, "vllm", "auto", "default")


def test_measured_curves_replace_built_in_ones_as_shares_of_the_datasheet():
    made = overlay(base(), H100, record(curve("gemm"), curve("decode_attention"), curve("latent_attention"),
                                        curve("prompt_attention"), curve("norm")), "mine")
    assert made.id == "mine"
    assert made.measured_on == "2026-03-01"
    gemm = made.gemm_curve("bf16")
    assert gemm.memory == pytest.approx(0.9 * 3.0e12 / H100.bandwidth)
    assert gemm.compute == pytest.approx(0.7 * 8e14 / H100.peaks["bf16"])
    for kind in ("gqa", "mla"):
        assert made.decode_curve(kind).memory == pytest.approx(gemm.memory)
    assert made.decode_curve("gqa", "fp8") == base().decode_curve("gqa", "fp8") or "gqa:fp8" not in base().decode
    assert made.prompt_curve("gqa").compute == pytest.approx(gemm.compute)
    assert made.pointwise.memory == pytest.approx(gemm.memory)
    assert made.pointwise.layer_passes == base().pointwise.layer_passes
    assert made.overhead == base().overhead
    assert "NVIDIA H100" in made.source


def test_a_ramp_counts_at_its_largest_token_count_and_never_beats_the_datasheet():
    ramped = {**curve("gemm"), "ramp": [[1.0, 0.01], [512.0, 0.9]], "bandwidth_bytes_per_s": 9e12}
    made = overlay(base(), H100, record(ramped), "mine").gemm_curve("bf16")
    assert made.compute == pytest.approx(0.9 * 8e14 / H100.peaks["bf16"])
    assert made.memory == 1.0


def test_the_comparison_speaks_of_the_datasheet():
    lines = datasheet_comparison(H100, record())
    assert [line["ceiling"] for line in lines][:2] == ["memory bandwidth", "bf16 peak"]
    assert lines[0]["share"] == pytest.approx(3.015e12 / H100.bandwidth)
    assert lines[1]["share"] == pytest.approx(7.4e14 / H100.peaks["bf16"])


def test_only_what_applies_is_laid_over_and_nothing_is_an_error():
    with pytest.raises(MissingFact, match="holds no curve"):
        overlay(base(), H100, record(curve("gemm", dtype="bf8"), curve("sampling")), "mine")
    with pytest.raises(AdapterError, match="no curves"):
        overlay(base(), H100, {"measured_on": "x"}, "mine")


def test_a_stored_calibration_applies_by_id_and_only_to_its_sku():
    stored = {("w", "mine"): {"sku": "h100-sxm-80gb", "record": record(curve("gemm"))}}
    profiles = CalibratedProfiles(PROFILES, lambda workspace, name: stored.get((workspace, name)))
    assert profiles.of(H100, "vllm", "auto", "w").id == base().id
    assert profiles.of(H100, "vllm", "ideal", "w") is None
    assert profiles.of(H100, "vllm", "mine", "w").id == "mine"
    with pytest.raises(NotFound, match="No calibration is called 'mine'"):
        profiles.of(H100, "vllm", "mine", "other")
    with pytest.raises(MissingFact, match="was measured on h100-sxm-80gb"):
        profiles.of(dataclasses.replace(H100, id="h200-sxm-141gb"), "vllm", "mine", "w")


def test_without_a_profile_there_is_nothing_to_lay_it_over():
    class Nothing:
        def of(self, *_):
            return None

    profiles = CalibratedProfiles(Nothing(), lambda *_: {"record": record(curve("gemm"))})
    with pytest.raises(MissingFact, match="no efficiency profile"):
        profiles.of(H100, "vllm", "mine", "w")


def test_a_learned_reserve_is_laid_over_with_or_without_curves():
    learned = {"measured_on": "2026-03-02", "device": {"name": "H100"}, "memory": {"extra_reserve_bytes": 2.0**30}}
    alone = overlay(base(), H100, learned, "log")
    assert (alone.id, alone.extra_reserve, alone.gemm) == ("log", 2.0**30, base().gemm)
    assert "+1.00 GiB" in alone.source
    both = overlay(base(), H100, {**record(curve("gemm")), "memory": {"extra_reserve_bytes": 5.0}}, "both")
    assert both.extra_reserve == 5.0
    assert both.gemm != base().gemm
