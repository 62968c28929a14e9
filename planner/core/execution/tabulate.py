"""Step tables from the execution model: sampled over token counts once, linear in everything else."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from planner.core.execution.bound import BoundTable, widen
from planner.core.execution.step_table import StepTable
from planner.core.execution.times import (
    collective_time,
    decode_core_time,
    matmul_time,
    mixture_time,
    pass_time,
    prompt_core_time,
    state_time,
)
from planner.core.hardware.efficiency.attention import DecodeCurve, decode_floor
from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array

NODES: Array = np.unique(np.concatenate([
    np.arange(1, 17), np.geomspace(16, 1024, 37), np.geomspace(1024, 131072, 29)]).round()).astype(np.float64)
"""Token counts a table is sampled at: every one up to 16, then 12 % and 19 % apart [token]."""
_PROBE = 4096.0  # [token] prompt length slopes per prompt token are read at
_HEAD_PROBE = 257.0  # [token] logit rows the head's slope is read at


def step_table(bound: BoundTable, context: Array) -> StepTable:
    """The step table of one attention group (rank and microbatch).

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings; arrays (op,) or (op, variant).
    context : ndarray
        Representative context for the logarithmic floor of attention kernels [token], shape () or (variant,).

    Returns
    -------
    StepTable
        With grid () or (variant,). Times are those of :mod:`planner.core.execution.step` at the nodes, with the LM head
        and sampling linear in the decoding sequences.
    """
    table = bound.table
    grid = np.asarray(context, dtype=np.float64)
    nodes = np.broadcast_to(NODES, (*grid.shape, NODES.size))
    one = np.ones_like(nodes)
    base = _collectives(bound, nodes, one)
    base = base + _matmuls(bound, nodes, one)
    if table.mixtures.names:
        everyone = table.expert_group_tokens(nodes)
        flow = table.mixtures.flow(everyone)
        base = base + _sum(table.mixtures.count, mixture_time(bound, flow, everyone), nodes)
    if table.passes.names:
        base = base + _sum(table.passes.count, pass_time(bound, nodes), nodes)
    prompt, pair = _prompt_slopes(bound, grid)
    head = _head_slope(bound, grid) + bound.terms.per_head
    floor = bound.terms.fixed + _floors(bound, grid)
    base = base + (floor + np.zeros_like(grid))[..., None] + (bound.terms.per_token + prompt)[..., None] * nodes
    spans, slopes, per_sequence = _context_slopes(bound, grid)
    over = None if bound.curves is None else bound.curves.profile.overhead
    request = 0.0 if over is None else over.per_request
    extra = 0.0 if over is None else over.prefill_step + over.prefill_per_layer * table.layers
    return StepTable(nodes=NODES, base=np.moveaxis(base, -1, 0), windows=spans, per_context_token=slopes, per_pair=pair,
                     per_request=head + per_sequence - prompt + request, prefill_extra=extra + np.zeros_like(grid))


def floor_growth(bound: BoundTable, context: Array, reference: float) -> Array:
    """How much longer a step's attention floors are at one context than at another.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    context : ndarray
        [token], shape (*grid).
    reference : float
        Context a table was built at [token].

    Returns
    -------
    ndarray
        To add to the table's base [s], shape (*grid); zero under datasheet ceilings.
    """
    if bound.curves is None or bound.curves.decode is None:
        return np.zeros_like(context)
    where = np.asarray(context, dtype=np.float64)
    return _floors(bound, where) - _floors(bound, np.full_like(where, reference))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFloors:
    """What :func:`floor_growth` needs of a table, in plain numbers for one context at a time."""

    rows: tuple[tuple[float, float, float, DecodeCurve], ...]
    """Count, stride and span of each attention core, and its curve."""
    scale: float
    """Share of a floor left in a graph [1]."""
    reference: float
    """Floors of a step at the context a step table was built at [s]."""

    def growth(self, context: float) -> float:
        """How much longer a step's attention floors are at a context than at the reference.

        Parameters
        ----------
        context : float
            [token].

        Returns
        -------
        float
            [s].
        """
        return self.at(context) - self.reference

    def at(self, context: float) -> float:
        """Floors of all attention cores in a decode step.

        Parameters
        ----------
        context : float
            [token].

        Returns
        -------
        float
            [s].
        """
        total = 0.0
        for count, stride, span, curve in self.rows:
            total += count * decode_floor(curve, context=min(context / stride, span), batch=0.0, floor_scale=self.scale)
        return total


def attention_floors(bound: BoundTable, reference: float) -> AttentionFloors:
    """The attention floors of a table in plain numbers.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    reference : float
        Context a step table was built at [token].

    Returns
    -------
    AttentionFloors
        Without rows under datasheet ceilings, which have no floors.
    """
    if bound.curves is None or bound.curves.decode is None:
        return AttentionFloors(rows=(), scale=1.0, reference=0.0)
    cores, curve = bound.table.cores, bound.curves.decode
    names = [field.name for field in fields(curve)]
    columns = zip(*(getattr(curve, name).tolist() for name in names), strict=True)
    plain = [DecodeCurve(**dict(zip(names, values, strict=True))) for values in columns]
    made = AttentionFloors(
        rows=tuple(zip(cores.count.tolist(), cores.stride.tolist(), cores.span.tolist(), plain, strict=True)),
        scale=float(bound.curves.profile.overhead.floor_scale), reference=0.0)
    return replace(made, reference=made.at(reference))


def _sum(count: Array, times: Array, like: Array) -> Array:
    return np.asarray((rows(count, like) * times).sum(axis=0))


def _matmuls(bound: BoundTable, tokens: Array, head: Array) -> Array:
    group = bound.table.matmuls
    if not group.names:
        return np.zeros_like(tokens)
    m = group.tokens(tokens, head)
    return _sum(group.count, matmul_time(bound, group.flow(m), m), tokens)


def _collectives(bound: BoundTable, tokens: Array, head: Array) -> Array:
    group = bound.table.collectives
    if not group.names:
        return np.zeros_like(tokens)
    message = group.message(tokens, head)
    return _sum(group.count, collective_time(bound, message, group.volume(message)), tokens)


def _head_slope(bound: BoundTable, like: Array) -> Array:
    """Seconds per decoding sequence of the head and of the logits' way through the links."""
    one = np.ones_like(like)
    many = np.full_like(like, _HEAD_PROBE)
    heads = bound.table.matmuls.is_head > 0
    if not heads.any():
        return np.zeros_like(like)
    slope = (_matmuls(bound, one, many) - _matmuls(bound, one, one)) / (_HEAD_PROBE - 1)
    slope = slope + (_collectives(bound, one, many) - _collectives(bound, one, one)) / (_HEAD_PROBE - 1)
    return np.asarray(slope)


