"""What of the times of a table's rows depends on the table and its chip but on no load, worked out once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.efficiency.collective import (
    AllReduceTerms,
    GatherTerms,
    all_reduce_terms,
    gather_terms,
)
from planner.core.hardware.efficiency.gemm import GemmTerms, gemm_terms
from planner.core.hardware.efficiency.pointwise import pointwise_time
from planner.core.quantities.arrays import Array

if TYPE_CHECKING:
    from planner.core.execution.bound import BoundTable

_HALF_BYTES = 2.0  # [byte] activations between kernels
_LOGIT_BYTES = 4.0  # [byte] logits are sampled in fp32


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Terms of a bound table; arrays have shape (op,) or (op, variant), scalars () or (variant,)."""

    gemm: GemmTerms | None
    """None under datasheet ceilings."""
    links: tuple[tuple[slice, AllReduceTerms | GatherTerms], ...]
    """Neighbouring communication rows of one kind; none under datasheet ceilings."""
    passes: Array
    """Time of each element-wise row per token: all of it is linear in tokens [s/token]."""
    fixed: float
    """Launch gaps and host work of a step [s]."""
    per_token: Array
    """Hidden-stream passes that no operator row carries [s/token]."""
    per_head: Array
    """Sampling of a logit row [s]."""


def terms_of(bound: BoundTable) -> Terms:
    """The terms of a table under ceilings.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings; the terms themselves are not read.

    Returns
    -------
    Terms
        Of the table's rows and variants.
    """
    per_token, per_head = _streaming(bound)
    return Terms(gemm=_gemm(bound), links=_links(bound), passes=_passes(bound), fixed=_fixed(bound),
                 per_token=per_token, per_head=per_head)


def _gemm(bound: BoundTable) -> GemmTerms | None:
    if bound.curves is None or bound.curves.gemm is None:
        return None
    return gemm_terms(bound.curves.gemm, inputs=bound.table.matmuls.inputs, peak=bound.matmul_peak,
                      bandwidth=bound.bandwidth, floor_scale=bound.curves.profile.overhead.floor_scale)


def _links(bound: BoundTable) -> tuple[tuple[slice, AllReduceTerms | GatherTerms], ...]:
    if bound.curves is None:
        return ()
    profile, group = bound.curves.profile, bound.table.collectives
    found: list[tuple[slice, AllReduceTerms | GatherTerms]] = []
    scale = profile.overhead.collective_scale
    for kind, run in group.runs:
        ranks, rate = group.ranks[run], bound.link_rate[run]
        if kind == "all_reduce":
            found.append((run, all_reduce_terms(profile.all_reduce, ranks=ranks, link_rate=rate, scale=scale)))
        elif kind == "gather":
            found.append((run, gather_terms(profile.gather, ranks=ranks, link_rate=rate, scale=scale)))
        else:  # one neighbour: a gather's latency and half of its two-rank volume
            found.append((run, gather_terms(profile.gather, ranks=np.full_like(ranks, 2.0), link_rate=rate / 2.0,
                                            scale=scale)))
    return tuple(found)


def _passes(bound: BoundTable) -> Array:
    moved, flop = bound.table.passes.bytes_per_token, bound.table.passes.flop_per_token
    floor = time_overlapped(flop, moved, bound.half_peak, bound.bandwidth)
    if bound.curves is None:
        return floor
    point = bound.curves.profile.pointwise
    return np.maximum(pointwise_time(point, traffic=moved, bandwidth=bound.bandwidth), floor)


def _fixed(bound: BoundTable) -> float:
    if bound.curves is None:
        return 0.0
    over = bound.curves.profile.overhead
    kinds = sum(over.per_kind.get(kind, 0.0) * count for kind, count in bound.table.kind_layers.items())
    return over.per_layer * bound.table.layers + kinds + over.per_step * bound.table.layout.pipeline


def _streaming(bound: BoundTable) -> tuple[Array, Array]:
    if bound.curves is None:
        return np.zeros(bound.bandwidth.shape), np.zeros(bound.bandwidth.shape)
    table, point = bound.table, bound.curves.profile.pointwise
    rate = point.memory * bound.bandwidth
    passes = point.layer_passes * table.hidden * _HALF_BYTES * table.layers
    missing = 0.0 if table.coarse else max(passes - table.norm_bytes_per_token, 0.0)
    logits = point.logit_passes * table.vocabulary_on_rank * _LOGIT_BYTES
    return np.asarray(missing / rate), np.asarray(logits / rate)
