r"""Traffic between GPUs: all-reduces of tensor parallelism, gathers of data parallelism, logits, pipeline sends.

Volume a GPU sends for a message of S bytes over p ranks: ring all-reduce 2(p-1)/p·S, gather or scatter (p-1)/p·S.

References
----------
Thakur et al., Optimization of Collective Communication Operations in MPICH, 2005 (ring and recursive halving).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.operators.flow import rows
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Collectives:
    """Communication rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """all_reduce | gather | send."""
    count: Array
    ranks: Array
    """p, GPUs taking part [1]."""
    message_bytes: Array
    """S per token of :attr:`is_head`'s kind [byte]."""
    is_head: Array
    """1 where only tokens that need logits enter, else 0."""
    group: Array
    """Tokens of the message per token of this rank (data-parallel groups gather everybody's) [1]."""

    def message(self, tokens: Array, head_tokens: Array) -> Array:
        """S, the message each rank contributes to.

        Parameters
        ----------
        tokens : ndarray
            Tokens of the step on this rank [token], shape (*grid).
        head_tokens : ndarray
            Tokens that need logits on this rank [token], shape (*grid).

        Returns
        -------
        ndarray
            [byte], shape (op, *grid).
        """
        head = rows(self.is_head, tokens)
        per_token = rows(self.message_bytes * self.group, tokens)
        return per_token * (head * head_tokens + (1.0 - head) * tokens)

    def volume(self, tokens: Array, head_tokens: Array) -> Array:
        """Bytes a GPU sends at least, per execution.

        Parameters
        ----------
        tokens : ndarray
            Tokens of the step on this rank [token], shape (*grid).
        head_tokens : ndarray
            Tokens that need logits on this rank [token], shape (*grid).

        Returns
        -------
        ndarray
            Q_link [byte], shape (op, *grid).
        """
        factor = self.factor()
        return rows(factor, tokens) * self.message(tokens, head_tokens)

    def factor(self) -> Array:
        """Bytes sent per byte of message.

        Returns
        -------
        ndarray
            2(p-1)/p for an all-reduce, (p-1)/p for a gather, 1 for a send; shape (op,) or (op, variant).
        """
        share = (self.ranks - 1.0) / self.ranks
        kinds = {"all_reduce": 2.0, "gather": 1.0}
        out = share.copy()
        for index, kind in enumerate(self.kinds):
            out[index] = share[index] * kinds[kind] if kind in kinds else 1.0
        return out