def _floors(bound: BoundTable, context: Array) -> Array:
    """Context-independent time of attention and recurrent kernels in a decode step."""
    table, total = bound.table, np.zeros_like(context)
    if bound.curves is None:
        return total
    scale = bound.curves.profile.overhead.floor_scale
    if bound.curves.decode is not None:
        floors = decode_floor(widen(bound.curves.decode, context), context=table.cores.attended(context), batch=0.0,
                              floor_scale=scale)
        total = total + _sum(table.cores.count, floors, context)
    if table.states.names:
        nothing = table.states.decode(np.zeros_like(context))
        total = total + _sum(table.states.count, state_time(bound, nothing, None), context)
    return total


def _context_slopes(bound: BoundTable, context: Array) -> tuple[Array, Array, Array]:
    """Attention spans, seconds per attended context token of each, and seconds per decoding sequence."""
    cores, one = bound.table.cores, np.ones_like(context)
    per_sequence = _state_slope(bound, context)
    if not cores.names:
        return np.array([np.inf]), np.zeros((1, *context.shape)), per_sequence
    spans = cores.span if cores.span.ndim == 1 else cores.span[:, 0]
    strides = cores.stride if cores.stride.ndim == 1 else cores.stride[:, 0]
    reach = spans * strides
    classes = np.unique(reach)
    short = np.minimum(rows(reach / 2, context), 512.0) + np.zeros_like(context)
    near = _core_times(bound, one, short / 2) - _core_floor(bound, one, short / 2)
    far = _core_times(bound, one, short) - _core_floor(bound, one, short)
    slope = (far - near) / (short / 2)
    rest = near - slope * short / 2
    count = rows(cores.count, context)
    slopes = np.stack([(count * slope)[reach == span].sum(axis=0) for span in classes])
    return classes, slopes, np.asarray(per_sequence + (count * np.maximum(rest, 0.0)).sum(axis=0))


