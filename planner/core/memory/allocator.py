r"""The KV pool as paged engines cut it: blocks of equal bytes, shared by groups of layers of one kind.

A block holds ``block_tokens`` tokens of every layer of one group. Groups have equal sizes, so the rarer kind of layer
sets the size and the other kind is padded up to a multiple of it; where layers need different bytes per token, the
smaller ones put more tokens into a block, and attention blocks grow until a recurrent state fits into one.

.. math:: blocks(L) = \sum_{full} \lceil L/b \rceil + \sum_{window} (\lceil \min(w - 1 + n, L)/b \rceil + 1)
          + \sum_{state} 1

References
----------
vLLM, v1/core/kv_cache_utils.py and v1/kv_cache_interface.py (grouping by the rarer kind, sliding-window bound with the
batched tokens n, state pages); checked against start-up logs of seven hybrid models. Kwon et al., PagedAttention,
SOSP 2023, doi 10.1145/3600006.3613165.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, inf

from planner.core.memory.cache import CacheClass, CacheFootprint
from planner.core.memory.needs import FULL, STATE, WINDOW, LayerNeed
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.numeric import Number

BLOCK_TOKENS = {"vllm": 16, "generic": 16, "sglang": 1, "trtllm": 32}
"""Tokens of a block by default: vLLM --block-size 16, SGLang --page-size 1, TensorRT-LLM tokens_per_block 32."""
_NEARLY_EQUAL = 1.25
"""Kinds whose layer counts differ by less are padded to the larger count instead (vLLM, kv_cache_utils.py)."""
_UNLIMITED = 2.0**40  # [token] a pool without growing layers limits no context


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Layers that share block tables."""

    kind: str
    block_tokens: float
    """Tokens of its blocks [token]; 1 for a state."""
    window: float
    copies: int
    """Equal groups of this kind [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedPool:
    """How one rank's pool is cut for a model."""

    groups: tuple[Group, ...]
    block_bytes: float
    """Bytes of one block over the layers of a group [byte]."""
    padded_layers: int
    """Layers counted after padding [1]."""
    state_blocks: int = 1
    """Blocks of state a sequence holds in each group of recurrent layers [1]."""
    batched_tokens: float
    """Tokens of the largest step, which a window keeps beside itself [token]."""

    def blocks(self, tokens: Numeric) -> Number:
        """Blocks one sequence holds at most at a length.

        Parameters
        ----------
        tokens : float or ndarray
            Length [token], shape (*grid).

        Returns
        -------
        float or ndarray
            Whole blocks, shape (*grid).
        """
        total: Number = 0.0
        for g in self.groups:
            if g.kind == STATE:
                total = total + float(g.copies * self.state_blocks)
            elif g.kind == WINDOW:
                kept = num.minimum(g.window - 1.0 + self.batched_tokens, tokens)
                total = total + g.copies * (num.ceil(kept / g.block_tokens) + 1.0)
            else:
                total = total + g.copies * num.ceil(tokens / g.block_tokens)
        return total

    def bytes_per_sequence(self, tokens: Numeric) -> Number:
        """Bytes of those blocks.

        Parameters
        ----------
        tokens : float or ndarray
            Length [token], shape (*grid).

        Returns
        -------
        float or ndarray
            [byte], shape (*grid).
        """
        return self.blocks(tokens) * self.block_bytes

    def decoding(self) -> PagedPool:
        """The same cut while every sequence computes one token a step: a window keeps no prompt chunk beside itself.

        Returns
        -------
        PagedPool
            With one batched token.
        """
        return replace(self, batched_tokens=1.0)

    def footprint(self, counted: float) -> CacheFootprint:
        """What a decoding sequence holds on the mean over its lengths, in padded bytes.

        Parameters
        ----------
        counted : float
            Tokens of a block whose half the scheduler counts as waste itself [token].

        Returns
        -------
        CacheFootprint
            States, the block a window begins in and half of what blocks outgrow ``counted`` by do not grow.
        """
        classes: dict[float, float] = {}
        fixed = 0.0
        for g in self.groups:
            size = g.copies * self.block_bytes
            if g.kind == STATE:
                fixed += size * self.state_blocks
                continue
            classes[g.window] = classes.get(g.window, 0.0) + size / g.block_tokens
            outgrown = max(g.block_tokens - counted, 0.0) / g.block_tokens
            fixed += size * (outgrown / 2.0 + (1.0 if g.kind == WINDOW else 0.0))
        return CacheFootprint(state_bytes=fixed, classes=tuple(
            CacheClass(window=window, stride=1.0, entry_bytes=size, layers=float(self.padded_layers))
            for window, size in sorted(classes.items(), reverse=True)))

    def pool_blocks(self, pool: Numeric) -> Number:
        """Whole blocks a pool is cut into.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache on one rank [byte], shape (*grid).

        Returns
        -------
        float or ndarray
            Blocks, shape (*grid).
        """
        return num.floor(num.maximum(pool, 0.0) / self.block_bytes)

    def sequences(self, pool: Numeric, tokens: Numeric) -> Number:
        """Sequences of one length that the pool holds at once, as engines print it ("maximum concurrency").

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache on one rank [byte].
        tokens : float or ndarray
            Length of every sequence [token].

        Returns
        -------
        float or ndarray
            Not rounded [1].
        """
        return self.pool_blocks(pool) / num.maximum(self.blocks(tokens), 1.0)

    def capacity_tokens(self, pool: Numeric, tokens: Numeric) -> Number:
        """Tokens the pool holds when every sequence has this length.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache on one rank [byte].
        tokens : float or ndarray
            Length of every sequence [token].

        Returns
        -------
        float or ndarray
            Blocks times their tokens where all layers grow alike, else sequences times length [token].
        """
        if len(self.groups) == 1 and self.groups[0].kind == FULL and self.groups[0].copies == 1:
            return self.pool_blocks(pool) * self.groups[0].block_tokens
        return num.floor(self.sequences(pool, tokens) * tokens)

    def printed_tokens(self, pool: float) -> float:
        """Tokens that vLLM up to 0.20 printed: blocks over groups, times the block size.

        Parameters
        ----------
        pool : float
            Bytes for the cache on one rank [byte].

        Returns
        -------
        float
            [token]; misleading for hybrids, whose groups need different numbers of blocks.
        """
        count = sum(g.copies for g in self.groups)
        return float(self.pool_blocks(pool) // count * min(g.block_tokens for g in self.groups))

    def longest(self, pool: Numeric) -> Number:
        """The longest single sequence the pool holds.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache on one rank [byte].

        Returns
        -------
        float or ndarray
            Whole tokens, zero where not even one fits.
        """
        total = self.pool_blocks(pool)
        if len(self.groups) == 1 and self.groups[0].kind == FULL:
            return total * self.groups[0].block_tokens
        low, high = 0.0 * pool, 0.0 * pool + _UNLIMITED
        for _ in range(42):  # 2**40 tokens halved until single tokens remain
            middle = num.floor((low + high) / 2)
            inside = self.blocks(middle) <= total
            low, high = num.where(inside, middle, low), num.where(inside, high, middle)
        return num.where(self.blocks(high) <= total, high, num.where(self.blocks(low) <= total, low, 0.0 * low))


def paged_pool(needs: tuple[tuple[int, LayerNeed], ...], *, block_tokens: int, batched_tokens: float,
               state_blocks: int = 1) -> PagedPool:
    """The pool's cut for layers on one rank.

    Parameters
    ----------
    needs : tuple
        (layers, what each keeps), kinds in any order; layers with several caches appear once for each.
    block_tokens : int
        Tokens of a block before padding [token].
    batched_tokens : float
        Tokens of the largest step [token].
    state_blocks : int
        Blocks of state a sequence holds in each group of recurrent layers [1].

    Returns
    -------
    PagedPool
        Groups and the bytes of one block.
    """
    kinds: dict[tuple[str, float], list[tuple[int, float]]] = {}
    for count, need in needs:
        kinds.setdefault((need.kind, need.window), []).append((count, need.token_bytes))
    if len(kinds) == 1 and next(iter(kinds))[0] == FULL:
        rows = next(iter(kinds.values()))
        block = sum(count * size for count, size in rows) * block_tokens
        group = Group(kind=FULL, block_tokens=float(block_tokens), window=inf, copies=1)
        return PagedPool(groups=(group,), block_bytes=block, padded_layers=max(count for count, _ in rows),
                         batched_tokens=batched_tokens)
    # Caches of one layer (keys and index keys) share its page, so sizes add; counts are those of the largest row.
    merged = {key: (max(c for c, _ in rows), sum(c * s for c, s in rows) / max(c for c, _ in rows))
              for key, rows in kinds.items()}
    page = _page_bytes(merged, block_tokens)
    counts = [count for count, _ in merged.values()]
    size = max(counts) if max(counts) < _NEARLY_EQUAL * min(counts) else min(counts)
    groups = tuple(Group(kind=kind, window=window, copies=ceil(count / size),
                         block_tokens=1.0 if kind == STATE else _tokens(page, size_of, block_tokens))
                   for (kind, window), (count, size_of) in sorted(merged.items()))
    return PagedPool(groups=groups, block_bytes=page * size, batched_tokens=batched_tokens, state_blocks=state_blocks,
                     padded_layers=size * sum(g.copies for g in groups))


def _page_bytes(kinds: dict[tuple[str, float], tuple[int, float]], block_tokens: int) -> float:
    """Bytes of a layer's page: the largest attention page, its block grown until a state fits."""
    attention = [size for (kind, _), (_, size) in kinds.items() if kind != STATE]
    states = [size for (kind, _), (_, size) in kinds.items() if kind == STATE]
    if not attention:
        return max(states)
    page = max(attention) * block_tokens
    if states:
        page = max(page, max(attention) * block_tokens * ceil(max(states) / page))
    return page


def _tokens(page: float, token_bytes: float, block_tokens: int) -> float:
    """Tokens of a group's block: as many whole base blocks as the common page holds."""
    return float(max(1, int(page / (token_bytes * block_tokens) + 1e-9)) * block_tokens)
