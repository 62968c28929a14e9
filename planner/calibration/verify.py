"""Real transformer steps against predictions made before they run: the proof that a calibration is worth using."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import torch

from planner.calibration.kernels import attention, gemm, pointwise, stream
from planner.calibration.kernels.attention import Heads
from planner.calibration.kernels.bench import Bench
from planner.calibration.kernels.gemm import Shape
from planner.calibration.processor import Contention
from planner.calibration.record import streams
from planner.calibration.suite import Run
from planner.calibration.timers import timer_for
from planner.calibration.timing import Patience, Timer, Timing, measure
from planner.calibration.transformer import Sizes, Transformer
from planner.core.errors import MissingFact
from planner.core.fitting.calibration import CalibratedCurve
from planner.core.fitting.kernel_points import KernelPoint, columns
from planner.core.operators.mixture import distinct_experts

BOUND = {"cpu": 0.20, "cuda": 0.08, "mps": 0.20}
"""Largest median error a calibration may have to pass, by kind of device."""
# Steps that run while others use the processors or the memory bus say nothing about the prediction.
_OTHERS_NOISY, _UNDISTURBED_LEAST, _STREAM_LEAST = 0.10, 0.90, 0.90
_STREAM_BYTES = 256e6  # [byte] of each tensor that memory is read with again
_HEADS = Heads(query=32, cached=8, key_dim=128, value_dim=128)
_SMALL = (Sizes(name="dense", hidden=2048, intermediate=5632, layers=4, vocabulary=32000, heads=_HEADS),
          Sizes(name="moe", hidden=2048, intermediate=1408, layers=3, vocabulary=32000, heads=_HEADS, experts=8,
                experts_per_token=2))
_LARGE = (Sizes(name="dense", hidden=4096, intermediate=14336, layers=8, vocabulary=128256, heads=_HEADS),
          Sizes(name="moe", hidden=4096, intermediate=3584, layers=8, vocabulary=128256, heads=_HEADS, experts=8,
                experts_per_token=2))
_STEPS = {"cpu": ((1, 512), (1, 4096), (4, 1024), (8, 2048), (16, 512)),
          "cuda": ((1, 1024), (1, 8192), (8, 4096), (32, 2048), (64, 4096), (128, 1024))}
_PROMPTS = {"cpu": (64, 192), "cuda": (512, 2048)}
_PATIENCE = Patience(warmups=1, samples_min=5, samples_max=40, seconds_max=1.0, seconds_disturbed=4.0, precision=0.03)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step: decode of a batch at a context, or prefill of a prompt."""

    model: Sizes
    kind: str
    batch: int
    context: int

    @property
    def tokens(self) -> int:
        """Tokens computed in the step."""
        return self.batch if self.kind == "decode" else self.context


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A step's prediction, made first, and its measurement."""

    step: Step
    predicted_s: float
    timing: Timing

    @property
    def error(self) -> float:
        """Signed: predicted over measured, less one."""
        return self.predicted_s / self.timing.seconds - 1


def steps_for(kind: str) -> list[Step]:
    """The grid of steps for a kind of device."""
    where = "cuda" if kind == "cuda" else "cpu"
    models = _LARGE if where == "cuda" else _SMALL
    return [*(Step(model=m, kind="decode", batch=b, context=c) for m in models for b, c in _STEPS[where]),
            *(Step(model=m, kind="prefill", batch=1, context=t) for m in models for t in _PROMPTS[where])]


def operators(step: Step, dtype: str) -> list[tuple[float, KernelPoint]]:
    """Every kernel of a step with how often it runs."""
    m, n, h = step.model, step.tokens, step.model.heads
    qkv = (h.query + 2 * h.cached) * h.key_dim
    logits = step.batch
    rows: list[tuple[float, KernelPoint]] = [
        (m.layers, gemm.ask(n, Shape(name="qkv", outputs=qkv, inputs=m.hidden), dtype)),
        (m.layers, gemm.ask(n, Shape(name="o", outputs=m.hidden, inputs=h.query * h.value_dim), dtype)),
        (2.0 * m.layers, pointwise.ask("norm", n, m.hidden, dtype)),
        (2.0 * m.layers, pointwise.ask("residual", n, m.hidden, dtype)),
        (m.layers, pointwise.ask("rotary", n, (h.query + h.cached) * h.key_dim, dtype)),
        (m.layers, attention.decode_ask(h, step.batch, step.context, dtype) if step.kind == "decode"
         else attention.prompt_ask(h, 1, step.context, dtype)),
        (1.0, pointwise.ask("norm", logits, m.hidden, dtype)),
        (1.0, gemm.ask(logits, Shape(name="head", outputs=m.vocabulary, inputs=m.hidden), dtype)),
        (1.0, pointwise.sampling_ask(logits, m.vocabulary)),
    ]
    return rows + _feed_forward(step, dtype)