def _core_times(bound: BoundTable, batch: Array, contexts: Array) -> Array:
    """Core times with one context per row, shape (op, *grid)."""
    out = []
    for index in range(contexts.shape[0]):
        flow = bound.table.cores.decode(batch, contexts[index])
        out.append(decode_core_time(bound, flow, batch, contexts[index])[index])
    return np.stack(out)


def _core_floor(bound: BoundTable, batch: Array, contexts: Array) -> Array:
    if bound.curves is None or bound.curves.decode is None:
        return np.zeros_like(contexts)
    curve, scale = widen(bound.curves.decode, batch), bound.curves.profile.overhead.floor_scale
    attended = contexts / rows(bound.table.cores.stride, batch)
    return np.asarray(decode_floor(curve, context=attended, batch=0.0, floor_scale=scale))


def _state_slope(bound: BoundTable, like: Array) -> Array:
    states = bound.table.states
    if not states.names:
        return np.zeros_like(like)
    one, two = (state_time(bound, states.decode(np.full_like(like, n)), None) for n in (64.0, 128.0))
    return _sum(states.count, (two - one) / 64.0, like)


def _prompt_slopes(bound: BoundTable, like: Array) -> tuple[Array, Array]:
    """Seconds per prompt token of caches, states and untensored work, and seconds per (query, key) pair."""
    table = bound.table
    token, pair = np.zeros_like(like), np.zeros_like(like)
    if bound.curves is not None:
        token = token + bound.curves.profile.overhead.per_prefill_token
    one, probe = np.ones_like(like), np.full_like(like, _PROBE)
    if table.states.names:
        long, short = (state_time(bound, table.states.prefill(one, t), t) for t in (probe, probe / 2))
        token = token + _sum(table.states.count, (long - short) / (_PROBE / 2), like)
    if table.cores.names:
        flow = table.cores.prefill(probe, np.zeros_like(like))
        flat = np.zeros_like(flow.work)
        moved = Flow(work=flat, weights=flow.weights, cache=flow.cache, activations=flow.activations)
        still = Flow(work=flat, weights=flat, cache=flat, activations=flat)
        empty = prompt_core_time(bound, still)
        bytes_time = prompt_core_time(bound, moved) - empty
        worked = Flow(work=flow.work, weights=flat, cache=flat, activations=flat)
        slope = (prompt_core_time(bound, worked) - empty) / table.cores.pairs(probe, np.zeros_like(like))
        windowed = rows(table.cores.span * table.cores.stride, like) < _PROBE
        count = rows(table.cores.count, like)
        pair = pair + (count * np.where(windowed, 0.0, slope / rows(table.cores.stride, like))).sum(axis=0)
        per_token = bytes_time / _PROBE + np.where(windowed, slope * table.cores.pairs(probe, np.zeros_like(like))
                                                   / _PROBE, 0.0)
        token = token + (count * per_token).sum(axis=0)
    return token, pair
