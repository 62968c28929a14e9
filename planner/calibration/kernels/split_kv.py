"""Decode attention that splits the cache over thread blocks, in Triton: one new token per sequence, any GQA grouping.

Each block reads one stretch of one cached head once for all its queries and keeps a running softmax; a second kernel
merges the stretches by their log-sums. Blocks are made numerous enough to keep every multiprocessor reading.

References
----------
Milakov & Gimelshein, Online normalizer calculation for softmax, arXiv 1805.02867; Dao et al., Flash-Decoding, 2023
(splitting along the cache); Dao, FlashAttention-2, arXiv 2307.08691, eq. for merging partial results.
"""

import importlib.util
import math
from typing import Any

import torch

_LOG2E = 1.4426950408889634
_BLOCK_TOKENS = 64
_BLOCKS_PER_PROCESSOR = 8  # two to three are resident at once; the rest evens out the last wave
_MIN_TOKENS_PER_SPLIT = 256  # below this the merge costs more than the parallelism gains

if importlib.util.find_spec("triton") is not None:
    import triton
    import triton.language as tl

    @triton.jit
    def _partial(q_ptr, k_ptr, v_ptr, acc_ptr, lse_ptr, scale, length, chunk,
                 GROUP: tl.constexpr, BLOCK_G: tl.constexpr, D: tl.constexpr, DV: tl.constexpr,
                 BLOCK_N: tl.constexpr, PRECISION: tl.constexpr):
        """Softmax-weighted values of one stretch of one cached head, and the base-2 log of their normaliser."""
        head = tl.program_id(0).to(tl.int64)
        split = tl.program_id(1)
        splits = tl.num_programs(1)
        start = split * chunk
        end = tl.minimum(start + chunk, length)
        g = tl.arange(0, BLOCK_G)
        d = tl.arange(0, D)
        e = tl.arange(0, DV)
        real = g < GROUP
        q = tl.load(q_ptr + (head * GROUP + g[:, None]) * D + d[None, :], mask=real[:, None], other=0.0)
        k_base = k_ptr + head * length * D
        v_base = v_ptr + head * length * DV
        top = tl.full([BLOCK_G], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK_G], tl.float32)
        acc = tl.zeros([BLOCK_G, DV], tl.float32)
        for first in range(start, end, BLOCK_N):
            n = first + tl.arange(0, BLOCK_N)
            live = n < end
            k = tl.load(k_base + n[None, :] * D + d[:, None], mask=live[None, :], other=0.0)
            v = tl.load(v_base + n[:, None] * DV + e[None, :], mask=live[:, None], other=0.0)
            s = tl.dot(q, k, input_precision=PRECISION) * scale
            s = tl.where(live[None, :], s, float("-inf"))
            new_top = tl.maximum(top, tl.max(s, 1))
            p = tl.exp2(s - new_top[:, None])
            shrink = tl.exp2(top - new_top)
            total = total * shrink + tl.sum(p, 1)
            acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision=PRECISION)
            top = new_top
        row = (head * splits + split) * GROUP + g
        tl.store(acc_ptr + row[:, None] * DV + e[None, :], acc / total[:, None], mask=real[:, None])
        tl.store(lse_ptr + row, top + tl.log2(total), mask=real)

    @triton.jit
    def _merge(acc_ptr, lse_ptr, out_ptr, splits, GROUP: tl.constexpr, DV: tl.constexpr):
        """The stretches of one query, weighted by their normalisers."""
        row = tl.program_id(0).to(tl.int64)
        head, g = row // GROUP, row % GROUP
        e = tl.arange(0, DV)
        top = -float("inf")
        total = 0.0
        acc = tl.zeros([DV], tl.float32)
        for split in range(splits):
            place = (head * splits + split) * GROUP + g
            lse = tl.load(lse_ptr + place)
            new_top = tl.maximum(top, lse)
            old, new = tl.exp2(top - new_top), tl.exp2(lse - new_top)
            acc = acc * old + tl.load(acc_ptr + place * DV + e) * new
            total = total * old + new
            top = new_top
        tl.store(out_ptr + row * DV + e, (acc / total).to(out_ptr.dtype.element_ty))


def available() -> bool:
    """Whether Triton is installed and a CUDA device can run it."""
    return importlib.util.find_spec("triton") is not None and torch.cuda.is_available()


def split_count(heads: int, length: int, processors: int) -> tuple[int, int]:
    """Splits of each cached head and tokens of each split, whole blocks, none of them empty."""
    wanted = max(1, math.ceil(_BLOCKS_PER_PROCESSOR * processors / heads))
    most = max(1, length // _MIN_TOKENS_PER_SPLIT)
    blocks = math.ceil(length / _BLOCK_TOKENS)
    chunk = math.ceil(blocks / min(wanted, most, blocks)) * _BLOCK_TOKENS
    return math.ceil(length / chunk), chunk


def split_kv_decode(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of q (batch, heads, 1, d) to k and v (batch, cached heads, tokens, d), contiguous, d a power of two."""
    batch, heads, _, d = q.shape
    _, cached, length, dv = v.shape
    group = heads // cached
    processors = torch.cuda.get_device_properties(q.device).multi_processor_count
    splits, chunk = split_count(batch * cached, length, processors)
    acc = torch.empty((batch * cached, splits, group, dv), dtype=torch.float32, device=q.device)
    lse = torch.empty((batch * cached, splits, group), dtype=torch.float32, device=q.device)
    out = torch.empty((batch, heads, 1, dv), dtype=q.dtype, device=q.device)
    options: dict[str, Any] = {"num_warps": 4, "num_stages": 3}
    with torch.cuda.device(q.device):
        _partial[(batch * cached, splits)](
            q, k, v, acc, lse, d**-0.5 * _LOG2E, length, chunk, GROUP=group,
            BLOCK_G=max(16, 1 << (group - 1).bit_length()), D=d, DV=dv, BLOCK_N=_BLOCK_TOKENS,
            PRECISION="ieee" if q.dtype == torch.float32 else "tf32", **options)
        _merge[(batch * heads,)](acc, lse, out, splits, GROUP=group, DV=dv, num_warps=1 if dv <= 64 else 2)
    return out
