"""Attention of one new token per sequence against a cache (decode), grouped-query and latent, and of whole prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch.nn import functional

from planner.calibration.kernels.bench import BYTES, Bench, Case, Runnable
from planner.core.fitting.kernel_points import KernelPoint

TOLERANCE = {"fp32": 1e-3, "fp16": 2e-2, "bf16": 6e-2}
Attend: TypeAlias = "Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """A head geometry on one rank."""

    query: int
    cached: int
    key_dim: int
    value_dim: int
    latent: bool = False
    """Values are the first elements of the cached latent; nothing else is stored."""

    @property
    def name(self) -> str:
        """A short name, such as 32q8kv128."""
        return f"{self.query}q{self.cached}kv{self.key_dim}" + ("latent" if self.latent else "")


def grouped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Library attention with the queries of one cached head as rows, so that the cache is read once per group."""
    batch, heads, _, width = q.shape
    cached = k.shape[1]
    out = functional.scaled_dot_product_attention(q.reshape(batch, cached, heads // cached, width), k, v)
    return out.reshape(batch, heads, 1, v.shape[-1])


def library(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Library attention, told that queries share cached heads."""
    return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def products(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Two batched products around a softmax in fp32."""
    batch, heads, _, width = q.shape
    cached = k.shape[1]
    rows = q.reshape(batch * cached, heads // cached, width)
    scores = torch.bmm(rows, k.reshape(batch * cached, -1, width).transpose(1, 2))
    shares = torch.softmax(scores.float().mul_(width**-0.5), -1).to(q.dtype)
    return torch.bmm(shares, v.reshape(batch * cached, -1, v.shape[-1])).reshape(batch, heads, 1, v.shape[-1])


def decoders(kind: str, heads: Heads) -> Mapping[str, Attend]:
    """Every way this device can attend to a cache."""
    ways: dict[str, Attend] = {"grouped": grouped, "products": products}
    if not heads.latent:
        ways["library"] = library
    if kind == "cuda" and not heads.latent:
        from planner.calibration.kernels.split_kv import available, split_kv_decode  # noqa: PLC0415 - needs triton

        if available():
            ways["split_kv"] = split_kv_decode
    return ways


def reference(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of one sequence in float64 on the processor."""
    q64, k64, v64 = (t.cpu().double() for t in (q, k, v))
    share = q64.shape[0] // k64.shape[0]
    k64, v64 = k64.repeat_interleave(share, 0), v64.repeat_interleave(share, 0)
    return torch.softmax(q64 @ k64.transpose(1, 2) * q64.shape[-1]**-0.5, -1) @ v64


def decode_ask(heads: Heads, batch: int, context: int, dtype: str) -> KernelPoint:
    """What decode attention asks of the device: the cache once, 2·(d_k + d_v) FLOP per head and cached token."""
    stored = heads.key_dim if heads.latent else heads.key_dim + heads.value_dim
    pairs = float(batch * context)
    return KernelPoint(
        kernel="latent_attention" if heads.latent else "decode_attention", dtype=dtype, family=heads.name,
        shape=f"{heads.name}:{batch}x{context}", seconds=0.0, tokens=float(batch), context=float(context),
        work=2.0 * pairs * heads.query * (heads.key_dim + heads.value_dim),
        traffic=pairs * heads.cached * stored * BYTES[dtype],
        io_traffic=batch * heads.query * (heads.key_dim + heads.value_dim) * BYTES[dtype])


def _cache(bench: Bench, heads: Heads, batch: int, context: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    key, value = (batch, heads.cached, context, heads.key_dim), (batch, heads.cached, context, heads.value_dim)
    if heads.latent:
        return [(slot[0], slot[0][..., :heads.value_dim]) for slot in bench.views(key)]
    return [(slot[0], slot[1]) for slot in bench.views(key, value)]


def decode_case(heads: Heads, batch: int, context: int, dtype: str, way: str) -> Case:
    """One decode-attention point with one implementation."""

    def build(bench: Bench) -> Runnable:
        attend = decoders(bench.device.kind, heads)[way]
        q = bench.random((batch, heads.query, 1, heads.key_dim), dtype)
        cache = _cache(bench, heads, batch, context)

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            k, v = cache[0]
            last = batch - 1
            return attend(q, k, v)[last].cpu(), reference(q[last], k[last], v[last])

        return Runnable(run=lambda i: attend(q, *cache[i]), rotations=len(cache), check=check,
                        tolerance=TOLERANCE[dtype])

    ask = decode_ask(heads, batch, context, dtype)
    return Case(ask=ask, build=build, label=f"{ask.kernel} {dtype} {ask.shape}", implementation=way)


def prompt(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Causal library attention over whole prompts."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])


def prompt_ask(heads: Heads, batch: int, tokens: int, dtype: str) -> KernelPoint:
    """What causal prompt attention asks of the device: T(T+1)/2 pairs per head, q, k, v and o moved once."""
    pairs = batch * tokens * (tokens + 1) / 2
    elements = batch * tokens * (heads.query + heads.cached) * (heads.key_dim + heads.value_dim)
    return KernelPoint(kernel="prompt_attention", dtype=dtype, shape=f"{heads.name}:{batch}x{tokens}", seconds=0.0,
                       family=heads.name, work=2.0 * pairs * heads.query * (heads.key_dim + heads.value_dim),
                       traffic=elements * BYTES[dtype], tokens=float(batch * tokens), context=float(tokens))


def prompt_case(heads: Heads, batch: int, tokens: int, dtype: str) -> Case:
    """One prompt-attention point."""

    def build(bench: Bench) -> Runnable:
        shapes = [(batch, n, tokens, d) for n, d in ((heads.query, heads.key_dim), (heads.cached, heads.key_dim),
                                                     (heads.cached, heads.value_dim))]
        slots = bench.views(*shapes)

        def check() -> tuple[torch.Tensor, torch.Tensor]:
            q, k, v = slots[0]
            got = prompt(q, k, v)[-1, :, -1:].cpu()
            return got, reference(q[-1, :, -1:], k[-1], v[-1])

        return Runnable(run=lambda i: prompt(*slots[i]), rotations=len(slots), check=check,
                        tolerance=TOLERANCE[dtype])

    ask = prompt_ask(heads, batch, tokens, dtype)
    return Case(ask=ask, build=build, label=f"prompt_attention {dtype} {ask.shape}", implementation="library")
