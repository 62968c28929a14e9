"""The suite on a scripted timer: real kernels and checks, known times; and whatever can stop it."""

import dataclasses

import pytest
import torch

from planner.calibration import record, suite
from planner.calibration.device import open_device
from planner.calibration.kernels.attention import Heads
from planner.calibration.kernels.gemm import Shape
from planner.calibration.plan import Grid, grid_for
from planner.calibration.suite import Suite, device_lost
from planner.calibration.timing import Patience
from planner.core.errors import MissingFact
from planner.schemas.calibration import CalibrationRecord

GRID = Grid(dtypes=("fp32", "bf16"), attention_dtypes=("fp32", "bf16"), tokens=(1, 4, 64), vectors=(),
            shapes=(Shape(name="a", outputs=96, inputs=64), Shape(name="b", outputs=64, inputs=128)),
            decode=((1, 64), (2, 128)), heads=(Heads(query=4, cached=2, key_dim=16, value_dim=16),),
            latents=(Heads(query=4, cached=1, key_dim=24, value_dim=16, latent=True),), prompts=(8, 16), widths=(64,),
            rows=(1, 8), vocabularies=(100,), stream_bytes=4e5)


def small_device():
    return dataclasses.replace(open_device("cpu"), cache_bytes=2.0**20, free_bytes=64 * 2.0**20)


def execute(fake_timer, budget=1e6, progress=lambda *_: None, **how):
    timer = fake_timer(**how)
    return Suite(small_device(), GRID, budget_s=budget, patience=Patience(samples_max=8), timer=timer,
                 progress=progress, clock=timer.clock).execute()


def test_every_kernel_is_checked_and_timed(fake_timer):
    labels = []
    run = execute(fake_timer, progress=lambda _done, _total, label: labels.append(label))
    assert run.partial is None
    assert run.skipped == []
    kinds = {m.point.kernel for m in run.measurements}
    assert kinds == {"stream", "gemv", "gemm", "decode_attention", "latent_attention", "prompt_attention", "norm",
                     "rotary", "activation", "residual", "sampling"}
    assert all(m.timing.seconds == 1e-3 for m in run.measurements)
    assert len(labels) == len(run.measurements)
    assert set(run.ways) == {f"{k}:{d}" for k in ("decode_attention", "latent_attention") for d in ("fp32", "bf16")}
    assert run.launch_s == 1e-3


def test_a_used_up_budget_keeps_what_was_measured_and_says_so(fake_timer):
    run = execute(fake_timer, budget=0.5)
    assert "time budget" in run.partial
    assert run.measurements
    assert any("no time left" in reason for _, reason in run.skipped)


def test_an_interrupt_keeps_what_was_measured(fake_timer):
    def stop(done, _total, _label):
        if done == 9:
            raise KeyboardInterrupt

    run = execute(fake_timer, progress=stop)
    assert run.partial == "interrupted by the user"
    assert len(run.measurements) == 9
    document = record.document(run, quick=True, fitted=[], missing=[])
    assert CalibrationRecord.model_validate(document).partial == "interrupted by the user"


def test_a_lost_device_keeps_what_was_measured(fake_timer, monkeypatch):
    real, count = suite.verify_result, iter(range(1000))

    def check(label, ready):
        if next(count) == 20:
            raise RuntimeError("CUDA error: the GPU is lost\nmore")
        real(label, ready)

    monkeypatch.setattr(suite, "verify_result", check)
    run = execute(fake_timer)
    assert run.partial == "the device failed: CUDA error: the GPU is lost"
    assert run.measurements


@pytest.mark.parametrize(("error", "reason"), [
    (torch.OutOfMemoryError("12 GiB"), "out of memory"), (MemoryError(), "out of memory"),
    (NotImplementedError("no kernel\nfor this"), "no kernel"), (RuntimeError("bad size"), "bad size"),
    (ValueError(), "ValueError")])
