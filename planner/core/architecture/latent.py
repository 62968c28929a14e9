"""Multi-head latent attention: one compressed latent per token, absorbed in decode, expanded in prefill.

References
----------
DeepSeek-V2, arXiv 2405.04434, §2.1 and appendix C (eq. 37–47); DeepSeek-V3.2, 2025 (lightning indexer, top-k).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State

_LATENT_SCALE_GROUP = 128  # fp8 elements per fp32 scale in the packed sparse cache (vLLM, 656-byte entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexer:
    """The small scorer that picks the ``top_k`` tokens a sparse layer attends to."""

    heads: int
    head_dim: int
    top_k: int
    pool: int = 1
    """Neighbouring tokens whose keys are pooled into one before scoring [token]."""
    shared: bool = False
    """Reuses the selection of an earlier layer: no weights, no keys, no scoring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention:
    """MLA with optional low-rank queries and an optional sparse indexer (DSA)."""

    hidden: int
    heads: int
    q_lora_rank: int | None
    kv_lora_rank: int
    nope_head_dim: int
    rope_head_dim: int
    value_head_dim: int
    indexer: Indexer | None = None
    qkv_bias: bool = False
    """Biases on the two down-projections and the output."""
    output_gate: bool = False
    """A gate as wide as the value heads multiplies the output (hidden × heads·value)."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Down- and up-projections; ``kv_b`` costs the same absorbed (W_UK, W_UV) or expanded on one token."""
        key = self.nope_head_dim + self.rope_head_dim
        q_in = self.hidden if self.q_lora_rank is None else self.q_lora_rank
        latent = self.kv_lora_rank + self.rope_head_dim
        rows = []
        if self.q_lora_rank is not None:
            rows.append(self._matrix("q_a", self.hidden, self.q_lora_rank, Shard.REPLICATED, "qkv_a", bias=True))
        rows += [
            self._matrix("kv_a", self.hidden, latent, Shard.REPLICATED, "qkv_a", bias=True),
            self._matrix("q_b", q_in, self.heads * key, Shard.COLUMN, "q_b"),
            self._matrix("kv_b", self.kv_lora_rank, self.heads * (self.nope_head_dim + self.value_head_dim),
                         Shard.COLUMN, "kv_b"),
            self._matrix("o", self.heads * self.value_head_dim, self.hidden, Shard.ROW, "o", bias=True),
        ]
        if self.output_gate:
            rows.append(self._matrix("gate", self.hidden, self.heads * self.value_head_dim, Shard.COLUMN, "gate"))
        return (*rows, *self._index_matrices())

    def _matrix(self, name: str, inputs: int, outputs: int, shard: Shard, kernel: str, *, bias: bool = False
                ) -> Matrix:
        return Matrix(name=name, module=Module.ATTENTION, inputs=inputs, outputs=outputs, shard=shard,
                      units=1 if shard is Shard.REPLICATED else self.heads, kernel=kernel,
                      biases=outputs if bias and self.qkv_bias else 0, always_16bit=name == "kv_b")

    def _index_matrices(self) -> tuple[Matrix, ...]:
        if self.indexer is None or self.indexer.shared:
            return ()
        q_in = self.hidden if self.q_lora_rank is None else self.q_lora_rank
        width = self.indexer.heads * self.indexer.head_dim
        pooling = () if self.indexer.pool == 1 else (
            self._matrix("index_pool", self.hidden, self.indexer.head_dim, Shard.REPLICATED, "index_k"),)
        return (*pooling, self._matrix("index_q", q_in, width, Shard.REPLICATED, "index_q"),
                self._matrix("index_k", self.hidden, self.indexer.head_dim, Shard.REPLICATED, "index_k"),
                self._matrix("index_weights", self.hidden, self.indexer.heads, Shard.REPLICATED, "index_k"))

    def vectors(self) -> int:
        """Norms of the latents, and of the index keys with their bias [1]."""
        index = 0
        if self.indexer is not None and not self.indexer.shared:
            index = (2 + (self.indexer.pool if self.indexer.pool > 1 else 0)) * self.indexer.head_dim
        return (self.q_lora_rank or 0) + self.kv_lora_rank + index

    def caches(self) -> tuple[KvCache, ...]:
        """One latent with its rotary key per token, repeated on every rank; index keys in fp8 with a scale."""
        packed = None if self.indexer is None else (
            self.kv_lora_rank + 2.0 * self.rope_head_dim + 4.0 * self.kv_lora_rank / _LATENT_SCALE_GROUP)
        latent = KvCache(heads=1, elements_per_head=self.kv_lora_rank + self.rope_head_dim, fp8_bytes_per_entry=packed)
        if self.indexer is None or self.indexer.shared:
            return (latent,)
        return (latent, KvCache(heads=1, elements_per_head=0, stride=float(self.indexer.pool),
                                fixed_bytes_per_token=self.indexer.head_dim + 4.0))

    @property
    def expanded_elements(self) -> int:
        """K and V elements per token in engines that cache expanded heads instead of the latent [1]."""
        return self.heads * (self.nope_head_dim + self.rope_head_dim + self.value_head_dim)

    def state(self) -> State | None:
        """None: latent attention keeps no recurrent state."""
        return None

    def cores(self) -> tuple[Core, ...]:
        """Absorbed decode scores against the latent; prefill against expanded keys and values."""
        decode = 2.0 * (2 * self.kv_lora_rank + self.rope_head_dim)
        prefill = 2.0 * (self.nope_head_dim + self.rope_head_dim + self.value_head_dim)
        top_k = None if self.indexer is None else self.indexer.top_k
        caches = self.caches()
        main = Core(name="attention", kind="mla" if top_k is None else "sparse", heads=self.heads, decode_flop=decode,
                    prefill_flop=prefill if top_k is None else decode, cache=caches[0], attends=top_k,
                    io_elements=float(2 * self.kv_lora_rank + self.rope_head_dim))
        if self.indexer is None or self.indexer.shared:
            return (main,)
        flop = 2.0 * self.indexer.head_dim
        index = Core(name="indexer", kind="index", heads=self.indexer.heads, decode_flop=flop, prefill_flop=flop,
                     io_elements=float(self.indexer.head_dim), cache=caches[1])
        return (main, index)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return "MLA" if self.indexer is None else f"MLA, sparse top-{self.indexer.top_k}"
