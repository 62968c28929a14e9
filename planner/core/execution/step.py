"""The cost of one step: every operator's work, traffic and time, and the step's own overhead."""

from __future__ import annotations

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
    table = bound.table
    batch, context = np.broadcast_arrays(batch, context)
    local = table.sequences_on_rank(batch)
    everyone = table.expert_group_tokens(local)
    cores = table.cores.decode(local, context)
    states = table.states.decode(local)
    return _assemble(bound, tokens=local, head=local, batch=local, group=everyone, cores=cores,
                     core_time=decode_core_time(bound, cores, local, context) if len(table.cores.names) else None,
                     states=states, longest=None)


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
    table = bound.table
    tokens, cached = np.broadcast_arrays(np.asarray(tokens, dtype=np.float64), np.asarray(cached, dtype=np.float64))
    one = np.ones_like(tokens)
    cores = table.cores.prefill(tokens, cached)
    states = table.states.prefill(one, tokens)
    cost = _assemble(bound, tokens=tokens, head=one, batch=one, group=tokens, cores=cores,
                     core_time=prompt_core_time(bound, cores) if len(table.cores.names) else None, states=states,
                     longest=tokens)
    return _with_prompt_overhead(bound, cost, tokens)


def _with_prompt_overhead(bound: BoundTable, cost: StepCost, tokens: Array) -> StepCost:
    if bound.curves is None:
        return cost
    over = bound.curves.profile.overhead
    extra = over.prefill_step + over.prefill_per_layer * bound.table.layers + over.per_prefill_token * tokens
    return _replaced(cost, cost.overhead + extra)


def _replaced(cost: StepCost, overhead: Array) -> StepCost:
    values = {name: getattr(cost, name) for name in StepCost.__dataclass_fields__}
    return StepCost(**{**values, "overhead": overhead})


def _assemble(bound: BoundTable, *, tokens: Array, head: Array, batch: Array, group: Array, cores: Flow,
              core_time: Array | None, states: Flow, longest: Array | None) -> StepCost:
    table = bound.table
    parts: list[tuple[tuple[str, ...], Array, Flow, Array, Array]] = []
    if table.matmuls.names:
        m = table.matmuls.tokens(tokens, head)
        flow = table.matmuls.flow(tokens, head)
        parts.append((table.matmuls.names, table.matmuls.count, flow, matmul_time(bound, flow, m), bound.matmul_peak))
    if table.mixtures.names:
        flow = table.mixtures.flow(group)
        parts.append((table.mixtures.names, table.mixtures.count, flow, mixture_time(bound, flow, group),
                      bound.mixture_peak))
    if core_time is not None:
        parts.append((table.cores.names, table.cores.count, cores, core_time, _half(bound, table.cores.count)))
    if table.states.names:
        parts.append((table.states.names, table.states.count, states, state_time(bound, states, longest),
                      _half(bound, table.states.count)))
    if table.passes.names:
        flow = table.passes.flow(tokens)
        parts.append((table.passes.names, table.passes.count, flow, pass_time(bound, flow, tokens),
                      _half(bound, table.passes.count)))
    names = tuple(n for part in parts for n in part[0])
    flows = [part[2] for part in parts]
    link_rows = len(table.collectives.names)
    silent = np.zeros((sum(f.work.shape[0] for f in flows), *tokens.shape))
    quiet = np.zeros((link_rows, *tokens.shape))
    times = [part[3] for part in parts]
    counts = [part[1] for part in parts]
    peaks = [part[4] for part in parts]
    if link_rows:
        times.append(collective_time(bound, tokens, head))
        counts.append(table.collectives.count)
        peaks.append(_half(bound, table.collectives.count))
    volume = table.collectives.volume(tokens, head) if link_rows else quiet
    return StepCost(
        names=(*names, *table.collectives.names), count=np.concatenate(counts),
        work=np.concatenate([*(f.work for f in flows), quiet]),
        weights=np.concatenate([*(f.weights for f in flows), quiet]),
        cache=np.concatenate([*(f.cache for f in flows), quiet]),
        activations=np.concatenate([*(f.activations for f in flows), quiet]),
        link=np.concatenate([silent, volume]), time=np.concatenate(times), peak=np.concatenate(peaks),
        overhead=overhead_time(bound, tokens, head, batch), bandwidth=bound.bandwidth)


def _half(bound: BoundTable, count: Array) -> Array:
    return np.broadcast_to(bound.half_peak, count.shape)
