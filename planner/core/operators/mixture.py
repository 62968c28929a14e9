r"""Routed experts: only the experts that some token of the step chose are read.

.. math:: D = E\,(1 - (1 - k/E)^n), \qquad W = 2 n k\,e/p, \qquad Q_w = D\,s_w e/p

Exact for independent uniform routing without replacement; skewed routing reads fewer experts, so D bounds the weight
bytes from above (Switch Transformers, arXiv 2101.03961, discusses the balance that training enforces).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.operators.flow import Flow, rows
from planner.core.operators.matmul import OUTPUT_BYTES
from planner.core.quantities.arrays import Array


def distinct_experts(experts: Array, experts_per_token: Array, tokens: Array) -> Array:
    """Expected number of different experts that ``tokens`` independent tokens choose.

    Parameters
    ----------
    experts : ndarray
        E, routed experts of a layer [1].
    experts_per_token : ndarray
        k, experts each token visits [1].
    tokens : ndarray
        n, tokens of the step over the whole expert group [token].

    Returns
    -------
    ndarray
        D between k and E [1].

    Notes
    -----
    Fewer than one token is one token's share: D = k·n there, so that the curve stays continuous and never exceeds E.
    """
    miss = np.log1p(-np.minimum(experts_per_token / experts, 1 - 1e-12))
    many = experts * -np.expm1(miss * tokens)
    return np.minimum(many, experts_per_token * tokens)


def reached_share(share: Array | float, experts_per_token: Array | float) -> Array:
    """Share of a batch's tokens that have an expert on a rank.

    .. math:: 1 - (1 - s)^k

    Parameters
    ----------
    share : float or ndarray
        s, the rank's token-expert pairs over all pairs, 0–1.
    experts_per_token : float or ndarray
        k [1].

    Returns
    -------
    ndarray
        Between s and 1.

    Notes
    -----
    For experts chosen independently.
    """
    return np.asarray(1.0 - np.power(1.0 - np.asarray(share, dtype=np.float64), experts_per_token))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixtures:
    """The routed-expert rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    count: Array
    experts: Array
    """E of the layer [1]."""
    experts_per_token: Array
    """k [1]."""
    groups: Array
    """Expert-parallel size: this rank holds E / groups experts [1]."""
    hidden: Array
    """Width of an expert's input [1]."""
    intermediate: Array
    """Width of one expert's hidden layer on this rank [1]."""
    matrices: Array
    """3 for gated experts, 2 for plain ones [1]."""
    expert_bytes: Array
    """Stored bytes of one expert on this rank [byte]."""
    activation_bytes: Array
    """a, bytes per input element [byte]."""
    formats: tuple[str, ...]

    def distinct(self, tokens: Array) -> Array:
        """Distinct experts read on this rank.

        Parameters
        ----------
        tokens : ndarray
            Tokens over the whole expert group [token], shape (*grid).

        Returns
        -------
        ndarray
            [1], shape (op, *grid).
        """
        return (distinct_experts(rows(self.experts, tokens), rows(self.experts_per_token, tokens), tokens)
                / rows(self.groups, tokens))

    def pairs(self, tokens: Array) -> Array:
        """(token, expert) pairs computed on this rank, mean over ranks.

        Parameters
        ----------
        tokens : ndarray
            Tokens over the whole expert group [token], shape (*grid).

        Returns
        -------
        ndarray
            [1], shape (op, *grid).
        """
        return rows(self.experts_per_token / self.groups, tokens) * tokens

    def masked_pairs(self, tokens: Array) -> tuple[Array, Array]:
        """Pairs of a gathered batch that belong to other ranks: all, and those of tokens that reach this rank.

        Parameters
        ----------
        tokens : ndarray
            Tokens over the whole expert group [token], shape (*grid).

        Returns
        -------
        tuple
            Two arrays [1], shape (op, *grid); none, of shape (op, 1…), without expert parallelism.
        """
        own = self.experts_per_token / self.groups
        others = rows(self.experts_per_token - own, tokens)
        reached = reached_share(1.0 / self.groups, self.experts_per_token)
        masked = rows(reached * self.experts_per_token - own, tokens)
        return (others * tokens, masked * tokens) if others.any() else (others, masked)

    @property
    def pair_work(self) -> Array:
        """Work of one token in one expert on this rank [FLOP], shape (op,)."""
        return 2.0 * self.matrices * self.hidden * self.intermediate

    def flow(self, tokens: Array) -> Flow:
        """Work and traffic of one execution of each row.

        Parameters
        ----------
        tokens : ndarray
            Tokens over the whole expert group [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        pairs = self.pairs(tokens)
        ups = np.maximum(self.matrices - 1.0, 0.0)
        io = (self.hidden * (self.activation_bytes + OUTPUT_BYTES)
              + self.intermediate * (OUTPUT_BYTES * ups + self.activation_bytes))
        return Flow(work=rows(self.pair_work, tokens) * pairs,
                    weights=rows(self.expert_bytes, tokens) * self.distinct(tokens),
                    cache=np.zeros(pairs.shape), activations=rows(io, tokens) * pairs)
