r"""Batches at which something changes: GEMMs become compute-bound, the cache outweighs the weights.

.. math:: B^* = \frac{\pi s_w}{2\beta}, \qquad B_{cross}:\; B\,KV = Q_w(B)

References
----------
Pope et al., Efficiently Scaling Transformer Inference, arXiv 2211.05102, §3; Austin et al., How to Scale Your Model,
2025, chapter on inference (critical batch, KV share).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.moe import MoeCurve
from planner.core.precision import weight_format
from planner.core.quantities.arrays import Array

_LARGEST_BATCH = 1e9  # [1] a crossing beyond it is none
_BISECTIONS = 80


def batch_critical(bound: BoundTable) -> float:
    """B* of the block weights at datasheet ceilings.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.

    Returns
    -------
    float
        π·s_w/(2β), times E/k for mixtures [1].
    """
    size = weight_format(bound.table.block_format).bytes_per_element
    return bound.block_compute.peak * size / (2.0 * bound.chip.bandwidth) * bound.table.expert_ratio


def batch_critical_effective(bound: BoundTable) -> float:
    """B* with the ceilings the block's largest product really reaches.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, calibrated.

    Returns
    -------
    float
        :func:`batch_critical` × (μ/η) of the curve [1]; equal to it under datasheet ceilings.
    """
    plain = batch_critical(bound)
    if bound.curves is None:
        return plain
    fmt = bound.table.block_format
    weight_only = bound.block_compute.weight_only
    profile = bound.curves.profile
    curve: MoeCurve | GemmCurve = profile.gemm_curve(fmt, weight_only=weight_only)
    if bound.table.mixtures.names:
        curve = profile.moe_curve(fmt, weight_only=weight_only)
    return float(plain * np.asarray(curve.compute) / np.asarray(curve.memory))


def weight_traffic(bound: BoundTable, batch: Array) -> Array:
    """Weight bytes a decode step of ``batch`` sequences per rank reads on one GPU.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    batch : ndarray
        Sequences on the rank [1], shape (*grid).

    Returns
    -------
    ndarray
        [byte], shape (*grid).
    """
    table = bound.table
    dense = (table.matmuls.count * table.matmuls.weight_bytes).sum()
    if not table.mixtures.names:
        return np.asarray(dense + np.zeros_like(batch))
    everyone = table.expert_group_tokens(batch)
    shape = (-1,) + (1,) * batch.ndim
    per_expert = (table.mixtures.count * table.mixtures.expert_bytes).reshape(shape)
    return np.asarray(dense + (per_expert * table.mixtures.distinct(everyone)).sum(axis=0))


def cache_traffic_per_sequence(bound: BoundTable, context: Array) -> Array:
    """Cache and state bytes one sequence's decode step reads on one GPU.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    context : ndarray
        [token], shape (*grid).

    Returns
    -------
    ndarray
        [byte], shape (*grid).
    """
    cores, states = bound.table.cores, bound.table.states
    shape = (-1,) + (1,) * context.ndim
    read = ((cores.count * cores.entry_bytes).reshape(shape) * cores.attended(context)).sum(axis=0)
    return np.asarray(read + (states.count * states.state_bytes).sum())


def batch_crossover(bound: BoundTable, context: float) -> float | None:
    """Least real batch whose cache traffic equals the weights its step reads.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    context : float
        Mean context [token].

    Returns
    -------
    float or None
        In sequences of the replica [1]; None where there is no cache.
    """
    each = float(cache_traffic_per_sequence(bound, np.asarray(context)))
    spread = bound.table.layout.data * bound.table.layout.pipeline
    if each <= 0:
        return None
    if not bound.table.mixtures.names:
        return float(weight_traffic(bound, np.asarray(1.0))) / each * spread
    local = _first_root(lambda b: b * each - weight_traffic(bound, b))
    return None if local is None else local * spread


def batch_critical_step(bound: BoundTable, context: float) -> float | None:
    """Least batch at which the whole step's arithmetic outlasts its traffic, ΣW/π ≥ ΣQ/β.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    context : float
        Mean context [token].

    Returns
    -------
    float or None
        In sequences of the replica [1]; None when no batch reaches it. The embedding gather is left out.
    """
    table, where = bound.table, np.asarray(context)
    one = np.asarray(1.0)
    cores = table.cores.decode(one, where)
    states = table.states.decode(one)
    matmul = table.matmuls.flow(one, one)
    norms = np.array([n != "embedding" for n in table.passes.names], dtype=np.float64)
    passes = table.passes.flow(one)
    half = float(bound.half_peak)
    compute = (table.matmuls.count * matmul.work / bound.matmul_peak).sum() + (
        (table.cores.count * cores.work).sum() + (table.states.count * states.work).sum()
        + (table.passes.count * norms * passes.work).sum()) / half
    moved = ((table.matmuls.count * matmul.activations).sum() + (table.cores.count * cores.traffic).sum()
             + (table.states.count * states.traffic).sum() + (table.passes.count * norms * passes.traffic).sum())
    beta, spread = float(bound.bandwidth), table.layout.data * table.layout.pipeline
    if not table.mixtures.names:
        slope = compute - moved / beta
        weights = float(weight_traffic(bound, one)) / beta
        return float(weights / slope * spread) if slope > 0 and weights / slope < _LARGEST_BATCH else None

    def margin(batch: Array) -> Array:
        flow = table.mixtures.flow(table.expert_group_tokens(batch))
        shape = (-1,) + (1,) * batch.ndim
        count = table.mixtures.count.reshape(shape)
        work = (count * flow.work / bound.mixture_peak.reshape(shape)).sum(axis=0)
        act = (count * flow.activations).sum(axis=0)
        return np.asarray(compute * batch + work - (moved * batch + act + weight_traffic(bound, batch)) / beta)

    local = _first_root(margin)
    return None if local is None else local * spread


def _first_root(margin: Callable[[Array], Array]) -> float | None:
    """Least batch above which a margin that starts negative stays non-negative."""
    probe = np.geomspace(1e-3, _LARGEST_BATCH, 97)
    values = margin(probe)
    above = np.flatnonzero(values >= 0)
    if above.size == 0:
        return None
    first = int(above[0])
    if first == 0:
        return float(probe[0])
    low, high = float(probe[first - 1]), float(probe[first])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if float(margin(np.asarray(middle))) >= 0:
            high = middle
        else:
            low = middle
    return high
