"""The cost of one step: every operator's work, traffic and time, and the step's own overhead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.execution.parts import Part, decode_sequences, prompt_sequences, token_parts
from planner.core.execution.times import overhead_time, prompt_overhead
from planner.core.quantities.arrays import Array

BOUNDS = ("memory", "compute", "communication", "overhead")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCost:
    """One step on one rank; every array is (op, *grid) or (*grid), per execution of a row where rows are counted."""

    names: tuple[str, ...]
    count: Array
    """Executions of each row in the step, shape (op,) or (op, variant) [1]."""
    work: Array
    weights: Array
    cache: Array
    activations: Array
    link: Array
    """Bytes sent to other GPUs [byte]."""
    time: Array
    """[s] of one execution."""
    peak: Array
    """π each row runs under, shape (op,) or (op, variant) [FLOP/s]."""
    overhead: Array
    """[s] of the step beside its operators, shape (*grid)."""
    bandwidth: Array

    @property
    def step_time(self) -> Array:
        """Time of the step, shape (*grid) [s]."""
        return np.asarray(self.total(self.time) + self.overhead)

    def total(self, values: Array) -> Array:
        """Sum over rows of count × value.

        Parameters
        ----------
        values : ndarray
            One of this step's arrays, shape (op, *grid).

        Returns
        -------
        ndarray
            Shape (*grid).
        """
        count = self.count.reshape(self.count.shape + (1,) * (values.ndim - self.count.ndim))
        return np.asarray((count * values).sum(axis=0))

    @property
    def traffic(self) -> Array:
        """Memory traffic of the rows, all streams, shape (op, *grid) [byte]."""
        return self.weights + self.cache + self.activations


def decode_step(bound: BoundTable, batch: Array, context: Array) -> StepCost:
    """One decode step of a replica.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    batch : ndarray
        B, sequences decoding in the replica [1], shape (*grid).
    context : ndarray
        Mean context of a sequence [token], shape (*grid).

    Returns
    -------
    StepCost
        Per busiest GPU.
    """
    parts, overhead = decode_parts(bound, batch, context)
    return _assembled(parts, overhead, bound.bandwidth, np.broadcast_shapes(np.shape(batch), np.shape(context)))


def decode_parts(bound: BoundTable, batch: Array, context: Array) -> tuple[list[Part], Array]:
    """One decode step, group by group, and its overhead.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    batch : ndarray
        B, sequences decoding in the replica [1]; broadcasts against context.
    context : ndarray
        Mean context of a sequence [token].

    Returns
    -------
    tuple
        Parts, each on the grid its numbers vary on, and the overhead [s].
    """
    table = bound.table
    local = table.sequences_on_rank(batch)
    before, behind = token_parts(bound, local, local, table.expert_group_tokens(local))
    parts = [*before, *decode_sequences(bound, local, context), *behind]
    return parts, overhead_time(bound, local, local, local)


def prompt_step(bound: BoundTable, tokens: Array, cached: Array) -> StepCost:
    """One step that computes ``tokens`` prompt tokens of a single sequence and nothing else.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : ndarray
        Prompt tokens computed [token], shape (*grid).
    cached : ndarray
        Tokens of the prompt already in the cache [token], shape (*grid).

    Returns
    -------
    StepCost
        Per busiest GPU; the LM head runs once.
    """
    parts, overhead = prompt_parts(bound, tokens, cached)
    return _assembled(parts, overhead, bound.bandwidth, np.broadcast_shapes(np.shape(tokens), np.shape(cached)))


def prompt_parts(bound: BoundTable, tokens: Array, cached: Array) -> tuple[list[Part], Array]:
    """One prompt step, group by group, and its overhead.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : ndarray
        Prompt tokens computed [token]; broadcasts against cached.
    cached : ndarray
        Tokens of the prompt already in the cache [token].

    Returns
    -------
    tuple
        Parts, each on the grid its numbers vary on, and the overhead [s].
    """
    tokens = np.asarray(tokens, dtype=np.float64)
    one = np.ones_like(tokens)
    before, behind = token_parts(bound, tokens, one, tokens)
    parts = [*before, *prompt_sequences(bound, tokens, np.asarray(cached, dtype=np.float64)), *behind]
    return parts, overhead_time(bound, tokens, one, one) + prompt_overhead(bound, tokens)


def _assembled(parts: list[Part], overhead: Array, bandwidth: Array, grid: tuple[int, ...]) -> StepCost:
    """Parts put together into one table over the whole grid."""

    def joined(pick: Callable[[Part], Array | None]) -> Array:
        found = []
        for part in parts:
            value = pick(part)
            shape = (len(part.names), *grid)
            found.append(np.zeros(shape) if value is None else value if value.shape == shape
                         else np.broadcast_to(value, shape))
        return np.concatenate(found)

    return StepCost(
        names=tuple(name for part in parts for name in part.names), count=np.concatenate([p.count for p in parts]),
        work=joined(lambda p: None if p.flow is None else p.flow.work),
        weights=joined(lambda p: None if p.flow is None else p.flow.weights),
        cache=joined(lambda p: None if p.flow is None else p.flow.cache),
        activations=joined(lambda p: None if p.flow is None else p.flow.activations),
        link=joined(lambda p: p.link), time=joined(lambda p: p.time), peak=np.concatenate([p.peak for p in parts]),
        overhead=overhead if overhead.shape == grid else np.broadcast_to(overhead, grid), bandwidth=bandwidth)