def test_one_failing_kernel_is_skipped_with_its_reason(fake_timer, monkeypatch, error, reason):
    real = suite.verify_result

    def check(label, ready):
        if label == "GEMM fp32 4×64→96":
            raise error
        real(label, ready)

    monkeypatch.setattr(suite, "verify_result", check)
    run = execute(fake_timer)
    assert run.partial is None
    assert run.skipped == [("GEMM fp32 4×64→96", reason)]


def test_a_wrong_kernel_is_not_timed(fake_timer, monkeypatch):
    monkeypatch.setattr("planner.calibration.kernels.pointwise.KERNELS",
                        {"residual": lambda x, y: x + y * float("nan")})
    run = execute(fake_timer)
    assert not [m for m in run.measurements if m.point.kernel == "residual"]
    assert all("float64 reference" in reason for _, reason in run.skipped)
    assert run.skipped


def test_device_loss_is_told_from_a_kernel_that_is_not_possible():
    assert device_lost(RuntimeError("CUDA error: an illegal memory access was encountered"))
    assert not device_lost(RuntimeError("self.size(0) needs to be greater than 16"))


def scripted(run):
    """Times that follow simple ceilings: 10 GB/s, 100 GFLOP/s, 1 µs."""
    rows = [dataclasses.replace(m, point=dataclasses.replace(
        m.point, seconds=(t := 1e-6 + m.point.traffic / 1e10 + m.point.work / 1e11)),
        timing=dataclasses.replace(m.timing, seconds=t, low=t, high=t)) for m in run.measurements]
    return dataclasses.replace(run, measurements=rows)


def test_the_record_says_what_was_reached(fake_timer):
    run = scripted(execute(fake_timer))
    fitted, missing = record.curves(run)
    document = record.document(run, quick=True, fitted=fitted, missing=missing)
    model = CalibrationRecord.model_validate(document)
    assert model.ceilings.bandwidth_bytes_per_s == pytest.approx(1e10, rel=0.2)
    assert set(model.ceilings.streams_bytes_per_s) == {"sum", "max", "copy", "triad"}
    assert {"fp32", "bf16"} == set(model.ceilings.peak_flop_per_s)
    assert any("too few" in s["reason"] for s in model.skipped)
    assert model.left_out_median_error is None or model.left_out_median_error < 0.5


def test_a_noisy_machine_is_said(fake_timer):
    run = dataclasses.replace(execute(fake_timer), others=0.4)
    verdict = record.noise(run)
    assert verdict["noisy"]
    assert "40% of the processors" in verdict["reason"]
    quiet = record.noise(dataclasses.replace(run, others=0.0))
    assert quiet["reason"] is None
    shared = dataclasses.replace(run, others=None, device=dataclasses.replace(run.device, other_processes=2))
    assert "2 other processes" in record.noise(shared)["reason"]
    disturbed = execute(fake_timer, disturbed=lambda _: True)
    assert "could not be timed undisturbed" in record.noise(disturbed)["reason"]
    assert {reason for _, reason in record.judged(disturbed)} == {"disturbed"}
    wild = execute(fake_timer, seconds=lambda i: 1e-3 * (1 + i % 7))
    assert "scatter" in record.noise(wild)["reason"]


def test_nothing_timed_is_a_missing_fact(fake_timer):
    run = execute(fake_timer)
    run.measurements.clear()
    with pytest.raises(MissingFact, match="no memory ceiling"):
        record.curves(run)


@pytest.mark.parametrize("quick", [True, False])
def test_grids_of_gpus(quick):
    hopper = dataclasses.replace(small_device(), spec="cuda:0", capability=(9, 0))
    ampere = dataclasses.replace(small_device(), spec="cuda:0", capability=(8, 0))
    assert "fp8" in grid_for(hopper, quick=quick).dtypes
    assert "fp8" not in grid_for(ampere, quick=quick).dtypes
    extra = (Shape(name="x", outputs=8, inputs=8),)
    assert grid_for(small_device(), quick=quick, extra=extra).shapes[-1] == extra[0]
