"""Compressed shared-KV attention: one K=V head, a short window, and older tokens pooled into fewer entries.

With an indexer the layer attends to the best ``top_k`` pooled entries (compressed sparse attention); without one it
attends to all of them, pooled harder (heavily compressed attention); with ratio 0 it sees its window only.

References
----------
DeepSeek-AI, DeepSeek-V4 technical report, 2026, §2.3 (CSA, HCA, grouped output projection); the released
configuration and modelling files.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.latent import Indexer
from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State

_INDEX_SCALE_BYTES = 4.0  # one fp32 scale beside each fp8 index key (vLLM sparse-attention index cache)
_NOPE_SCALE_GROUP = 64  # fp8 elements that share a one-byte scale in the packed cache (vLLM, 584-byte entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedAttention:
    """Low-rank queries on one shared K=V head, grouped low-rank output, sinks."""

    hidden: int
    heads: int
    head_dim: int
    rope_head_dim: int
    q_lora_rank: int
    output_groups: int
    output_rank: int
    window: int
    ratio: int = 0
    """Context tokens pooled into one entry; 0 keeps the window only."""
    indexer: Indexer | None = None

    @property
    def _overlap(self) -> int:
        """Pools of a sparse layer overlap by half, which doubles their projections."""
        return 2 if self.indexer is not None else 1

    def matrices(self) -> tuple[Matrix, ...]:
        """Queries, the shared key-value head, the pooling projections and the grouped output."""
        width = self.heads * self.head_dim
        rows = [
            self._matrix("q_a", self.hidden, self.q_lora_rank, Shard.REPLICATED, "qkv_a"),
            self._matrix("kv", self.hidden, self.head_dim, Shard.REPLICATED, "qkv_a"),
            self._matrix("q_b", self.q_lora_rank, width, Shard.COLUMN, "q_b", self.heads),
            self._matrix("o_a", width // self.output_groups, self.output_groups * self.output_rank, Shard.COLUMN,
                         "o_a", self.output_groups),
            self._matrix("o_b", self.output_groups * self.output_rank, self.hidden, Shard.ROW, "o", self.output_groups),
        ]
        if self.ratio:
            pooled = 2 * self._overlap * self.head_dim
            rows.append(self._matrix("pool", self.hidden, pooled, Shard.REPLICATED, "pool"))
        if self.indexer is not None:
            index = self.indexer
            rows += [self._matrix("index_pool", self.hidden, 4 * index.head_dim, Shard.REPLICATED, "pool"),
                     self._matrix("index_q", self.q_lora_rank, index.heads * index.head_dim, Shard.REPLICATED,
                                  "index_q"),
                     self._matrix("index_weights", self.hidden, index.heads, Shard.REPLICATED, "pool")]
        return tuple(rows)

    @staticmethod
    def _matrix(name: str, inputs: int, outputs: int, shard: Shard, kernel: str, units: int = 1) -> Matrix:
        return Matrix(name=name, module=Module.ATTENTION, inputs=inputs, outputs=outputs, shard=shard, units=units,
                      kernel=kernel)

    def vectors(self) -> int:
        """Norms, sinks and the pools' position biases [1]."""
        total = self.q_lora_rank + self.head_dim + self.heads
        if self.ratio:
            total += self.ratio * self._overlap * self.head_dim + self.head_dim
        if self.indexer is not None:
            total += self.ratio * 2 * self.indexer.head_dim + self.indexer.head_dim
        return total

    def caches(self) -> tuple[KvCache, ...]:
        """The window, the pooled entries and the pooled index keys, repeated on every rank."""
        nope = self.head_dim - self.rope_head_dim
        packed = nope + 2.0 * self.rope_head_dim + nope // _NOPE_SCALE_GROUP + 1
        rows = [KvCache(heads=1, elements_per_head=self.head_dim, window=self.window, fp8_bytes_per_entry=packed)]
        if self.ratio:
            rows.append(KvCache(heads=1, elements_per_head=self.head_dim, stride=float(self.ratio),
                                fp8_bytes_per_entry=packed))
        if self.indexer is not None:
            rows.append(KvCache(heads=1, elements_per_head=0, stride=float(self.ratio),
                                fixed_bytes_per_token=self.indexer.head_dim + _INDEX_SCALE_BYTES))
        return tuple(rows)

    def state(self) -> State | None:
        """Projections waiting to be pooled: keys and gates of up to one (overlapping: two) pools, in fp32."""
        if not self.ratio:
            return None
        width = self.head_dim + (0 if self.indexer is None else self.indexer.head_dim)
        tokens = self.ratio * self._overlap
        return State(fp32_elements=2 * tokens * self._overlap * width, model_elements=0, touched=1.0 / self.ratio)

    def cores(self) -> tuple[Core, ...]:
        """The window, then the pooled entries, each scored and summed against the same 512-wide head."""
        caches = self.caches()
        flop = 4.0 * self.head_dim
        top_k = None if self.indexer is None else self.indexer.top_k
        rows = [Core(name="attention_window", kind="mla", heads=self.heads, decode_flop=flop, prefill_flop=flop,
                     io_elements=2.0 * self.head_dim, cache=caches[0], attends=self.window)]
        if self.ratio:
            rows.append(Core(name="attention", kind="mla" if top_k is None else "sparse", heads=self.heads,
                             decode_flop=flop, prefill_flop=flop, io_elements=0.0, cache=caches[1], attends=top_k,
                             state=self.state()))
        if self.indexer is not None:
            index = 2.0 * self.indexer.head_dim
            rows.append(Core(name="indexer", kind="index", heads=self.indexer.heads, decode_flop=index,
                             prefill_flop=index, io_elements=float(self.indexer.head_dim), cache=caches[2]))
        return tuple(rows)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        if not self.ratio:
            return f"shared-KV MQA, window {self.window}"
        kind = "heavily compressed" if self.indexer is None else f"compressed sparse top-{self.indexer.top_k}"
        return f"{kind} {self.ratio}:1, window {self.window}"
