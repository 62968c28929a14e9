"""Time of the grouped matrix products of a mixture of experts on one rank.

A grouped kernel works in tiles of some tens of rows, none of which two experts share: the last tile of every active
expert is partly empty, and what it computes for nobody is padding. Kernels start with the smallest tile and take larger
ones once a batch has more tokens than there are experts.

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
# Tokens per local expert at which kernels have their large tiles; Triton's stock tile grows from 16 to 64 rows beyond
# one (the default configuration of vLLM's and SGLang's fused MoE), tuned ones around two.
_FILLING = 2.0


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
    """Bandwidth share that masked pairs, which belong to other ranks, move with; large where kernels skip them."""
    padding: Numeric = 0.0
    """Empty rows of an active expert's last tile once a batch takes large tiles [1]."""
    masked: Numeric = 0.0
    """Share of the arithmetic done for the masked pairs of tokens that this rank has some expert of, 0–1."""


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


def tile_work(*, pair_work: Numeric, distinct: Numeric, tokens: Numeric, local_experts: Numeric) -> Array:
    r"""Work of one empty row in the last tile of every active expert, growing in as a batch takes large tiles.

    .. math:: W_1 = w D \min(1, n/2E_l)

    Parameters
    ----------
    pair_work : float or ndarray
        w, work of one token in one expert [FLOP].
    distinct : float or ndarray
        D, experts on this rank that have tokens [1], shape (op, *grid).
    tokens : float or ndarray
        n, tokens of the whole expert group [token], shape (op, *grid).
    local_experts : float or ndarray
        E_l, experts on this rank [1].

    Returns
    -------
    ndarray
        W_1 [FLOP], shape (op, *grid).
    """
    filling = np.minimum(np.divide(tokens, np.multiply(_FILLING, local_experts)), 1.0)
    return np.asarray(np.multiply(pair_work, distinct) * filling)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MoeLoad:
    """What one fused expert block does and moves on one rank; arrays have shape (op, *grid) or broadcast to it."""

    work: Numeric
    """W = 6·P·D·F_e (4· without gate) [FLOP]."""
    weight_traffic: Numeric
    """Q_w, weights of the distinct experts on this rank [byte]."""
    stream_traffic: Numeric
    """A, from :func:`moe_stream_bytes` [byte]."""
    distinct: Numeric
    """D, experts on this rank that have tokens [1]."""
    local_experts: Numeric
    """E_l, experts on this rank [1]."""
    gathered_traffic: Numeric = 0.0
    """G, as A for the pairs of a gathered batch that belong to other ranks; none without expert parallelism [byte]."""
    row_work: Numeric = 0.0
    """W_1, from :func:`tile_work` [FLOP]."""
    masked_work: Numeric = 0.0
    """W_m, work of other ranks' pairs of the tokens that reach this rank [FLOP]."""


def moe_time(curve: MoeCurve, load: MoeLoad, *, peak: Numeric, bandwidth: Numeric, floor_scale: Numeric = 1.0) -> Array:
    r"""Time of one fused expert block on one rank.

    .. math::
        t = s_0 (t_m + t_l E_l) + \sqrt{(Q_w/\eta\beta + t_e D)^2 + ((W + r W_1 + m W_m)/\mu\pi)^2}
            + A/e_a\beta + G/e_n\beta

    Parameters
    ----------
    curve : MoeCurve
        Fitted parameters.
    load : MoeLoad
        Work, traffic and experts.
    peak : float or ndarray
        Dense datasheet π of the pipe [FLOP/s].
    bandwidth : float or ndarray
        Datasheet β [byte/s].
    floor_scale : float or ndarray
        Share of the floor left in a graph, 0–1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    floor = np.multiply(floor_scale, curve.launch + np.multiply(curve.per_local_expert, load.local_experts))
    weights = np.divide(load.weight_traffic, np.multiply(curve.memory, bandwidth)) + np.multiply(
        curve.per_active_expert, load.distinct)
    computed = load.work + np.multiply(curve.padding, load.row_work) + np.multiply(curve.masked, load.masked_work)
    arms = knee(weights, np.divide(computed, np.multiply(curve.compute, peak)))
    moved = np.divide(load.stream_traffic, np.multiply(curve.streaming, bandwidth)) + np.divide(
        load.gathered_traffic, np.multiply(curve.gathered, bandwidth))
    return np.asarray(floor + arms + moved)
