"""Products of a few to many tokens with a weight matrix, in every dtype the device multiplies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch

from planner.calibration.kernels.bench import BYTES, Bench, Case, Runnable
from planner.core.fitting.kernel_points import KernelPoint

_CHECKED_COLUMNS = 48
# Largest deviation over the reference's root mean square: accumulation in fp32, output rounded to the dtype.
TOLERANCE = {"fp32": 1e-3, "fp16": 2e-2, "bf16": 6e-2, "fp8": 6e-2, "int8": 1e-12}

Multiply: TypeAlias = "Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A weight matrix of ``outputs × inputs``."""

    name: str
    outputs: int
    inputs: int


def _plain(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    if x.shape[0] == 1:
        torch.mv(weight, x[0], out=out[0])
        return out
    return torch.mm(x, weight.t(), out=out)


@functools.cache
def _one(device: torch.device) -> torch.Tensor:
    """The scale of unscaled numbers, made once so that no timed run fills it."""
    return torch.ones((), device=device)


def _fp8(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    one = _one(x.device)
    return torch._scaled_mm(x, weight.t(), scale_a=one, scale_b=one, out_dtype=out.dtype, out=out)  # noqa: SLF001 - no public name


def _int8(x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch._int_mm(x, weight.t(), out=out)  # noqa: SLF001 - no public name - the public name does not exist yet


MULTIPLY: dict[str, Multiply] = {"fp32": _plain, "bf16": _plain, "fp16": _plain, "fp8": _fp8, "int8": _int8}
_OUT = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8": torch.bfloat16,
        "int8": torch.int32}


def work_and_traffic(tokens: float, shape: Shape, dtype: str) -> tuple[float, float]:
    """W [FLOP] and Q [byte] of one product: weights, input and output once."""
    out_bytes = torch.empty((), dtype=_OUT[dtype]).element_size()
    traffic = (shape.outputs * shape.inputs + tokens * shape.inputs) * BYTES[dtype] + tokens * shape.outputs * out_bytes
    return 2.0 * tokens * shape.outputs * shape.inputs, traffic


def ask(tokens: int, shape: Shape, dtype: str) -> KernelPoint:
    """What one product asks of the device."""
    work, traffic = work_and_traffic(tokens, shape, dtype)
    return KernelPoint(kernel="gemv" if tokens == 1 else "gemm", dtype=dtype, shape=f"{shape.outputs}x{shape.inputs}",
                       work=work, traffic=traffic, seconds=0.0, tokens=float(tokens), inputs=float(shape.inputs))


def case(tokens: int, shape: Shape, dtype: str) -> Case:
    """One product as a case."""

    def build(bench: Bench) -> Runnable:
        weights = [slot[0] for slot in bench.views((shape.outputs, shape.inputs))]
        x = bench.random((tokens, shape.inputs), dtype)
        out = bench.poisoned((tokens, shape.outputs), _OUT[dtype])
        multiply = MULTIPLY[dtype]

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            columns = torch.randperm(shape.outputs, device=bench.torch_device)[:_CHECKED_COLUMNS]
            got = multiply(x, weights[0], out)[:, columns]
            return got.cpu(), x.cpu().double() @ weights[0][columns].cpu().double().t()

        return Runnable(run=lambda i: multiply(x, weights[i], out), rotations=len(weights), check=check,
                        tolerance=TOLERANCE[dtype])

    label = f"GEMM {dtype} {tokens}×{shape.inputs}→{shape.outputs}"
    return Case(ask=ask(tokens, shape, dtype), build=build, label=label)


def cases(shapes: Sequence[Shape], tokens: Sequence[int], dtype: str) -> list[Case]:
    """The grid of shapes and token counts of one dtype."""
    return [case(m, s, dtype) for s in shapes for m in tokens]
