"""Which kernels a calibration times: shapes, token counts, batches and contexts, by device and patience."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.calibration.device import Device
from planner.calibration.kernels import attention, gemm, pointwise, stream, transfer
from planner.calibration.kernels.attention import Heads
from planner.calibration.kernels.bench import Case
from planner.calibration.kernels.gemm import Shape

# Projections of published models, from their config.json: Llama 3.1 8B and 70B, at one and at four-way sharding.
_SHAPES = (Shape(name="8B o", outputs=4096, inputs=4096), Shape(name="8B qkv", outputs=6144, inputs=4096),
           Shape(name="8B gate_up", outputs=28672, inputs=4096), Shape(name="8B down", outputs=4096, inputs=14336),
           Shape(name="70B/4 qkv", outputs=2560, inputs=8192), Shape(name="70B/4 o", outputs=8192, inputs=2048),
           Shape(name="70B/4 gate_up", outputs=14336, inputs=8192), Shape(name="70B/4 down", outputs=8192, inputs=7168))
_BIG_SHAPES = (Shape(name="70B o", outputs=8192, inputs=8192), Shape(name="70B down", outputs=8192, inputs=28672),
               Shape(name="8B head", outputs=128256, inputs=4096))
_SMALL_SHAPES = (Shape(name="1B o", outputs=2048, inputs=2048), Shape(name="1B gate_up", outputs=11264, inputs=2048),
                 Shape(name="1B down", outputs=2048, inputs=5632), Shape(name="1B qkv", outputs=3072, inputs=2048),
                 Shape(name="1B head", outputs=32000, inputs=2048))
_GQA = (Heads(query=32, cached=8, key_dim=128, value_dim=128), Heads(query=16, cached=2, key_dim=128, value_dim=128),
        Heads(query=16, cached=1, key_dim=128, value_dim=128), Heads(query=16, cached=16, key_dim=128, value_dim=128))
_MLA = (Heads(query=16, cached=1, key_dim=576, value_dim=512, latent=True),
        Heads(query=128, cached=1, key_dim=576, value_dim=512, latent=True))
_ROWS = tuple(sorted(n for i in range(9) for n in (2**i, 3 * 2**i) if n <= 256))
"""Tokens of element-wise kernels: close enough that a point left out lies between others."""
_HALF = ("bf16", "fp16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The points of one calibration."""

    dtypes: tuple[str, ...]
    attention_dtypes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    vectors: tuple[Shape, ...]
    """Timed with one token only, beside the shapes."""
    tokens: tuple[int, ...]
    decode: tuple[tuple[int, int], ...]
    """(batch, context) pairs of decode attention."""
    heads: tuple[Heads, ...]
    latents: tuple[Heads, ...]
    prompts: tuple[int, ...]
    widths: tuple[int, ...]
    rows: tuple[int, ...]
    vocabularies: tuple[int, ...]
    stream_bytes: float
    transfers: bool = False
    """Copies from the host."""
    ranks: tuple[int, ...] = ()
    """Sizes of groups to all-reduce over."""


def grid_for(device: Device, *, quick: bool, extra: Sequence[Shape] = ()) -> Grid:
    """The grid for a device: small on a processor, the shapes of serving on a GPU."""
    return _processor_grid(device, extra, quick=quick) if device.kind == "cpu" else _gpu_grid(
        device, extra, quick=quick)


