"""Time of the grouped matrix products of a mixture of experts on one rank.

References
----------
Fitted form over the fused-MoE kernel tables of AIConfigurator 0.12 / aisimulate 0.13 (Apache-2.0); see docs/adr/.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.hardware.efficiency.knee import knee
from planner.core.quantities.arrays import Array, Numeric

_STREAM = 4.0  # [byte] 16-bit read and 16-bit write of an element that is moved, not computed


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeCurve:
    """Parameters of one fused-MoE kernel library and weight format; each may be a column over operators."""

    launch: Numeric
    """Floor tm of routing, permutation and the grouped kernels [s]."""
    per_local_expert: Numeric
    """Cost of a local expert even if idle [s]."""
    per_active_expert: Numeric
    """Cost of an expert that has tokens, beside its bytes [s]."""
    memory: Numeric
    """Share of the datasheet bandwidth that expert weights are read with, 0–1."""
    compute: Numeric
    """Share of the dense peak reached, 0–1."""
    streaming: Numeric
    """Share of the bandwidth that permuted activations move with, 0–1."""
    gathered: Numeric = 1.0
    """Bandwidth share of masked pairs that belong to other ranks; large where kernels skip them."""


def moe_stream_bytes(*, tokens: Numeric, pairs: Numeric, hidden: Numeric, inner: Numeric,
                     activation_bytes: Numeric) -> Array:
    r"""Activation bytes a fused expert kernel moves besides weights: permute, intermediate, finalise.

    .. math:: A = P\,(D(a + 4) + F_e(4 + 2a)) + 4 n D

    Parameters
    ----------
    tokens : float or ndarray
        n, tokens whose experts this rank holds or sums [1], shape (op, *grid).
    pairs : float or ndarray
        P, token-expert pairs on this rank [1], shape (op, *grid).
    hidden : float or ndarray
        D [1].
    inner : float or ndarray
        F_e on this rank [1].
    activation_bytes : float or ndarray
        a, bytes per quantised activation element [byte].

    Returns
    -------
    ndarray
        A [byte], shape (op, *grid).
    """
    a = np.asarray(activation_bytes, dtype=np.float64)
    per_pair = np.multiply(hidden, a + _STREAM) + np.multiply(inner, _STREAM + 2 * a)
    return np.asarray(np.multiply(pairs, per_pair) + _STREAM * np.multiply(tokens, hidden))


def touched_share(concentration: float, *, experts: Numeric, experts_per_token: Numeric, tokens: Numeric,
                  uniform: Numeric) -> Array:
    r"""Experts a batch touches over those it would under even routing, when some experts are more popular.

    .. math:: D = E\,(1 - (1 + nk/(aE))^{-a})

    Popularity follows a gamma law of shape a over experts, so the tokens of an expert are negative-binomial.

    Parameters
    ----------
    concentration : float
        a, shape of the popularity law; inf is even routing [1].
    experts : float or ndarray
        E of the layer [1].
    experts_per_token : float or ndarray
        k [1].
    tokens : float or ndarray
        n, tokens of the whole expert group [token].
    uniform : float or ndarray
        Expected distinct experts under even routing, over the whole group [1].

    Returns
    -------
    ndarray
        Share in (0, 1].

    Notes
    -----
    One token still touches k experts. An estimate: real popularity differs by layer and prompt.

    References
    ----------
    Fisher, Corbet and Williams, J. Anim. Ecol. 12(1) 1943, doi 10.2307/1411 (species seen in a sample).
    """
    if np.isinf(concentration):
        return np.ones(np.broadcast_shapes(np.shape(experts), np.shape(tokens)))
    seen = np.multiply(tokens, experts_per_token) / (concentration * np.asarray(experts))
    skewed = -np.multiply(experts, np.expm1(-concentration * np.log1p(seen)))
    least = np.multiply(experts_per_token, np.minimum(tokens, 1.0))
    return np.asarray(np.minimum(np.maximum(skewed, least) / uniform, 1.0))


def moe_time(curve: MoeCurve, *, work: Numeric, weight_traffic: Numeric, stream_traffic: Numeric, distinct: Numeric,
             local_experts: Numeric, peak: Numeric, bandwidth: Numeric, gathered_traffic: Numeric = 0.0,
             floor_scale: Numeric = 1.0) -> Array:
    r"""Time of one fused expert block on one rank.

    .. math::
        t = s_0 (t_m + t_l E_l) + \sqrt{(Q_w/\eta\beta + t_e D)^2 + (W/\mu\pi)^2} + A/e_a\beta + G/e_n\beta

    Parameters
    ----------
    curve : MoeCurve
        Fitted parameters.
    work : float or ndarray
        W = 6·P·D·F_e (4· without gate) [FLOP], shape (op, *grid).
    weight_traffic : float or ndarray
        Q_w, weights of the distinct experts on this rank [byte], shape (op, *grid).
    stream_traffic : float or ndarray
        A, from :func:`moe_stream_bytes` [byte], shape (op, *grid).
    distinct : float or ndarray
        D, experts on this rank that have tokens [1], shape (op, *grid).
    local_experts : float or ndarray
        E_l, experts on this rank [1].
    peak : float or ndarray
        Dense datasheet π of the pipe [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    gathered_traffic : float or ndarray
        G = 4·n·k·D of a batch gathered over expert-parallel ranks, 0 without [byte].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    floor = np.multiply(floor_scale, curve.launch + np.multiply(curve.per_local_expert, local_experts))
    weights = np.divide(weight_traffic, np.multiply(curve.memory, bandwidth)) + np.multiply(
        curve.per_active_expert, distinct)
    arms = knee(weights, np.divide(work, np.multiply(curve.compute, peak)))
    moved = np.divide(stream_traffic, np.multiply(curve.streaming, bandwidth)) + np.divide(
        gathered_traffic, np.multiply(curve.gathered, bandwidth))
    return np.asarray(floor + arms + moved)