def _feed_forward(step: Step, dtype: str) -> list[tuple[float, KernelPoint]]:
    m, n = step.model, step.tokens
    experts, each = 1.0, n
    rows: list[tuple[float, KernelPoint]] = []
    if m.experts:
        experts = float(distinct_experts(*(np.asarray(float(v)) for v in (m.experts, m.experts_per_token, n))))
        each = max(1, round(n * m.experts_per_token / experts))
        rows = [(m.layers, gemm.ask(n, Shape(name="router", outputs=m.experts, inputs=m.hidden), dtype)),
                # Gathering an expert's tokens and adding its answers move the hidden stream like a residual each.
                (2.0 * experts * m.layers, pointwise.ask("residual", each, m.hidden, dtype))]
    return [*rows,
            (experts * m.layers, gemm.ask(each, Shape(name="up", outputs=2 * m.intermediate, inputs=m.hidden), dtype)),
            (experts * m.layers, gemm.ask(each, Shape(name="down", outputs=m.hidden, inputs=m.intermediate), dtype)),
            (experts * m.layers, pointwise.ask("activation", each, m.intermediate, dtype))]


def predict(step: Step, dtype: str, fitted: Sequence[CalibratedCurve]) -> float:
    """The step's time by the fitted curves [s]."""
    table: Mapping[tuple[str, str], CalibratedCurve] = {(c.kernel, c.dtype): c for c in fitted}
    total = 0.0
    for count, point in operators(step, dtype):
        curve = table.get((point.kernel, point.dtype))
        if curve is None:
            raise MissingFact(f"There is no fitted {point.kernel} curve in {point.dtype}, so steps stay unpredicted.",
                              fact=f"calibration.{point.kernel}", hint="Calibrate without --quick on an idle machine.")
        x, _ = columns([replace(point, seconds=1.0)])  # a prediction needs no time; columns() insists on one
        total += count * float(curve.time(x)[0])
    return total


def verify(run: Run, fitted: Sequence[CalibratedCurve], progress: Callable[[int, int, str], None]) -> dict[str, Any]:
    """Predict every step, then run every step, and report signed errors and whether the bound holds."""
    kind = run.device.kind
    dtype = "bf16" if kind == "cuda" else "fp32"
    way = run.ways.get(f"decode_attention:{dtype}")
    if way is None:
        raise MissingFact(f"No decode attention was timed in {dtype}, so there is nothing to verify steps with.",
                          fact="calibration.decode_attention")
    steps = steps_for(kind)
    predicted = {step: predict(step, dtype, fitted) for step in steps}
    contention, timer = Contention(), timer_for(run.device.spec)
    device = torch.device(run.device.spec)
    verdicts: list[Verdict] = []
    with torch.inference_mode():
        before = stream_share(run, dtype, timer)
        for model in dict.fromkeys(s.model for s in steps):
            engine = Transformer(model, dtype, device, attention.decoders(kind, model.heads)[way])
            for step in (s for s in steps if s.model == model):
                progress(len(verdicts), len(steps), f"{model.name} {step.kind} {step.batch}×{step.context}")
                ready = engine.decode_step(step.batch, step.context) if step.kind == "decode" else (
                    engine.prefill_step(step.context))
                timing = measure(timer.sampler(ready, 1), _PATIENCE)
                verdicts.append(Verdict(step=step, predicted_s=predicted[step], timing=timing))
            del engine
        shares = [s for s in (before, stream_share(run, dtype, timer)) if s is not None]
    return report(verdicts, kind=kind, dtype=dtype, others=contention.share(), streamed=min(shares, default=None))


def stream_share(run: Run, dtype: str, timer: Timer) -> float | None:
    """Memory's rate now over its rate when kernels were timed [1]; None where no stream was timed."""
    then = streams(run, dtype)
    if not then:
        return None
    bench = Bench(run.device, dtype)
    ratios = []
    for case in stream.cases(dtype, min(_STREAM_BYTES, bench.arena_bytes / 4)):
        ready = case.build(bench)
        now = case.ask.traffic / measure(timer.sampler(ready.run, ready.rotations), _PATIENCE).seconds
        ratios += [now / then[case.implementation]] if case.implementation in then else []
    return median(ratios)


def report(verdicts: Sequence[Verdict], *, kind: str, dtype: str, others: float | None,
           streamed: float | None = None) -> dict[str, Any]:
    """The verdicts as a document: signed errors, their median, the bound, and whether the machine was quiet."""
    errors = [abs(v.error) for v in verdicts]
    undisturbed = sum(v.timing.usable for v in verdicts) / len(verdicts)
    reasons = []
    if others is not None and others > _OTHERS_NOISY:
        reasons.append(f"other processes used {others:.0%} of the processors")
    if undisturbed < _UNDISTURBED_LEAST:
        reasons.append(f"{1 - undisturbed:.0%} of the steps could not be timed undisturbed")
    if streamed is not None and streamed < _STREAM_LEAST:
        reasons.append(f"memory reached {streamed:.0%} of the rate it had when kernels were timed")
    return {"dtype": dtype, "bound": BOUND[kind], "median_error": median(errors), "worst_error": max(errors),
            "passed": median(errors) <= BOUND[kind], "others_share": others, "undisturbed_share": undisturbed,
            "stream_share": streamed,
            "noisy": f"The machine was not quiet: {' and '.join(reasons)}." if reasons else None,
            "steps": [{"model": v.step.model.name, "kind": v.step.kind, "batch": v.step.batch,
                       "context_tokens": v.step.context, "predicted_s": v.predicted_s,
                       "measured_s": v.timing.seconds, "error": v.error} for v in verdicts]}
