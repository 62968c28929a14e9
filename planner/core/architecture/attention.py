"""Softmax attention over cached keys and values: multi-head, grouped-query, multi-query, sliding and chunked.

References
----------
Shazeer, Fast Transformer Decoding, arXiv 1911.02150 (multi-query); Ainslie et al., GQA, arXiv 2305.13245;
Beltagy et al., Longformer, arXiv 2004.05150 (sliding window).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Multi-head, grouped-query or multi-query attention with an optional window."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int | None = None
    """Width of a value head where it differs from the key's."""
    window: int | None = None
    """Sliding window or chunk length [token]; None attends to everything."""
    chunked: bool = False
    """The window is a chunk: a query sees only its own chunk."""
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm_parameters: int = 0
    """Weights of the query and key norms."""
    output_gate: bool = False
    """A gate as wide as the heads multiplies the output (projected beside q)."""
    head_gate: bool = False
    """One gate per head multiplies the output (hidden × heads)."""
    value_from_key: bool = False
    """V is the K projection under its own norm: no v matrix, but both are cached."""
    outputs: int | None = None
    """Width of the block's output where it is not ``hidden``."""
    sinks: bool = False
    """One learned sink logit per head."""
    reuses_cache: bool = False
    """Reads the cache of an earlier layer: no k or v projection, nothing stored."""

    @property
    def value_dim(self) -> int:
        """Width of a value head [1]."""
        return self.head_dim if self.value_head_dim is None else self.value_head_dim

    def matrices(self) -> tuple[Matrix, ...]:
        """The projections q, k, v (one kernel) and o."""
        q_out = self.heads * self.head_dim
        gate = self.heads * self.value_dim if self.output_gate else 0
        projections = [Matrix(name="q", module=Module.ATTENTION, inputs=self.hidden, outputs=q_out + gate,
                              shard=Shard.COLUMN, units=self.heads, kernel="qkv",
                              biases=q_out + gate if self.qkv_bias else 0)]
        projections += [
            Matrix(name=name, module=Module.ATTENTION, inputs=self.hidden, outputs=width, shard=Shard.COLUMN,
                   units=self.kv_heads, kernel="qkv", biases=width if self.qkv_bias else 0)
            for name, width in self._key_value_widths()]
        if self.head_gate:
            projections.append(Matrix(name="gate", module=Module.ATTENTION, inputs=self.hidden, outputs=self.heads,
                                      shard=Shard.COLUMN, units=self.heads, kernel="qkv"))
        width = self.hidden if self.outputs is None else self.outputs
        out = Matrix(name="o", module=Module.ATTENTION, inputs=self.heads * self.value_dim, outputs=width,
                     shard=Shard.ROW, units=self.heads, kernel="o", biases=width if self.out_bias else 0)
        return (*projections, out)

    def _key_value_widths(self) -> tuple[tuple[str, int], ...]:
        if self.reuses_cache:
            return ()
        key = ("k", self.kv_heads * self.head_dim)
        return (key,) if self.value_from_key else (key, ("v", self.kv_heads * self.value_dim))

    def vectors(self) -> int:
        """Parameters outside matrices: query-key norms and sinks [1]."""
        return self.qk_norm_parameters + (self.heads if self.sinks else 0)

    def caches(self) -> tuple[KvCache, ...]:
        """K and V of every kept token."""
        return (KvCache(heads=self.kv_heads, elements_per_head=self.head_dim + self.value_dim, window=self.window,
                        stored=not self.reuses_cache),)

    def state(self) -> State | None:
        """None: softmax attention keeps no recurrent state."""
        return None

    def cores(self) -> tuple[Core, ...]:
        """QKᵀ and PV: 2·(d_k + d_v) FLOP per head and pair."""
        flop = 2.0 * (self.head_dim + self.value_dim)
        return (Core(name="attention", kind="gqa", heads=self.heads, decode_flop=flop, prefill_flop=flop,
                     io_elements=float(self.head_dim + self.value_dim), cache=self.caches()[0], attends=self.window,
                     block=self.window if self.chunked else None),)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        base = "MHA" if self.kv_heads == self.heads else "MQA" if self.kv_heads == 1 else "GQA"
        if self.window is None:
            return base
        return f"{base}, {'chunk' if self.chunked else 'window'} {self.window}"
