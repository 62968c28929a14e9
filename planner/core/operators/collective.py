r"""Traffic between GPUs: all-reduces of tensor parallelism, gathers of data parallelism, logits, pipeline sends.

Volume a GPU sends for a message of S bytes over p ranks: ring all-reduce 2(p-1)/p·S, gather or scatter (p-1)/p·S.

References
----------
Thakur et al., Optimization of Collective Communication Operations in MPICH, 2005 (ring and recursive halving).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

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
    heads: npt.NDArray[np.bool_] = field(init=False)
    token_bytes: Array = field(init=False)
    """Message per token [byte]."""
    sent_share: Array = field(init=False)
    """Bytes sent per byte of message [1]."""

    def __post_init__(self) -> None:
        """Work out what does not depend on the message."""
        object.__setattr__(self, "heads", self.is_head > 0)
        object.__setattr__(self, "token_bytes", self.message_bytes * self.group)
        object.__setattr__(self, "sent_share", _sent_share(self.kinds, self.ranks))

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
        return rows(self.token_bytes, tokens) * np.where(rows(self.heads, tokens), head_tokens, tokens)

    def volume(self, message: Array) -> Array:
        """Bytes a GPU sends at least, per execution.

        Parameters
        ----------
        message : ndarray
            S of each row [byte], shape (op, *grid).

        Returns
        -------
        ndarray
            Q_link [byte], shape (op, *grid).
        """
        return rows(self.sent_share, message[0]) * message

    @property
    def runs(self) -> tuple[tuple[str, slice], ...]:
        """Neighbouring rows of one kind, which one evaluation serves."""
        return _runs(self.kinds)


@lru_cache(maxsize=1024)
def _runs(kinds: tuple[str, ...]) -> tuple[tuple[str, slice], ...]:
    found, start = [], 0
    for kind, members in groupby(kinds):
        end = start + len(list(members))
        found.append((kind, slice(start, end)))
        start = end
    return tuple(found)


def _sent_share(kinds: tuple[str, ...], ranks: Array) -> Array:
    """Bytes sent per byte of message: 2(p-1)/p for an all-reduce, (p-1)/p for a gather, 1 for a send."""
    share = (ranks - 1.0) / ranks
    of = {"all_reduce": 2.0, "gather": 1.0}
    out = share.copy()
    for index, kind in enumerate(kinds):
        out[index] = share[index] * of[kind] if kind in of else 1.0
    return out
