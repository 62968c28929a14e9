"""Cross-attention to an image: keys and values of a fixed number of image tokens, written once per request.

References
----------
Meta, The Llama 3 Herd of Models, arXiv 2407.21783, §7.2 (image adapter).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention:
    """Queries from text, keys and values from ``tokens`` image tokens; as if every sequence had one image.

    A bound from above for text alone, where engines skip the layer.
    """

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    tokens: int
    """Image tokens of one request [token]."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Those every text token passes: query and output."""
        width = self.heads * self.head_dim
        return (Matrix(name="q", module=Module.ATTENTION, inputs=self.hidden, outputs=width, shard=Shard.COLUMN,
                       units=self.heads, kernel="q"),
                Matrix(name="o", module=Module.ATTENTION, inputs=width, outputs=self.hidden, shard=Shard.ROW,
                       units=self.heads, kernel="o"))

    def vectors(self) -> int:
        """Key and value projections, which only image tokens pass; norms of query and key; two gates [1]."""
        return 2 * self.hidden * self.kv_heads * self.head_dim + 2 * self.head_dim + 2

    def caches(self) -> tuple[KvCache, ...]:
        """Keys and values of the image."""
        return (KvCache(heads=self.kv_heads, elements_per_head=2 * self.head_dim, window=self.tokens),)

    def state(self) -> State | None:
        """None: nothing recurrent."""
        return None

    def cores(self) -> tuple[Core, ...]:
        """Attention to every image token."""
        flop = 4.0 * self.head_dim
        return (Core(name="cross_attention", kind="gqa", heads=self.heads, decode_flop=flop, prefill_flop=flop,
                     io_elements=2.0 * self.head_dim, cache=self.caches()[0], attends=self.tokens),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return f"cross-attention to {self.tokens} image tokens"