def _processor_grid(device: Device, extra: Sequence[Shape], *, quick: bool) -> Grid:
    dtypes = ("fp32", "bf16")
    common: dict[str, Any] = {"dtypes": dtypes if quick else (*dtypes, "int8"), "attention_dtypes": dtypes,
              "vocabularies": (32000,), "stream_bytes": float(min(256e6, max(64e6, device.free_bytes / 64)))}
    if quick:
        return Grid(**common, shapes=(*_SMALL_SHAPES[:4], _SHAPES[0], *extra), tokens=(1, 4, 8, 16, 64, 256),
                    decode=_pairs((1, 2, 4, 8), (512, 1024, 2048, 4096), 2**14), heads=_GQA[:1], latents=(),
                    prompts=(32, 64, 96, 128, 192, 256), widths=(2048,), rows=_ROWS, vectors=_SHAPES[1:5])
    return Grid(**common, shapes=(*_SMALL_SHAPES, *_SHAPES[:6], *extra), tokens=tuple(2**i for i in range(10)),
                decode=_pairs((1, 2, 4, 8, 16, 64), (512, 2048, 8192, 32768), 2**16), heads=_GQA, latents=_MLA[:1],
                prompts=(64, 128, 256, 512, 1024), widths=(2048, 8192), rows=(*_ROWS, 512), vectors=(),
                ranks=(2,) if (os.cpu_count() or 1) > 1 else ())


def _pairs(batches: Sequence[int], contexts: Sequence[int], most: int) -> tuple[tuple[int, int], ...]:
    return tuple((b, c) for b in batches for c in contexts if b * c <= most)


def _gpu_grid(device: Device, extra: Sequence[Shape], *, quick: bool) -> Grid:
    low = ("fp8",) if device.kind == "cuda" and (device.capability or (0, 0)) >= (8, 9) else ()
    dtypes = ("bf16", *low) if quick else ("bf16", "fp16", *low, "int8", "fp32")
    pairs = _pairs((1, 8, 32, 64), (1024, 4096, 8192), 2**19) if quick else _pairs(
        (1, 4, 16, 64, 256), (512, 2048, 8192, 32768, 65536), 2**20)
    return Grid(
        dtypes=dtypes, attention_dtypes=_HALF[:1] if quick else _HALF, shapes=(*_SHAPES, *_BIG_SHAPES, *extra),
        tokens=(1, 16, 64, 256) if quick else (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048), decode=pairs,
        heads=_GQA[:2] if quick else _GQA, latents=_MLA[:1] if quick else _MLA,
        prompts=(256, 512, 1024, 2048, 4096) if quick else (128, 512, 2048, 4096, 8192), widths=(4096, 14336),
        rows=(*_ROWS, 512, 1024, 2048, 4096), vectors=(), vocabularies=(128256,), stream_bytes=1e9,
        transfers=device.kind == "cuda", ranks=tuple(n for n in (2, 4, 8) if n <= device.count and not quick))


def decode_choices(grid: Grid) -> list[tuple[Heads, list[tuple[int, int]]]]:
    """Head geometries with the two points on which their implementations compete."""
    return [(h, [grid.decode[0], grid.decode[-1]]) for h in (*grid.heads[:1], *grid.latents[:1])]


def cases_for(grid: Grid, dtype: str, ways: dict[str, str]) -> list[Case]:
    """The cases of one dtype; ``ways`` names the chosen decode implementation of each kernel class."""
    cases = stream.cases(dtype, grid.stream_bytes) if dtype in ("fp32", *_HALF) else []
    cases += gemm.cases(grid.shapes, grid.tokens, dtype) + gemm.cases(grid.vectors, (1,), dtype)
    if grid.transfers and dtype == grid.dtypes[0]:
        cases += transfer.cases()
    if dtype in grid.attention_dtypes:
        cases += [attention.decode_case(h, b, c, dtype, ways[f"{_class(h)}:{dtype}"])
                  for h in (*grid.heads, *grid.latents) for b, c in grid.decode if f"{_class(h)}:{dtype}" in ways]
        cases += [attention.prompt_case(h, 1, t, dtype) for h in grid.heads[:2] for t in grid.prompts]
        cases += [pointwise.case(n, r, w, dtype) for n in pointwise.KERNELS for r in grid.rows for w in grid.widths]
    if dtype == grid.dtypes[0]:  # logits are fp32 whatever the weights are
        cases += [pointwise.sampling_case(b, v) for v in grid.vocabularies for b in (1, 2, 4, 8, 16, 32, 64)]
    return cases


def _class(heads: Heads) -> str:
    return "latent_attention" if heads.latent else "decode_attention"
