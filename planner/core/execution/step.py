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
    state_time,
)
from planner.core.operators.flow import Flow
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

    def variant(self, index: int) -> StepCost:
        """One variant of a stacked step, without its axis.

        Parameters
        ----------
        index : int
            Its place on the variant axis.

        Returns
        -------
        StepCost
            Arrays of shape (op,).
        """
        arrays = {name: getattr(self, name)[..., index] for name in StepCost.__dataclass_fields__ if name != "names"}
        return StepCost(names=self.names, **arrays)

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
    cores = None
    if table.cores.names:
        wide, deep = np.broadcast_arrays(local, context) if np.shape(local) != np.shape(context) else (local, context)
        flow = table.cores.decode(wide, deep)
        cores = (flow, decode_core_time(bound, flow, wide, deep))
    parts = _parts(bound, tokens=local, head=local, group=table.expert_group_tokens(local), cores=cores,
                   states=table.states.decode(local), longest=None)
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
    table = bound.table
    tokens = np.asarray(tokens, dtype=np.float64)
    one = np.ones_like(tokens)
    cores = None
    if table.cores.names:
        long, old = np.broadcast_arrays(tokens, np.asarray(cached, dtype=np.float64))
        flow = table.cores.prefill(long, old)
        cores = (flow, prompt_core_time(bound, flow))
    parts = _parts(bound, tokens=tokens, head=one, group=tokens, cores=cores, states=table.states.prefill(one, tokens),
                   longest=tokens)
    overhead = overhead_time(bound, tokens, one, one)
    if bound.curves is not None:
        over = bound.curves.profile.overhead
        overhead = overhead + (over.prefill_step + over.prefill_per_layer * table.layers
                               + over.per_prefill_token * tokens)
    return parts, overhead


def _parts(bound: BoundTable, *, tokens: Array, head: Array, group: Array, cores: tuple[Flow, Array] | None,
           states: Flow, longest: Array | None) -> list[Part]:
    """The operator groups of a step, each on the smallest grid that its numbers vary on."""
    table, parts = bound.table, []
    if table.matmuls.names:
        flow = table.matmuls.flow(tokens, head)
        parts.append(Part(names=table.matmuls.names, count=table.matmuls.count, flow=flow, peak=bound.matmul_peak,
                          time=matmul_time(bound, flow, table.matmuls.tokens(tokens, head)), link=None))
    if table.mixtures.names:
        flow = table.mixtures.flow(group)
        parts.append(Part(names=table.mixtures.names, count=table.mixtures.count, flow=flow, peak=bound.mixture_peak,
                          time=mixture_time(bound, flow, group), link=None))
    if cores is not None:
        parts.append(Part(names=table.cores.names, count=table.cores.count, flow=cores[0], time=cores[1], link=None,
                          peak=_half(bound, table.cores.count)))
    if table.states.names:
        parts.append(Part(names=table.states.names, count=table.states.count, flow=states, link=None,
                          time=state_time(bound, states, longest), peak=_half(bound, table.states.count)))
    if table.passes.names:
        flow = table.passes.flow(tokens)
        parts.append(Part(names=table.passes.names, count=table.passes.count, flow=flow, link=None,
                          time=pass_time(bound, flow, tokens), peak=_half(bound, table.passes.count)))
    if table.collectives.names:
        parts.append(Part(names=table.collectives.names, count=table.collectives.count, flow=None,
                          time=collective_time(bound, tokens, head), link=table.collectives.volume(tokens, head),
                          peak=_half(bound, table.collectives.count)))
    return parts


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
    return np.full(count.shape, bound.half_peak)
