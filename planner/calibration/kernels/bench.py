"""Where kernels get their data: one arena of random numbers, handed out as views rotated past the last-level cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from planner.calibration.device import Device
from planner.core.errors import AdapterError
from planner.core.fitting.kernel_points import KernelPoint

_SEED = 20240229
_ARENA_CACHES = 4  # the arena holds this many last-level caches, so a full turn evicts every line
_ARENA_MIN = 512 * 2**20  # [byte] large enough for the biggest weight matrix of the suite in 16 bit
_ARENA_MAX = 8 * 2**30  # [byte]
_ARENA_SHARE = 0.25  # of the memory that is free
_ALIGN = 256  # [element] keeps views aligned for vector loads and tensor cores

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8,
          "fp8": torch.float8_e4m3fn}
BYTES = {"fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "int8": 1.0, "fp8": 1.0, "fp4": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runnable:
    """A kernel ready to run on rotated buffers, and the reference it must agree with."""

    run: Callable[[int], torch.Tensor]
    """Runs on the buffers of one slot and returns the output."""
    rotations: int
    check: Callable[[], tuple[torch.Tensor, torch.Tensor]]
    """(computed, reference in float64) on a sample of the output."""
    tolerance: float
    """Largest deviation over the reference's root mean square [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kernel to time: what it asks of the device and how to build it."""

    ask: KernelPoint
    """Its seconds are not yet known (0)."""
    build: Callable[[Bench], Runnable]
    label: str
    implementation: str = ""


class WrongResultError(AdapterError):
    """A kernel disagrees with its float64 reference and must not be timed."""

    code = "wrong_result"
    title = "A kernel computed the wrong result"


def verify_result(label: str, ready: Runnable) -> None:
    """Refuse a kernel whose output is not finite or leaves its reference."""
    got, want = ready.check()
    scale = float(want.double().square().mean().sqrt()) or 1.0
    worst = float((got.double() - want.double()).abs().max()) / scale
    if not worst <= ready.tolerance:
        raise WrongResultError(f"{label} differs from its float64 reference by {worst:.2g} of its size "
                               f"(allowed: {ready.tolerance:g}), so it was not timed.")


class Bench:
    """Random data of one dtype on one device."""

    def __init__(self, device: Device, dtype: str) -> None:
        """Fill the arena."""
        self.device, self.dtype = device, dtype
        self.torch_device = torch.device(device.spec)
        self.generator = torch.Generator(device=self.torch_device).manual_seed(_SEED)
        limit = min(_ARENA_MAX, device.free_bytes * _ARENA_SHARE)
        self.arena_bytes = float(min(limit, max(_ARENA_CACHES * device.cache_bytes, _ARENA_MIN)))
        if device.kind == "cuda":
            self.arena_bytes = float(limit)
        self._arena = self._filled(int(self.arena_bytes / BYTES[dtype]))

    def _filled(self, elements: int) -> torch.Tensor:
        """Random numbers in [-1, 1], drawn for one stretch and repeated with a shift."""
        stretch = min(elements, 2**25)
        fresh = self.random((stretch,), self.dtype)
        arena = torch.empty(elements, dtype=DTYPES[self.dtype], device=self.torch_device)
        for start in range(0, elements, stretch):
            piece = min(stretch, elements - start)
            arena[start:start + piece].copy_(fresh[:piece])
        return arena

    def random(self, shape: Sequence[int], dtype: str) -> torch.Tensor:
        """Fresh uniform numbers in [-1, 1] (whole numbers from -8 to 8 in int8)."""
        if dtype == "int8":
            return torch.randint(-8, 9, tuple(shape), dtype=torch.int8, device=self.torch_device,
                                 generator=self.generator)
        values = torch.rand(tuple(shape), device=self.torch_device, generator=self.generator)
        return values.mul_(2).sub_(1).to(DTYPES[dtype])

    def poisoned(self, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """An output full of NaN (or the smallest whole number), so that nothing unwritten passes for a result."""
        poison = float("nan") if dtype.is_floating_point else torch.iinfo(dtype).min
        return torch.full(tuple(shape), poison, dtype=dtype, device=self.torch_device)

    def fits(self, elements: float) -> bool:
        """Whether a tensor of that many elements can be taken from the arena."""
        return elements <= self._arena.numel()

    def views(self, *shapes: Sequence[int]) -> list[list[torch.Tensor]]:
        """Slots of disjoint tensors with these shapes: enough that a full turn passes the cache, as far as they fit."""
        sizes = [_aligned(math.prod(s)) for s in shapes]
        slots = max(1, self._arena.numel() // sum(sizes))
        needed = math.ceil(_ARENA_CACHES * self.device.cache_bytes / (sum(sizes) * BYTES[self.dtype])) + 1
        slots = min(slots, max(2, needed), 64)
        stride = self._arena.numel() // slots // _ALIGN * _ALIGN
        table = []
        for slot in range(slots):
            offset, tensors = slot * stride, []
            for shape, size in zip(shapes, sizes, strict=True):
                tensors.append(self._arena[offset:offset + math.prod(shape)].view(tuple(shape)))
                offset += size
            table.append(tensors)
        return table


def _aligned(elements: int) -> int:
    return (elements + _ALIGN - 1) // _ALIGN * _ALIGN
