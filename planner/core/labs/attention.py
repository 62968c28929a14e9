r"""Attention as arithmetic and traffic: naive, flash, decode, with shared heads or a latent.

Per head, length N, width d, element bytes s: naive :math:`W = 4N^2 d,\; Q = 4s(Nd + N^2)`; flash compulsory
:math:`Q = 4sNd`, tiled :math:`Q = s(2Nd + 2N d\lceil N/B_r\rceil)`; one decode query :math:`W = 4Nd,\; Q = 2sNd`.

References
----------
Dao et al., FlashAttention, arXiv 2205.14135; Dao, FlashAttention-2, arXiv 2307.08691 (backward 2.5 times the forward
work); Ainslie et al., GQA, arXiv 2305.13245; DeepSeek-V2, arXiv 2405.04434 (latent cache).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.inputs import ElementType, whole

BACKWARD = 2.5
"""Backward work over forward work: five products for the forward's two (FlashAttention-2, §4.1)."""
MODES = ("naive", "flash", "decode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """A cached latent in place of keys and values."""

    rank: int
    """Width of the compressed part [1]."""
    rope: int
    """Width of the rotary key beside it [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionShape:
    """Heads, widths and length of one sequence's attention."""

    seq: int
    """N, query and key length, or cached tokens in decode [token]."""
    heads: int
    """h, query heads [1]."""
    kv_heads: int
    """h_kv, key and value heads [1]."""
    head_dim: int
    """d [1]."""
    causal: bool = False
    batch: int = 1
    """Sequences [1]."""
    latent: Latent | None = None
    """Decode against a latent cache."""

    def __post_init__(self) -> None:
        """Refuse shapes that are none."""
        whole(seq=self.seq, heads=self.heads, kv_heads=self.kv_heads, head_dim=self.head_dim, batch=self.batch)
        if self.heads % self.kv_heads:
            raise InvalidQuantity(f"kv_heads must divide heads, got {self.kv_heads} and {self.heads}.",
                                  pointer="/kv_heads", hint="Query heads share key-value heads in equal groups.")
        if self.latent is not None:
            whole(kv_lora_rank=self.latent.rank, rope_head_dim=self.latent.rope)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCost:
    """Work and traffic of one way to compute attention."""

    mode: str
    work: float
    """Forward W [FLOP]."""
    compulsory: float
    """Q if every tensor that must cross memory crosses once [byte]."""
    traffic: float
    """Q of this way of computing it [byte]."""
    score_traffic: float
    """Bytes of N×N tensors within the traffic [byte]."""


def naive_cost(shape: AttentionShape, element_bytes: float, *, skip_masked: bool = False) -> AttentionCost:
    """Attention that writes scores and probabilities to memory and reads them back.

    Parameters
    ----------
    shape : AttentionShape
        Heads, widths, length.
    element_bytes : float
        s [byte].
    skip_masked : bool
        The masked triangle is neither written nor read; matters only for causal attention.

    Returns
    -------
    AttentionCost
        Four one-way N×N transfers beside queries, keys, values and outputs.

    Notes
    -----
    Causal masking halves W; it halves the N×N traffic only where the triangle is skipped.
    """
    N, h, s = float(shape.seq), shape.heads * shape.batch, element_bytes
    once = _once(shape, s)
    scores = 4.0 * s * h * N * N * (0.5 if shape.causal and skip_masked else 1.0)
    return AttentionCost(mode="naive", work=_work(shape), compulsory=once, traffic=once + scores, score_traffic=scores)


def flash_cost(shape: AttentionShape, element_bytes: float, *, block_rows: int | None = None) -> AttentionCost:
    """Attention that keeps scores on chip.

    Parameters
    ----------
    shape : AttentionShape
        Heads, widths, length.
    element_bytes : float
        s [byte].
    block_rows : int or None
        B_r, query rows per block, each of which re-reads keys and values; None counts every tensor once.

    Returns
    -------
    AttentionCost
        Compulsory or tiled traffic, never below the compulsory.

    Notes
    -----
    Tiled intensity tends to 2·B_r/s, causal or not; L2 usually serves the re-reads, so real traffic lies between.
    """
    whole(block_rows=block_rows)
    once = _once(shape, element_bytes)
    traffic = once
    if block_rows is not None:
        N, d, h, s = float(shape.seq), shape.head_dim, shape.heads * shape.batch, element_bytes
        blocks = ceil(shape.seq / block_rows)
        passes = (blocks + 1) / 2 if shape.causal else float(blocks)
        traffic = max(once, s * h * N * d * 2.0 * (1.0 + passes))
    return AttentionCost(mode="flash", work=_work(shape), compulsory=once, traffic=traffic, score_traffic=0.0)


def decode_cost(shape: AttentionShape, element_bytes: float) -> AttentionCost:
    """One query per sequence against its cache.

    Parameters
    ----------
    shape : AttentionShape
        Heads, widths and cached tokens; with a latent, keys and values are the latent itself.
    element_bytes : float
        s of the cache [byte].

    Returns
    -------
    AttentionCost
        I = 2g/s with g = h/h_kv, whatever N, d and the batch; a latent is shared by all heads.
    """
    N, B, h = float(shape.seq), shape.batch, shape.heads
    if shape.latent is not None:
        r, rope = shape.latent.rank, shape.latent.rope
        W, Q = 2.0 * B * h * N * (2 * r + rope), element_bytes * B * N * (r + rope)
    else:
        W, Q = 4.0 * B * h * N * shape.head_dim, 2.0 * element_bytes * B * shape.kv_heads * N * shape.head_dim
    return AttentionCost(mode="decode", work=W, compulsory=Q, traffic=Q, score_traffic=0.0)


def _work(shape: AttentionShape) -> float:
    W = 4.0 * shape.batch * shape.heads * float(shape.seq) ** 2 * shape.head_dim
    return W / 2 if shape.causal else W


def _once(shape: AttentionShape, s: float) -> float:
    return 2.0 * s * shape.batch * (shape.heads + shape.kv_heads) * float(shape.seq) * shape.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionReport:
    """An attention under the roof of a chip."""

    cost: AttentionCost
    ridge: float
    time: float
    """Least forward time [s]."""
    backward_work: float | None
    """[FLOP]; None for decode, which has no backward pass."""
    group: float
    """g = h/h_kv, query heads per cached head [1]."""

    @property
    def intensity(self) -> float:
        """W/Q [FLOP/byte]."""
        return self.cost.work / self.cost.traffic

    @property
    def fraction_of_peak(self) -> float:
        """min(1, I/I*) [1]."""
        return min(1.0, self.intensity / self.ridge)

    @property
    def bound(self) -> str:
        """Compute or memory."""
        return "compute" if self.intensity >= self.ridge else "memory"


def attention_report(chip: Chip, dtype: ElementType, shape: AttentionShape, mode: str, *,
                     block_rows: int | None = None, skip_masked: bool = False) -> AttentionReport:
    """One way to compute attention under the roof of a chip.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Of queries, keys, values and outputs.
    shape : AttentionShape
        Heads, widths, length.
    mode : str
        naive, flash or decode.
    block_rows : int or None
        B_r of flash attention.
    skip_masked : bool
        Naive attention leaves the masked triangle out.

    Returns
    -------
    AttentionReport
        Work, traffic and least time.

    Raises
    ------
    InvalidQuantity
        The mode is unknown, or does not go with a latent.
    """
    if mode not in MODES:
        raise InvalidQuantity(f"mode must be naive, flash or decode, got {mode!r}.", pointer="/mode")
    if shape.latent is not None and mode != "decode":
        raise InvalidQuantity("A latent cache is read in decode only; prompts expand keys and values.", pointer="/mode",
                              hint="Use mode=decode, or leave kv_lora_rank out.")
    cost = (naive_cost(shape, dtype.bytes, skip_masked=skip_masked) if mode == "naive"
            else flash_cost(shape, dtype.bytes, block_rows=block_rows) if mode == "flash"
            else decode_cost(shape, dtype.bytes))
    pi = chip.peak(dtype.pipe)
    return AttentionReport(
        cost=cost, ridge=pi / chip.bandwidth, time=float(time_overlapped(cost.work, cost.traffic, pi, chip.bandwidth)),
        backward_work=None if mode == "decode" else BACKWARD * cost.work, group=shape.heads / shape.kv_heads)
