"""Time of each operator group under its ceilings: datasheet rooflines, or fitted curves that never beat them."""

from __future__ import annotations

import numpy as np

from planner.core.execution.bound import BoundTable, widen
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.efficiency.attention import decode_attention_time, prompt_attention_time
from planner.core.hardware.efficiency.linear import recurrent_decode_time, recurrent_prompt_time
from planner.core.hardware.efficiency.moe import MoeLoad, moe_stream_bytes, moe_time, tile_work, touched_share
from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array


def _wide(values: Array, like: Array) -> Array:
    return values.reshape(values.shape + (1,) * (like.ndim - values.ndim)) if values.ndim else values


def matmul_time(bound: BoundTable, flow: Flow, tokens: Array) -> Array:
    """Time of each GEMM row, shape (op, *grid) [s]; ``tokens`` has shape (op, *grid)."""
    grid = tokens[0]
    if bound.terms.gemm is None:
        return time_overlapped(flow.work, flow.traffic, rows(bound.matmul_peak, grid), _wide(bound.bandwidth, grid))
    return widen(bound.terms.gemm, grid).time(work=flow.work, traffic=flow.traffic, tokens=tokens)


def mixture_time(bound: BoundTable, flow: Flow, tokens: Array) -> Array:
    """Time of each expert row for ``tokens`` over the expert group, shape (op, *grid) [s]."""
    peak, beta = rows(bound.mixture_peak, tokens), _wide(bound.bandwidth, tokens)
    if bound.curves is None or bound.curves.moe is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    mix, over = bound.table.mixtures, bound.curves.profile.overhead
    local = rows(mix.experts / mix.groups, tokens)
    distinct = mix.distinct(tokens)
    imbalance = np.where(rows(mix.groups, tokens) > 1, 1 + over.expert_imbalance, 1.0)
    touched = touched_share(over.routing_concentration, experts=rows(mix.experts, tokens), tokens=tokens,
                            experts_per_token=rows(mix.experts_per_token, tokens),
                            uniform=distinct * rows(mix.groups, tokens))
    busiest = np.minimum(distinct * touched * imbalance, local)
    masked, computed = mix.masked_pairs(tokens)
    shape = {"hidden": rows(mix.hidden, tokens), "inner": rows(mix.intermediate, tokens),
             "activation_bytes": rows(mix.activation_bytes, tokens)}
    pair_work = rows(mix.pair_work, tokens)
    load = MoeLoad(
        work=flow.work * imbalance, weight_traffic=flow.weights * (busiest / distinct), distinct=busiest,
        local_experts=local, stream_traffic=moe_stream_bytes(tokens=tokens, pairs=mix.pairs(tokens), **shape),
        gathered_traffic=moe_stream_bytes(tokens=0.0, pairs=masked, **shape), masked_work=pair_work * computed,
        row_work=tile_work(pair_work=pair_work, distinct=busiest, tokens=tokens, local_experts=local))
    time = moe_time(widen(bound.curves.moe, tokens), load, peak=peak, bandwidth=beta, floor_scale=over.floor_scale)
    return over.per_mixture + np.maximum(over.moe_scale * time, time_overlapped(flow.work, flow.traffic, peak, beta))


def decode_core_time(bound: BoundTable, flow: Flow, batch: Array, context: Array) -> Array:
    """Time of each attention core in a decode step, shape (op, *grid) [s]."""
    peak, beta = _wide(bound.half_peak, context), _wide(bound.bandwidth, context)
    if bound.curves is None or bound.curves.decode is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    return decode_attention_time(widen(bound.curves.decode, context), work=flow.work, cache_traffic=flow.cache,
                                 io_traffic=flow.activations, context=bound.table.cores.attended(context), batch=batch,
                                 peak=peak, bandwidth=beta, floor_scale=bound.curves.profile.overhead.floor_scale)


def prompt_core_time(bound: BoundTable, flow: Flow) -> Array:
    """Time of each attention core over a prompt, shape (op, *grid) [s]."""
    grid = flow.work[0]
    peak, beta = _wide(bound.half_peak, grid), _wide(bound.bandwidth, grid)
    if bound.curves is None or bound.curves.prompt is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    return prompt_attention_time(widen(bound.curves.prompt, grid), work=flow.work, traffic=flow.traffic, peak=peak,
                                 bandwidth=beta, floor_scale=bound.curves.profile.overhead.floor_scale)


def state_time(bound: BoundTable, flow: Flow, longest: Array | None) -> Array:
    """Time of each recurrent row, decode when ``longest`` is None, else a prompt of that length [s]."""
    grid = flow.work[0]
    peak, beta = _wide(bound.half_peak, grid), _wide(bound.bandwidth, grid)
    if bound.curves is None or bound.curves.recurrent is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    curve, scale = widen(bound.curves.recurrent, grid), bound.curves.profile.overhead.floor_scale
    if longest is None:
        timed = recurrent_decode_time(curve, traffic=flow.traffic, bandwidth=beta, floor_scale=scale)
    else:
        timed = recurrent_prompt_time(curve, work=flow.work, traffic=flow.traffic, longest=longest, peak=peak,
                                      bandwidth=beta, floor_scale=scale)
    return np.maximum(timed, time_overlapped(flow.work, flow.traffic, peak, beta))


def pass_time(bound: BoundTable, tokens: Array) -> Array:
    """Time of each element-wise row, shape (op, *grid) [s]."""
    return rows(bound.terms.passes, tokens) * tokens


def collective_time(bound: BoundTable, message: Array, volume: Array) -> Array:
    """Time of each communication row for its message and the bytes sent for it [byte], shape (op, *grid) [s]."""
    grid = message[0]
    ideal = volume / rows(bound.link_rate, grid)
    if bound.curves is None:
        return ideal
    timed = np.empty(message.shape)
    for run, terms in bound.terms.links:
        timed[run] = widen(terms, grid).time(message[run])
    return np.maximum(timed, ideal)


def overhead_time(bound: BoundTable, tokens: Array, head_tokens: Array, batch: Array) -> Array:
    """What a step costs beside its operators: launches, host work, sampling, extra passes, shape (*grid) [s]."""
    if bound.curves is None:
        return np.zeros(np.broadcast_shapes(tokens.shape, batch.shape))
    terms = bound.terms
    return (terms.fixed + _wide(terms.per_token, tokens) * tokens + _wide(terms.per_head, tokens) * head_tokens
            + bound.curves.profile.overhead.per_request * batch)


def prompt_overhead(bound: BoundTable, tokens: Array) -> Array:
    """What a step with prompt tokens costs beyond its :func:`overhead_time`, shape (*grid) [s]."""
    if bound.curves is None:
        return np.zeros_like(tokens)
    over = bound.curves.profile.overhead
    return over.prefill_step + over.prefill_per_layer * bound.table.layers + over.per_prefill_token * tokens
