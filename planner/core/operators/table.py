"""The operator table: what one rank of a deployment executes per step, as coefficient arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from planner.core.operators.attention import Cores
from planner.core.operators.collective import Collectives
from planner.core.operators.elementwise import Passes
from planner.core.operators.matmul import Matmuls
from planner.core.operators.mixture import Mixtures
from planner.core.operators.recurrent import States
from planner.core.parallelism import Layout
from planner.core.quantities.arrays import Array

Group = TypeVar("Group", Matmuls, Mixtures, Cores, States, Passes, Collectives)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorTable:
    """Every operator of one rank, grouped by the way it scales; identical layers are one row with a count."""

    matmuls: Matmuls
    mixtures: Mixtures
    cores: Cores
    states: States
    passes: Passes
    collectives: Collectives
    layers: float
    """Layers a token passes, pipeline imbalance included [1]."""
    layout: Layout
    block_format: str
    """Format of the block weights, for B*."""
    cache_format: str
    hidden: float
    vocabulary_on_rank: Array
    """Logits computed per token on this rank, shape () or (variant,) [1]."""
    expert_ratio: float
    """E / k of the routed experts, 1 for dense models [1]."""
    kind_layers: Mapping[str, float]
    """Layers by core kind (gqa, mla, sparse, linear, ssm) [1]."""
    norm_bytes_per_token: float = 0.0
    """Bytes the norm rows of all layers move per token [byte]."""
    coarse: bool = False
    """Lowered from a card: attention FLOP and activation traffic are unknown and count as zero."""

    @property
    def gpus(self) -> int:
        """GPUs of the replica [1]."""
        return self.layout.gpus

    def sequences_on_rank(self, batch: Array) -> Array:
        """Sequences one rank advances per pass when the replica decodes ``batch``.

        Parameters
        ----------
        batch : ndarray
            B, sequences decoding in the replica [1].

        Returns
        -------
        ndarray
            B over data-parallel groups and pipeline microbatches, at least one [1].
        """
        ranks = self.layout.data * self.layout.pipeline
        return batch if ranks == 1 else np.maximum(batch / ranks, np.minimum(batch, 1.0))

    def expert_group_tokens(self, tokens: Array) -> Array:
        """Tokens the experts see when each rank has ``tokens``.

        Parameters
        ----------
        tokens : ndarray
            Tokens on this rank [token].

        Returns
        -------
        ndarray
            Tokens over the data-parallel groups [token].
        """
        return tokens * float(self.layout.data)


def stack(tables: Sequence[OperatorTable]) -> OperatorTable:
    """One table whose arrays carry a trailing variant axis.

    Parameters
    ----------
    tables : sequence of OperatorTable
        Variants of one model: same rows, other formats, layouts or chips.

    Returns
    -------
    OperatorTable
        Arrays of shape (op, variant); layout-dependent scalars are those of the first table.

    Raises
    ------
    ValueError
        The tables' rows differ.
    """
    first = tables[0]
    parts: dict[str, Any] = {name: _stack_group([getattr(t, name) for t in tables])
             for name in ("matmuls", "mixtures", "cores", "states", "passes", "collectives")}
    parts["vocabulary_on_rank"] = side_by_side([t.vocabulary_on_rank for t in tables])
    rest = {f.name: getattr(first, f.name) for f in fields(first) if f.name not in parts}
    return OperatorTable(**parts, **rest)


def _stack_group(groups: Sequence[Group]) -> Group:
    first = groups[0]
    if any(g.names != first.names for g in groups):
        raise ValueError("Only variants with the same operator rows can be stacked.")
    values: dict[str, Any] = {}
    for f in (f for f in fields(first) if f.init):
        value = getattr(first, f.name)
        stacked = isinstance(value, np.ndarray)
        values[f.name] = side_by_side([getattr(g, f.name) for g in groups]) if stacked else value
    return type(first)(**values)


def side_by_side(values: Sequence[Array]) -> Array:
    """Numbers or rows of several variants as one array with a trailing variant axis.

    Parameters
    ----------
    values : sequence of ndarray
        Of one shape, () or (op,).

    Returns
    -------
    ndarray
        Shape (variant,) or (op, variant); as numpy's stack, in a third of its time.
    """
    return np.ascontiguousarray(np.array(values).T)


def take(table: OperatorTable, kept: slice) -> OperatorTable:
    """Some variants of a stacked table.

    Parameters
    ----------
    table : OperatorTable
        Arrays of shape (op, variant).
    kept : slice
        Places of the variants on the last axis.

    Returns
    -------
    OperatorTable
        Views of the same numbers.
    """
    groups: dict[str, Any] = {name: _take_group(getattr(table, name), kept)
              for name in ("matmuls", "mixtures", "cores", "states", "passes", "collectives")}
    return replace(table, vocabulary_on_rank=table.vocabulary_on_rank[kept], **groups)


def _take_group(group: Group, kept: slice) -> Group:
    values: dict[str, Any] = {f.name: getattr(group, f.name) for f in fields(group) if f.init}
    for name, value in values.items():
        values[name] = value[..., kept] if isinstance(value, np.ndarray) else value
    return type(group)(**values)
