"""Block-sparse attention: a small scorer picks key blocks, grouped-query attention reads only those.

References
----------
MiniMax-M3 configuration and modelling files, 2026; Yuan et al., Native Sparse Attention, arXiv 2502.11089 (selection
by blocks).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.core.architecture.attention import Attention
from planner.core.architecture.parts import Core, KvCache, Matrix, Module, Shard, State

_INDEX_KEY_BYTES = 2.0  # index keys are cached in 16 bit (MiniMax-M3 modelling file keeps them in the model dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSparseAttention:
    """Grouped-query attention over the ``blocks`` best key blocks of ``block`` tokens."""

    attention: Attention
    index_heads: int
    index_head_dim: int
    block: int
    """Tokens of a key block [token]."""
    blocks: int
    """Blocks a query keeps, local ones included."""

    def matrices(self) -> tuple[Matrix, ...]:
        """Those of the attention, and the index query and key."""
        hidden = self.attention.hidden
        query = Matrix(name="index_q", module=Module.ATTENTION, inputs=hidden,
                       outputs=self.index_heads * self.index_head_dim, shard=Shard.COLUMN, units=self.index_heads,
                       kernel="qkv")
        key = Matrix(name="index_k", module=Module.ATTENTION, inputs=hidden, outputs=self.index_head_dim,
                     shard=Shard.REPLICATED, kernel="qkv")
        return (*self.attention.matrices(), query, key)

    def vectors(self) -> int:
        """Those of the attention, and the norms of index query and key [1]."""
        return self.attention.vectors() + 2 * self.index_head_dim

    def caches(self) -> tuple[KvCache, ...]:
        """K and V, and one index key per token, repeated on every rank."""
        index = KvCache(heads=1, elements_per_head=0, fixed_bytes_per_token=_INDEX_KEY_BYTES * self.index_head_dim)
        return (*self.attention.caches(), index)

    def state(self) -> State | None:
        """None: nothing recurrent."""
        return None

    def cores(self) -> tuple[Core, ...]:
        """Attention over the chosen blocks, and the scorer over every key."""
        main = replace(self.attention.cores()[0], kind="sparse", attends=self.block * self.blocks)
        flop = 2.0 * self.index_head_dim
        index = Core(name="indexer", kind="index", heads=self.index_heads, decode_flop=flop, prefill_flop=flop,
                     io_elements=float(self.index_head_dim), cache=self.caches()[1])
        return (main, index)

    @property
    def label(self) -> str:
        """The kind as people call it."""
        return f"{self.attention.label}, sparse {self.blocks} blocks of {self.block}"
