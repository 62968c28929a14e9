r"""Attention cores: what mixers do with cached tokens, in decode and in prefill.

Decode, one query per sequence: :math:`W = f\,h\,\min(c, w)`, :math:`Q = s_{kv}\,e\,(\min(c, w) + 1)` per sequence.
Prefill of T tokens after c₀ cached ones: pairs = T·c₀ + T(T+1)/2, windows capping each row's share.

References
----------
Dao et al., FlashAttention, arXiv 2205.14135 (no N² traffic); Pope et al., arXiv 2211.05102, §3.3 (KV traffic).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array

ACTIVATION_BYTES = 2.0
"""Queries and outputs are 16 bit [byte]."""


def causal_pairs(tokens: Array, cached: Array, span: Array) -> Array:
    r"""(query, key) pairs of ``tokens`` new tokens after ``cached`` old ones, each query seeing at most ``span`` keys.

    .. math:: \sum_{i=1}^{T} \min(c_0 + i, w)

    Parameters
    ----------
    tokens : ndarray
        T, tokens computed [token].
    cached : ndarray
        c₀, tokens before them [token].
    span : ndarray
        w, keys a query sees at most; inf for all [token].

    Returns
    -------
    ndarray
        Pairs [1].

    Notes
    -----
    Continuous in T and c₀ (the sum's closed form), exact at whole numbers.
    """
    growing = np.minimum(np.maximum(span - cached, 0.0), tokens)  # queries that still see every earlier key
    full = tokens - growing
    flat = np.where(full > 0, span, 0.0)  # inf · 0 must not appear
    return np.asarray(growing * cached + growing * (growing + 1) / 2 + full * flat)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """The attention-core rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """gqa | mla | sparse | index."""
    count: Array
    heads: Array
    """Query heads on this rank [1]."""
    decode_flop: Array
    """FLOP per head and attended entry of a decode query [FLOP]."""
    prefill_flop: Array
    """FLOP per head and pair of a prompt [FLOP]."""
    span: Array
    """Entries a query sees at most; inf for all [token]."""
    stride: Array
    """Context tokens per cached entry [1]."""
    entry_bytes: Array
    """Cache bytes of one entry on this rank [byte]."""
    io_bytes: Array
    """Query and output bytes per token on this rank [byte]."""

    def attended(self, context: Array) -> Array:
        """Cached entries a decode query reads.

        Parameters
        ----------
        context : ndarray
            c, tokens before the query [token], shape (*grid).

        Returns
        -------
        ndarray
            [1], shape (op, *grid).
        """
        return np.minimum(context / rows(self.stride, context), rows(self.span, context))

    def decode(self, batch: Array, context: Array) -> Flow:
        """Work and traffic of one decode query per sequence.

        Parameters
        ----------
        batch : ndarray
            Sequences on this rank [1], shape (*grid).
        context : ndarray
            Mean context [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        entries = self.attended(context) * batch
        cache = rows(self.entry_bytes, context) * (entries + batch / rows(self.stride, context))
        flat = np.zeros(entries.shape)
        return Flow(work=rows(self.heads * self.decode_flop, context) * entries, weights=flat, cache=cache,
                    activations=rows(self.io_bytes, context) * batch + flat)

    def pairs(self, tokens: Array, cached: Array) -> Array:
        """(query, entry) pairs of a prompt.

        Parameters
        ----------
        tokens : ndarray
            Prompt tokens computed [token], shape (*grid).
        cached : ndarray
            Tokens before them [token], shape (*grid).

        Returns
        -------
        ndarray
            [1], shape (op, *grid).
        """
        stride = rows(self.stride, tokens)
        return causal_pairs(tokens, cached, rows(self.span, tokens) * stride) / stride

    def prefill(self, tokens: Array, cached: Array) -> Flow:
        """Work and traffic of one prompt.

        Parameters
        ----------
        tokens : ndarray
            Prompt tokens computed [token], shape (*grid).
        cached : ndarray
            Tokens before them [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        pairs = self.pairs(tokens, cached)
        entries = (cached + 2.0 * tokens) / rows(self.stride, tokens)  # read once, the new ones also written
        flat = np.zeros(pairs.shape)
        return Flow(work=rows(self.heads * self.prefill_flop, tokens) * pairs, weights=flat,
                    cache=rows(self.entry_bytes, tokens) * entries + flat,
                    activations=rows(self.io_bytes, tokens) * tokens + flat)
