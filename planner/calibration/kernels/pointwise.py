"""Everything that only moves elements: norm, rotary embedding, gated activation, residual, and sampling from logits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.nn import functional

from planner.calibration.kernels.bench import BYTES, Bench, Case, Runnable
from planner.core.fitting.kernel_points import KernelPoint

PASSES = {"norm": 2, "activation": 3, "residual": 3, "rotary": 2}
"""Tensors of tokens × width elements each kernel reads or writes."""
SAMPLING_PASSES = 2
"""Passes over fp32 logits that greedy sampling and a log-sum need."""
_EPSILON = 1e-6  # the usual RMS-norm guard; it moves no time
_TOLERANCE = {"fp32": 1e-3, "fp16": 2e-2, "bf16": 6e-2}


def norm(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """RMS norm of x, scaled by the first row of y."""
    return functional.rms_norm(x, (x.shape[-1],), y[0], _EPSILON)


def activation(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """silu(x)·y, the gated activation."""
    return functional.silu(x).mul_(y)


def residual(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The sum of x and y."""
    return x + y


def rotary(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The rows of x with their halves rotated by the angles whose cosines and sines the first row of y holds."""
    a, b = x.chunk(2, -1)
    cos, sin = y[:1].chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


KERNELS: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "norm": norm, "activation": activation, "residual": residual, "rotary": rotary}


def ask(name: str, tokens: int, width: int, dtype: str) -> KernelPoint:
    """What one element-wise kernel asks of the device."""
    elements = float(tokens * width)
    return KernelPoint(kernel=name, dtype=dtype, resident=True, shape=f"{name}:{tokens}x{width}", family=name, work=0.0,
                       traffic=PASSES[name] * elements * BYTES[dtype], seconds=0.0, tokens=float(tokens))


def case(name: str, tokens: int, width: int, dtype: str) -> Case:
    """One element-wise kernel on activations, which stay where the step before left them: not rotated."""

    def build(bench: Bench) -> Runnable:
        x, y = bench.random((tokens, width), dtype), bench.random((tokens, width), dtype)
        kernel = KERNELS[name]

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            row = 0 if name in ("norm", "rotary") else -1
            return kernel(x, y)[-1:].cpu(), kernel(x.cpu().double()[-1:], y.cpu().double()[[row]])

        return Runnable(run=lambda _: kernel(x, y), rotations=1, check=check, tolerance=_TOLERANCE[dtype])

    return Case(ask=ask(name, tokens, width, dtype), build=build, label=f"{name} {dtype} {tokens}×{width}",
                implementation=name)


def sample(logits: torch.Tensor) -> torch.Tensor:
    """The most likely token and the log of the normaliser, as greedy sampling with log-probabilities needs."""
    return torch.logsumexp(logits, -1) + logits.argmax(-1)


def sampling_ask(batch: int, vocabulary: int) -> KernelPoint:
    """What sampling asks of the device: passes over fp32 logits."""
    return KernelPoint(kernel="sampling", dtype="fp32", resident=True, shape=f"sample:{batch}x{vocabulary}", work=0.0,
                       seconds=0.0, traffic=SAMPLING_PASSES * 4.0 * batch * vocabulary, tokens=float(batch))


def sampling_case(batch: int, vocabulary: int) -> Case:
    """Sampling over a batch of logits."""

    def build(bench: Bench) -> Runnable:
        logits = bench.random((batch, vocabulary), "fp32")

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            return sample(logits).cpu(), sample(logits.cpu().double())

        return Runnable(run=lambda _: sample(logits), rotations=1, check=check, tolerance=1e-5)

    return Case(ask=sampling_ask(batch, vocabulary), build=build, label=f"sampling {batch}×{vocabulary}",
                implementation="greedy")
