"""Time of softmax attention kernels: one query per sequence (decode) and whole prompts.

The same two forms serve grouped-query, latent (MLA) and top-k sparse attention and the indexer; only parameters differ.
Decode is linear in the summed context of a batch but for a floor that knows the mean context only, which step tables
rely on.

References
----------
Dao et al., FlashAttention-2, arXiv 2307.08691; Shah et al., FlashAttention-3, arXiv 2407.08608; forms fitted on the
kernel tables of AIConfigurator 0.12 / aisimulate 0.13 (Apache-2.0), see docs/adr/.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from planner.core.hardware.efficiency.knee import knee
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Array, Numeric
from planner.core.quantities.numeric import Number

_FLOOR_CONTEXT = 256.0  # [token] up to here a sequence is not split over blocks that must be combined
# Latent kernels have a tile for few heads and one of 64; heads between them fill neither (kernel tables, docs/adr/).
_FEW_HEADS, _FULL_TILE = 16.0, 64.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCurve:
    """Parameters of one decode-attention kernel; each may be a column over operators."""

    launch: Numeric
    """Floor t0 at a context of 256 tokens [s]."""
    growth: Numeric
    """Floor growth per doubling of the mean context beyond 256 tokens [s]."""
    memory: Numeric
    """Share of the datasheet bandwidth that the cache is read with, 0–1."""
    compute: Numeric
    """Share of the 16-bit dense peak reached; above 1 where a kernel multiplies an 8-bit cache in 8 bits."""
    per_sequence: Numeric = 0.0
    """Cost of a sequence whatever its context [s]."""
    serial: Numeric = 0.0
    """Time per token of the mean context that no other block shares [s]."""
    passes: Numeric = 1.0
    """Passes over queries and outputs: more than one where parts of a split sequence are written and combined [1]."""
    partial_tile: Numeric = 1.0
    """How much longer both arms are for more than 16 and fewer than 64 query heads on one cached head [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCurve:
    """Parameters of one prompt-attention kernel; each may be a column over operators."""

    launch: Numeric
    """Floor t0 [s]."""
    memory: Numeric
    """Share of the bandwidth that q, k, v and o move with, 0–1."""
    compute: Numeric
    """Share of the 16-bit dense peak reached on causal work, 0–1."""


def at_heads(curve: DecodeCurve, heads: Numeric) -> DecodeCurve:
    """The curve of a kernel for so many query heads on one cached head.

    Parameters
    ----------
    curve : DecodeCurve
        Fitted parameters.
    heads : float or ndarray
        Query heads on a rank [1].

    Returns
    -------
    DecodeCurve
        With the cost of a partly filled tile inside its shares; queries and outputs move as before.
    """
    if isinstance(curve.partial_tile, float) and curve.partial_tile == 1.0:
        return curve
    partly = (np.asarray(heads) > _FEW_HEADS) & (np.asarray(heads) < _FULL_TILE)
    longer = np.where(partly, curve.partial_tile, 1.0)
    return replace(curve, memory=curve.memory / longer, compute=curve.compute / longer, passes=curve.passes / longer,
                   partial_tile=1.0)


def above_roofline(curve: DecodeCurve, *, work_time: float, cache_time: float) -> DecodeCurve:
    r"""The curve with a compute share that keeps its arms at or above the datasheet roofline.

    .. math:: \sqrt{(t_c/\mu)^2 + (t_m/\eta)^2} \ge t_c \iff \mu \le t_c / \sqrt{t_c^2 - (t_m/\eta)^2}

    Parameters
    ----------
    curve : DecodeCurve
        Plain numbers; only a share above 1 can be too large.
    work_time : float
        t_c, 16-bit arithmetic of a cached entry at the datasheet peak [s].
    cache_time : float
        t_m, reading the entry at the datasheet bandwidth [s].

    Returns
    -------
    DecodeCurve
        The curve itself where its arms are slow enough.
    """
    slack = work_time**2 - (cache_time / float(curve.memory)) ** 2
    if float(curve.compute) <= 1.0 or slack <= 0.0:
        return curve
    return replace(curve, compute=min(float(curve.compute), work_time / sqrt(slack)))


def decode_floor(curve: DecodeCurve, *, context: Numeric, batch: Numeric, floor_scale: Numeric = 1.0) -> Number:
    r"""The part of decode attention that does not grow with the summed context.

    .. math:: t = s_0 (t_0 + c_l \max(0, \log_2(c/256))) + t_c c + t_s B

    Parameters
    ----------
    curve : DecodeCurve
        Fitted parameters.
    context : float or ndarray
        Mean attended context c of a sequence [token], shape (op, *grid).
    batch : float or ndarray
        Sequences B [1], shape (op, *grid).
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    float or ndarray
        t [s], shape (op, *grid).
    """
    doublings = num.log2(num.maximum(context / _FLOOR_CONTEXT, 1.0))
    return (floor_scale * (curve.launch + curve.growth * doublings) + curve.serial * context
            + curve.per_sequence * batch)


def decode_attention_time(curve: DecodeCurve, *, work: Numeric, cache_traffic: Numeric, io_traffic: Numeric,
                          context: Numeric, batch: Numeric, peak: Numeric, bandwidth: Numeric,
                          floor_scale: Numeric = 1.0) -> Array:
    r"""Time of one decode-attention kernel over a batch.

    .. math:: t = floor(c, B) + \sqrt{(Q_{kv}/\eta\beta)^2 + (W/\mu\pi)^2} + p\,Q_{io}/\eta\beta

    Parameters
    ----------
    curve : DecodeCurve
        Fitted parameters.
    work : float or ndarray
        W, proportional to the summed attended context [FLOP], shape (op, *grid).
    cache_traffic : float or ndarray
        Q_kv, cache bytes read, proportional to the summed attended context [byte], shape (op, *grid).
    io_traffic : float or ndarray
        Q_io, queries, outputs and appended keys [byte], shape (op, *grid).
    context : float or ndarray
        Mean attended context [token], shape (op, *grid).
    batch : float or ndarray
        Sequences [1], shape (op, *grid).
    peak : float or ndarray
        Dense 16-bit π [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).

    Notes
    -----
    Both arms are proportional to Σ context at fixed batch, so t - floor is too.
    """
    rate = np.multiply(curve.memory, bandwidth)
    arms = knee(np.divide(cache_traffic, rate), np.divide(work, np.multiply(curve.compute, peak)))
    floor = decode_floor(curve, context=context, batch=batch, floor_scale=floor_scale)
    return np.asarray(floor + arms + curve.passes * np.divide(io_traffic, rate))


def walking_attention_time(curve: DecodeCurve, *, work: Numeric, cache_traffic: Numeric, io_traffic: Numeric,
                           context: Numeric, peak: Numeric, bandwidth: Numeric) -> Array:
    r"""Time of a decode-attention kernel that gives every sequence to one block, which walks along its context.

    .. math:: t = t_0 + c_l \max(0, \log_2(c/256)) + \sqrt{(Q_{kv}/\eta\beta)^2 + (W/\mu\pi)^2 + (t_c c)^2}
              + p\,Q_{io}/\eta\beta

    Parameters
    ----------
    curve : DecodeCurve
        Fitted parameters; ``serial`` is the walk's time per token t_c.
    work : float or ndarray
        W [FLOP], shape (row,).
    cache_traffic : float or ndarray
        Q_kv [byte], shape (row,).
    io_traffic : float or ndarray
        Q_io [byte], shape (row,).
    context : float or ndarray
        Mean attended context c [token], shape (row,).
    peak : float or ndarray
        Dense 16-bit π [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].

    Returns
    -------
    ndarray
        t [s], shape (row,).

    Notes
    -----
    Sequences walk side by side, so that the walk hides behind the arms of a large batch. It is not linear in the batch
    and such kernels are fallbacks: they are scored and enter no profile.
    """
    rate = np.multiply(curve.memory, bandwidth)
    arms = knee(np.divide(cache_traffic, rate), np.divide(work, np.multiply(curve.compute, peak)),
                np.multiply(curve.serial, context))
    floor = decode_floor(replace(curve, serial=0.0), context=context, batch=0.0)
    return np.asarray(floor + arms + curve.passes * np.divide(io_traffic, rate))


def prompt_attention_time(curve: PromptCurve, *, work: Numeric, traffic: Numeric, peak: Numeric, bandwidth: Numeric,
                          floor_scale: Numeric = 1.0) -> Array:
    r"""Time of one prompt-attention kernel; the arms add, since softmax hides neither.

    .. math:: t = s_0 t_0 + Q/b\beta + W/\mu\pi

    Parameters
    ----------
    curve : PromptCurve
        Fitted parameters.
    work : float or ndarray
        W over causal pairs only [FLOP], shape (op, *grid).
    traffic : float or ndarray
        Q = q, k, v and o once [byte], shape (op, *grid).
    peak : float or ndarray
        Dense 16-bit π [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    moved = np.divide(traffic, np.multiply(curve.memory, bandwidth))
    computed = np.divide(work, np.multiply(curve.compute, peak))
    return np.asarray(np.multiply(floor_scale, curve.launch) + moved + computed)
