"""Time of each operator group under its ceilings: datasheet rooflines, or fitted curves that never beat them."""

from __future__ import annotations

import numpy as np

from planner.core.execution.bound import BoundTable, widen
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.efficiency.attention import decode_attention_time, prompt_attention_time
from planner.core.hardware.efficiency.collective import all_reduce_time, gather_time
from planner.core.hardware.efficiency.gemm import gemm_time
from planner.core.hardware.efficiency.linear import recurrent_decode_time, recurrent_prompt_time
from planner.core.hardware.efficiency.moe import moe_stream_bytes, moe_time, touched_share
from planner.core.hardware.efficiency.pointwise import pointwise_time
from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array

_HALF_BYTES = 2.0  # [byte] activations between kernels
_LOGIT_BYTES = 4.0  # [byte] logits are sampled in fp32


def _wide(values: Array, like: Array) -> Array:
    return values.reshape(values.shape + (1,) * (like.ndim - values.ndim)) if values.ndim else values


def matmul_time(bound: BoundTable, flow: Flow, tokens: Array) -> Array:
    """Time of each GEMM row, shape (op, *grid) [s]; ``tokens`` has shape (op, *grid)."""
    grid = tokens[0]
    peak, beta = rows(bound.matmul_peak, grid), _wide(bound.bandwidth, grid)
    if bound.curves is None or bound.curves.gemm is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    curve, over = widen(bound.curves.gemm, grid), bound.curves.profile.overhead
    return gemm_time(curve, work=flow.work, traffic=flow.traffic, tokens=tokens,
                     inputs=rows(bound.table.matmuls.inputs, grid), peak=peak, bandwidth=beta,
                     floor_scale=over.floor_scale)


def mixture_time(bound: BoundTable, flow: Flow, tokens: Array) -> Array:
    """Time of each expert row for ``tokens`` over the expert group, shape (op, *grid) [s]."""
    peak, beta = rows(bound.mixture_peak, tokens), _wide(bound.bandwidth, tokens)
    if bound.curves is None or bound.curves.moe is None:
        return time_overlapped(flow.work, flow.traffic, peak, beta)
    mix, over = bound.table.mixtures, bound.curves.profile.overhead
    spread = rows(mix.groups, tokens) > 1
    local = rows(mix.experts / mix.groups, tokens)
    distinct = mix.distinct(tokens)
    imbalance = np.where(spread, 1 + over.expert_imbalance, 1.0)
    touched = touched_share(over.routing_concentration, experts=rows(mix.experts, tokens), tokens=tokens,
                            experts_per_token=rows(mix.experts_per_token, tokens),
                            uniform=distinct * rows(mix.groups, tokens))
    busiest = np.minimum(distinct * touched * imbalance, local)
    pairs = mix.pairs(tokens)
    hidden = rows(mix.hidden, tokens)
    stream = moe_stream_bytes(tokens=tokens, pairs=pairs, hidden=hidden, inner=rows(mix.intermediate, tokens),
                              activation_bytes=rows(mix.activation_bytes, tokens))
    gathered = np.where(spread, 4.0 * rows(mix.experts_per_token, tokens) * tokens * hidden, 0.0)
    time = moe_time(widen(bound.curves.moe, tokens), work=flow.work * imbalance,
                    weight_traffic=flow.weights * (busiest / distinct), stream_traffic=stream, distinct=busiest,
                    local_experts=local, peak=peak, bandwidth=beta, gathered_traffic=gathered,
                    floor_scale=over.floor_scale)
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


def pass_time(bound: BoundTable, flow: Flow, tokens: Array) -> Array:
    """Time of each element-wise row, shape (op, *grid) [s]."""
    peak, beta = _wide(bound.half_peak, tokens), _wide(bound.bandwidth, tokens)
    floor = time_overlapped(flow.work, flow.traffic, peak, beta)
    if bound.curves is None:
        return floor
    return np.maximum(pointwise_time(bound.curves.profile.pointwise, traffic=flow.traffic, bandwidth=beta), floor)


def collective_time(bound: BoundTable, tokens: Array, head_tokens: Array) -> Array:
    """Time of each communication row, shape (op, *grid) [s]."""
    group = bound.table.collectives
    message, rate = group.message(tokens, head_tokens), rows(bound.link_rate, tokens)
    ideal = group.volume(tokens, head_tokens) / rate
    if bound.curves is None:
        return ideal
    profile = bound.curves.profile
    ranks, scale = rows(group.ranks, tokens), profile.overhead.collective_scale
    out = np.empty_like(ideal)
    for index, kind in enumerate(group.kinds):
        one = {"ranks": ranks[index], "link_rate": rate[index], "scale": scale}
        if kind == "all_reduce":
            out[index] = all_reduce_time(profile.all_reduce, message=message[index], **one)
        elif kind == "gather":
            out[index] = gather_time(profile.gather, total=message[index], **one)
        else:  # one neighbour: a gather's latency and half of its two-rank volume
            out[index] = gather_time(profile.gather, total=2.0 * message[index], ranks=2.0, link_rate=rate[index],
                                     scale=scale)
    return np.maximum(out, ideal)


def overhead_time(bound: BoundTable, tokens: Array, head_tokens: Array, batch: Array) -> Array:
    """What a step costs beside its operators: launches, host work, sampling, extra passes, shape (*grid) [s]."""
    if bound.curves is None:
        return np.zeros(np.broadcast_shapes(tokens.shape, batch.shape))
    per_token, per_head = streaming_slopes(bound, tokens)
    return (fixed_overhead(bound) + per_token * tokens + per_head * head_tokens
            + bound.curves.profile.overhead.per_request * batch)


def fixed_overhead(bound: BoundTable) -> float:
    """Launch gaps and host work of a step that do not depend on its tokens [s]."""
    if bound.curves is None:
        return 0.0
    over = bound.curves.profile.overhead
    kinds = sum(over.per_kind.get(kind, 0.0) * count for kind, count in bound.table.kind_layers.items())
    return over.per_layer * bound.table.layers + kinds + over.per_step * bound.table.layout.pipeline


def streaming_slopes(bound: BoundTable, like: Array) -> tuple[Array, Array]:
    """Seconds per token of hidden-stream passes no operator row carries, and per logit row of sampling."""
    if bound.curves is None:
        return np.asarray(0.0), np.asarray(0.0)
    table, point = bound.table, bound.curves.profile.pointwise
    rate = point.memory * _wide(bound.bandwidth, like)
    passes = point.layer_passes * table.hidden * _HALF_BYTES * table.layers
    missing = 0.0 if table.coarse else max(passes - table.norm_bytes_per_token, 0.0)
    logits = point.logit_passes * _wide(table.vocabulary_on_rank, like) * _LOGIT_BYTES
    return np.asarray(missing / rate), np.asarray(logits / rate)
