"""Streaming reads, copies and triads: the memory bandwidth that everything else is compared with."""

from __future__ import annotations

import torch

from planner.calibration.kernels.bench import BYTES, Bench, Case, Runnable
from planner.core.fitting.kernel_points import KernelPoint

PASSES = {"sum": 1, "max": 1, "copy": 2, "triad": 3}
"""Tensors that each kernel moves through memory once."""
_CHECKED = 4096


def _case(name: str, dtype: str, elements: int) -> Case:
    traffic = PASSES[name] * elements * BYTES[dtype]

    def build(bench: Bench) -> Runnable:
        slots = bench.views((elements,), (elements,))
        target = bench.poisoned((elements,), slots[0][0].dtype)
        kernels = {
            "sum": lambda i: slots[i][0].sum(),
            "max": lambda i: slots[i][0].max(),
            "copy": lambda i: target.copy_(slots[i][0]),
            "triad": lambda i: torch.add(slots[i][0], slots[i][1], alpha=0.5, out=target),
        }

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            a, b = slots[0]
            got = kernels[name](0)
            if name == "sum":
                # Signs cancel in a sum; its error is judged on the scale of a random walk of its terms.
                walk = elements**0.5
                exact = a.sum(dtype=torch.float64).cpu()
                return (got.cpu().double() / walk + 1).reshape(1), (exact / walk + 1).reshape(1)
            if name == "max":
                return got.cpu().reshape(1), a.amax().cpu().double().reshape(1)
            start, addend = a[:_CHECKED].cpu().double(), b[:_CHECKED].cpu().double()
            return got[:_CHECKED].cpu(), start if name == "copy" else start + 0.5 * addend

        return Runnable(run=kernels[name], rotations=len(slots), check=check, tolerance=2e-2)

    point = KernelPoint(kernel="stream", dtype=dtype, shape=f"{name}:{elements}", family=name, work=float(elements),
                        traffic=traffic, seconds=0.0)
    return Case(ask=point, build=build, label=f"stream {name} {dtype} {traffic / 1e6:.0f} MB", implementation=name)


def cases(dtype: str, bytes_each: float) -> list[Case]:
    """The four kernels over tensors of the given size."""
    return [_case(name, dtype, int(bytes_each / BYTES[dtype])) for name in PASSES]
