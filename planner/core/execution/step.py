"""The cost of one step: every operator's work, traffic and time, and the step's own overhead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.execution.times import (
    collective_time,
    decode_core_time,
    matmul_time,
    mixture_time,
    overhead_time,
    pass_time,
    prompt_core_time,
    prompt_overhead,
    state_time,
)
from planner.core.operators.attention import Cores
from planner.core.operators.elementwise import Passes
from planner.core.operators.flow import Flow
from planner.core.operators.recurrent import States
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group of operators in a step; arrays are (op, *its own grid)."""

    names: tuple[str, ...]
    count: Array
    flow: Flow | None
    """None for communication, which moves no memory traffic of its own."""
    time: Array
    peak: Array
    link: Array | None


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


def decode_sequences(bound: BoundTable, local: Array, context: Array) -> list[Part]:
    """The groups that see sequences, attention cores and recurrent states, in a decode step.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    local : ndarray
        Sequences on this rank [1]; broadcasts against context.
    context : ndarray
        Mean context of a sequence [token].

    Returns
    -------
    list of Part
        At most one each.
    """
    table, parts = bound.table, []
    if table.cores.names:
        wide, deep = np.broadcast_arrays(local, context) if np.shape(local) != np.shape(context) else (local, context)
        flow = table.cores.decode(wide, deep)
        parts.append(_part(bound, table.cores, flow, decode_core_time(bound, flow, wide, deep)))
    if table.states.names:
        flow = table.states.decode(local)
        parts.append(_part(bound, table.states, flow, state_time(bound, flow, None)))
    return parts


def prompt_sequences(bound: BoundTable, tokens: Array, cached: Array) -> list[Part]:
    """The same over a prompt.

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
    list of Part
        At most one each.
    """
    table, parts = bound.table, []
    if table.cores.names:
        long, old = np.broadcast_arrays(tokens, cached) if tokens.shape != cached.shape else (tokens, cached)
        flow = table.cores.prefill(long, old)
        parts.append(_part(bound, table.cores, flow, prompt_core_time(bound, flow)))
    if table.states.names:
        flow = table.states.prefill(np.ones_like(tokens), tokens)
        parts.append(_part(bound, table.states, flow, state_time(bound, flow, tokens)))
    return parts


def token_parts(bound: BoundTable, tokens: Array, head: Array, group: Array) -> tuple[list[Part], list[Part]]:
    """The groups that see only numbers of tokens, be they decoded or of a prompt.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : ndarray
        Tokens of the step on this rank [token], shape (*grid).
    head : ndarray
        Those that need logits [token], shape (*grid).
    group : ndarray
        Tokens over the expert group [token], shape (*grid).

    Returns
    -------
    tuple of list
        Groups before those that see sequences, and behind them.
    """
    table = bound.table
    first, last = [], []
    if table.matmuls.names:
        m = table.matmuls.tokens(tokens, head)
        flow = table.matmuls.flow(m)
        first.append(Part(names=table.matmuls.names, count=table.matmuls.count, flow=flow, peak=bound.matmul_peak,
                          time=matmul_time(bound, flow, m), link=None))
    if table.mixtures.names:
        flow = table.mixtures.flow(group)
        first.append(Part(names=table.mixtures.names, count=table.mixtures.count, flow=flow, peak=bound.mixture_peak,
                          time=mixture_time(bound, flow, group), link=None))
    if table.passes.names:
        flow = table.passes.flow(tokens)
        last.append(_part(bound, table.passes, flow, pass_time(bound, tokens)))
    if table.collectives.names:
        message = table.collectives.message(tokens, head)
        volume = table.collectives.volume(message)
        last.append(Part(names=table.collectives.names, count=table.collectives.count, flow=None, link=volume,
                         time=collective_time(bound, message, volume), peak=_half(bound, table.collectives.count)))
    return first, last


def _part(bound: BoundTable, group: Cores | States | Passes, flow: Flow, time: Array) -> Part:
    """A group that runs under the 16-bit peak."""
    return Part(names=group.names, count=group.count, flow=flow, time=time, peak=_half(bound, group.count), link=None)


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


def _half(bound: BoundTable, count: Array) -> Array:
    peak = np.empty(count.shape)
    peak[...] = bound.half_peak
    return peak
