"""Steps of a small transformer: what they are made of, what is predicted, and the verdict."""

import dataclasses

import pytest
import torch

from planner.calibration import verify as verification
from planner.calibration.device import open_device
from planner.calibration.kernels import attention
from planner.calibration.kernels.attention import Heads
from planner.calibration.suite import Run
from planner.calibration.timing import Patience, Timing
from planner.calibration.transformer import Sizes, Transformer
from planner.calibration.verify import Step, Verdict, operators, predict, report, steps_for
from planner.core.errors import MissingFact
from planner.core.fitting.calibration import CalibratedCurve
from planner.core.fitting.calibration_forms import FORMS, Ceilings

HEADS = Heads(query=4, cached=2, key_dim=16, value_dim=16)
DENSE = Sizes(name="dense", hidden=64, intermediate=96, layers=2, vocabulary=100, heads=HEADS)
MOE = dataclasses.replace(DENSE, name="moe", experts=4, experts_per_token=2)


def flat_curves(dtype="fp32"):
    """Curves of a machine with 1 GB/s and 1 GFLOP/s and no floors."""
    values = {"launch_s": 1e-12, "serial_s": 1e-15, "growth_s": 1e-15, "per_sequence_s": 1e-15, "memory": 1.0,
              "compute": 1.0, "cache_bytes": 1e12, "spill": 1e6}
    return [CalibratedCurve(kernel=name, dtype="fp32" if name == "sampling" else dtype, intervals={}, ramp=(), points=9,
                            ceilings=Ceilings(bandwidth=1e9, peak=1e9), median_error=0.0, left_out=(),
                            parameters={p.name: values[p.name] for p in form.parameters})
            for name, form in FORMS.items()]


def test_a_dense_step_reads_every_weight_once():
    step = Step(model=DENSE, kind="decode", batch=1, context=32)
    weights = 2 * (64 * (4 + 2 * 2) * 16 + 64 * 64 + 3 * 64 * 96) + 64 * 100
    read = sum(count * p.work / 2 for count, p in operators(step, "fp32") if p.kernel == "gemv")
    assert read == weights


def test_a_mixture_expects_its_distinct_experts():
    step = Step(model=MOE, kind="decode", batch=1, context=32)
    ups = [(c, p) for c, p in operators(step, "fp32") if p.kernel == "gemv" and p.shape == "192x64"]
    assert [c for c, _ in ups] == [pytest.approx(2 * 2.0)]  # two layers, two experts for one token


def test_predictions_add_up_and_missing_curves_are_named():
    step = Step(model=DENSE, kind="prefill", batch=1, context=16)
    total = predict(step, "fp32", flat_curves())
    least = sum(c * max(p.work, p.traffic) / 1e9 for c, p in operators(step, "fp32"))
    assert least <= total <= 2 * least
    with pytest.raises(MissingFact, match="no fitted"):
        predict(step, "fp32", [])


@pytest.mark.parametrize("sizes", [DENSE, MOE])
def test_the_step_computes_what_a_plain_transformer_computes(sizes):
    model = Transformer(sizes, "fp32", torch.device("cpu"), attention.products)
    out = model.decode_step(3, 20)(0)
    assert out.shape == (3,)
    assert torch.isfinite(out).all()
    assert torch.isfinite(model.prefill_step(11)(0)).all()
    other = Transformer(sizes, "fp32", torch.device("cpu"), attention.grouped)
    torch.manual_seed(5)
    a = model.decode_step(3, 20)(0)
    torch.manual_seed(5)
    b = other.decode_step(3, 20)(0)
    assert torch.allclose(a, b, rtol=1e-4)  # the same weights, caches and routes, another attention kernel


def test_verification_predicts_first_and_reports_signed_errors(monkeypatch):
    monkeypatch.setattr(verification, "_SMALL", (DENSE, MOE))
    monkeypatch.setattr(verification, "_STEPS", {"cpu": ((1, 16), (2, 16))})
    monkeypatch.setattr(verification, "_PROMPTS", {"cpu": (8,)})
    monkeypatch.setattr(verification, "_PATIENCE", Patience(samples_min=3, samples_max=3))
    run = Run(device=open_device("cpu"), ways={"decode_attention:fp32": "products"})
    result = verification.verify(run, flat_curves(), lambda *_: None)
    assert len(result["steps"]) == 6
    for line in result["steps"]:
        assert line["error"] == pytest.approx(line["predicted_s"] / line["measured_s"] - 1)
    with pytest.raises(MissingFact, match="No decode attention"):
        verification.verify(Run(device=run.device), flat_curves(), lambda *_: None)


def test_the_bound_decides():
    def verdict(predicted):
        return Verdict(step=steps_for("cpu")[0], predicted_s=predicted,
                       timing=Timing(seconds=1.0, low=1.0, high=1.0, samples=5, disturbed=0.0))

    good = report([verdict(1.1), verdict(0.9), verdict(2.0)], kind="cpu", dtype="fp32", others=0.0)
    assert good["median_error"] == pytest.approx(0.1)
    assert good["worst_error"] == pytest.approx(1.0)
    assert good["passed"]
    assert not report([verdict(1.3)], kind="cpu", dtype="fp32", others=None)["passed"]
    assert not report([verdict(1.1)], kind="cuda", dtype="bf16", others=None)["passed"]
    assert len(steps_for("cuda")) == 16
    assert good["noisy"] is None
    busy = report([verdict(1.3)], kind="cpu", dtype="fp32", others=0.4, streamed=0.7)
    assert not busy["passed"]  # a bound that was not met is not met, whoever is to blame
    for words in ("other processes used 40%", "memory reached 70% of the rate"):
        assert words in busy["noisy"]
    shaken = dataclasses.replace(verdict(1.0), timing=Timing(seconds=1.0, low=1.0, high=1.0, samples=1, disturbed=0.9,
                                                             usable=False))
    assert "could not be timed undisturbed" in report([shaken], kind="cpu", dtype="fp32", others=None)["noisy"]
