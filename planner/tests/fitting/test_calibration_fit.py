"""Synthetic kernels with known curves are recovered, and what cannot be fitted is refused."""

import dataclasses

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.fitting.calibration import fit_curve
from planner.core.fitting.calibration_forms import Ceilings, form_of
from planner.core.fitting.kernel_points import KernelPoint, columns
from planner.core.fitting.plausibility import plausibility

CEILINGS = Ceilings(bandwidth=3e12, peak=9e14)
SHAPES = [(4096, 4096), (28672, 4096), (4096, 14336), (8192, 8192), (6144, 4096), (2560, 8192), (14336, 8192)]


def timed(points, truth, noise=0.0):
    """Give points the times of a curve with known parameters."""
    x, _ = columns([dataclasses.replace(p, seconds=1.0) for p in points])
    seconds = form_of(points[0].kernel).evaluate({k: np.asarray(v) for k, v in truth.items()}, x, CEILINGS)
    seconds = seconds * np.exp(noise * np.random.default_rng(3).standard_normal(len(points)))
    return [dataclasses.replace(p, seconds=float(s)) for p, s in zip(points, seconds, strict=True)]


def gemms(tokens=(2, 8, 32, 128, 256, 512, 1024, 4096)):
    return [KernelPoint(kernel="gemm", dtype="bf16", shape=f"{n}x{k}", work=2.0 * m * n * k, seconds=0.0,
                        traffic=2.0 * (n * k + m * (n + k)), tokens=float(m), inputs=float(k))
            for n, k in SHAPES for m in tokens]


def decodes():
    return [KernelPoint(kernel="decode_attention", dtype="bf16", shape=f"{h}:{b}x{c}", family=str(h), seconds=0.0,
                        work=4.0 * b * c * h * 128, traffic=4.0 * b * c * 8 * 128, io_traffic=512.0 * b * h,
                        tokens=float(b), context=float(c))
            for h in (32, 256) for b in (1, 4, 16, 64, 256) for c in (512, 2048, 8192, 32768)]


TRUTH = {
    "gemm": {"launch_s": 6e-6, "serial_s": 7e-7, "memory": 0.88, "compute": 0.72},
    "decode_attention": {"launch_s": 9e-6, "growth_s": 1.5e-6, "per_sequence_s": 4e-8, "memory": 0.9, "compute": 0.5},
}


@pytest.mark.parametrize(("kernel", "points"), [("gemm", gemms()), ("decode_attention", decodes())])
def test_known_parameters_come_back_within_two_percent(kernel, points):
    curve = fit_curve(timed(points, TRUTH[kernel]), CEILINGS)
    for name, value in TRUTH[kernel].items():
        assert curve.parameters[name] == pytest.approx(value, rel=0.02), name
        low, high = curve.intervals[name]
        assert low <= curve.parameters[name] <= high
    assert curve.median_error < 1e-3
    assert curve.left_out_error < 5e-3
    assert curve.ramp == ()  # one share explains it, so no ramp


def test_rates_come_back_within_two_percent_from_noisy_times():
    curve = fit_curve(timed(gemms(), TRUTH["gemm"], noise=0.02), CEILINGS)
    for name in ("memory", "compute"):
        assert curve.parameters[name] == pytest.approx(TRUTH["gemm"][name], rel=0.02)
        low, high = curve.intervals[name]
        assert low <= TRUTH["gemm"][name] <= high
    assert 0.005 < curve.left_out_error < 0.04


def test_a_share_that_follows_tokens_becomes_a_ramp():
    points = gemms((2, 4, 8, 16, 32, 64, 128, 512))
    by_tokens = {2: 0.002, 4: 0.003, 8: 0.006, 16: 0.02, 32: 0.05, 64: 0.1, 128: 0.2, 512: 0.7}
    ready = []
    for p in points:
        ready += timed([p], {**TRUTH["gemm"], "compute": by_tokens[int(p.tokens)]})
    curve = fit_curve(ready, CEILINGS)
    assert [n for n, _ in curve.ramp] == sorted(by_tokens)
    for tokens, share in curve.ramp:
        assert share == pytest.approx(by_tokens[int(tokens)], rel=0.02)
    x, seconds = columns(ready)
    assert curve.time(x) == pytest.approx(seconds, rel=0.02)


def test_pointwise_finds_the_cache_boundary():
    points = [KernelPoint(kernel="norm", dtype="fp32", shape=f"norm:{n}", work=0.0, traffic=8e3 * n, seconds=0.0,
                          resident=True) for n in (1, 3, 10, 30, 100, 200, 400, 700, 1000, 2000, 4000)]
    truth = {"launch_s": 3e-8, "memory": 0.8, "cache_bytes": 2e6, "spill": 0.2}
    curve = fit_curve(timed(points, truth), CEILINGS)
    for name, value in truth.items():
        assert curve.parameters[name] == pytest.approx(value, rel=0.02), name


def test_the_prompt_and_gemv_forms_recover():
    prompts = [KernelPoint(kernel="prompt_attention", dtype="bf16", shape=str(t), work=2.0 * t * t * 8192,
                           traffic=20480.0 * t, tokens=float(t), seconds=0.0) for t in (64, 128, 512, 2048, 8192)]
    truth = {"launch_s": 1e-5, "memory": 0.3, "compute": 0.6}
    assert fit_curve(timed(prompts, truth), CEILINGS).parameters["compute"] == pytest.approx(0.6, rel=0.02)
    vectors = [dataclasses.replace(p, kernel="gemv") for p in gemms((1,))]
    truth = {"launch_s": 4e-6, "serial_s": 2e-7, "memory": 0.9}
    assert fit_curve(timed(vectors, truth), CEILINGS).parameters["memory"] == pytest.approx(0.9, rel=0.02)


def test_refusals():
    with pytest.raises(MissingFact, match="too few"):
        fit_curve(timed(gemms((2,))[:3], TRUTH["gemm"]), CEILINGS)
    with pytest.raises(MissingFact, match="No calibration curve"):
        fit_curve([dataclasses.replace(gemms()[0], kernel="teleport", seconds=1.0)], CEILINGS)
    with pytest.raises(InvalidQuantity, match="at least one"):
        columns([])
    with pytest.raises(InvalidQuantity, match="seconds"):
        columns([gemms()[0]])


def test_two_shapes_leave_nothing_out():
    points = [p for p in gemms() if p.shape in ("4096x4096", "8192x8192")]
    curve = fit_curve(timed(points, TRUTH["gemm"]), CEILINGS)
    assert curve.left_out == ()
    assert curve.left_out_error is None
    assert curve.left_out_p90 is None


def test_gates_name_what_is_impossible():
    good = timed(gemms((2, 64)), TRUTH["gemm"])
    p = good[2]
    faster = dataclasses.replace(p, seconds=p.traffic / CEILINGS.bandwidth * 0.9)
    magic = dataclasses.replace(good[1], work=1e18)
    slow = dataclasses.replace(good[0], seconds=good[0].seconds * 50)
    tiny = KernelPoint(kernel="norm", dtype="bf16", shape="t", work=0.0, traffic=10.0, seconds=2e-6)
    resident = KernelPoint(kernel="norm", dtype="int8", shape="r", work=0.0, traffic=1e9, seconds=2e-6, resident=True)
    reasons = plausibility([faster, magic, slow, tiny, resident, good[-2]], bandwidth=CEILINGS.bandwidth,
                           peaks={"bf16": CEILINGS.peak}, launch=3e-6)
    assert reasons == ("above_memory_ceiling", "above_compute_ceiling", "not_monotone", "launch_floor", None, None)
