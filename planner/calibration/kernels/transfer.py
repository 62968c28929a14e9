"""Copies from pinned host memory to the device."""

from __future__ import annotations

import torch

from planner.calibration.kernels.bench import Bench, Case, Runnable
from planner.core.fitting.kernel_points import KernelPoint

SIZES = tuple(4**i * 2**14 for i in range(7))
"""Bytes of a copy, 16 KiB to 64 MiB."""
_CHECKED = 1024


def _case(size: int) -> Case:
    def build(bench: Bench) -> Runnable:
        source = torch.rand(size // 4).pin_memory()
        target = bench.poisoned((size // 4,), torch.float32)
        return Runnable(run=lambda _: target.copy_(source, non_blocking=True), rotations=1, tolerance=0.0,
                        check=lambda: (target.copy_(source)[-_CHECKED:].cpu(), source[-_CHECKED:].double()))

    ask = KernelPoint(kernel="host_to_device", dtype="fp32", shape=f"h2d:{size}", work=0.0, traffic=float(size),
                      seconds=0.0, resident=True)
    return Case(ask=ask, build=build, label=f"host to device {size} B", implementation="pinned")


def cases() -> list[Case]:
    """Copies of every size."""
    return [_case(size) for size in SIZES]
