"""Time of the exchange of tokens between expert-parallel ranks.

References
----------
DeepSeek-AI, DeepEP, 2025 (low-latency and high-throughput dispatch).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.quantities.arrays import Array, Numeric


@dataclass(frozen=True, slots=True, kw_only=True)
class AllToAllCurve:
    """Latency, link share and per-token cost of one phase (dispatch or combine) of expert exchange."""

    launch: Numeric
    """Latency of the phase [s]."""
    link: Numeric
    """Share of the one-way link rate reached, 0–1."""
    per_token: Numeric = 0.0
    """Packing cost per token of this rank [s]."""


def all_to_all_time(curve: AllToAllCurve, *, volume: Numeric, tokens: Numeric, ranks: Numeric, link_rate: Numeric,
                    scale: Numeric = 1.0) -> Array:
    r"""Time of one phase of expert exchange.

    .. math:: t = s (\alpha + V/e\beta_n + c\,n)

    Parameters
    ----------
    curve : AllToAllCurve
        Fitted parameters.
    volume : float or ndarray
        V, bytes one rank sends: :func:`naive_volume` (low latency) or :func:`deduplicated_volume` [byte].
    tokens : float or ndarray
        n, tokens of one rank [1], shape (op, *grid).
    ranks : float or ndarray
        Expert-parallel ranks [1]; one rank costs nothing.
    link_rate : float or ndarray
        One-way rate of a rank [byte/s].
    scale : float or ndarray
        In-situ time over the isolated kernel's, at least 1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    wire = np.divide(volume, np.multiply(curve.link, link_rate))
    phase = curve.launch + wire + np.multiply(curve.per_token, tokens)
    return np.asarray(np.where(np.asarray(ranks) > 1, scale * phase, 0.0))


def naive_volume(*, tokens: Numeric, row_bytes: Numeric, experts_per_token: Numeric, ranks: Numeric) -> Array:
    """Bytes one rank sends when every chosen expert gets its own copy: n·D·b·k·(1 - 1/p).

    Parameters
    ----------
    tokens : float or ndarray
        n, tokens of one rank [1].
    row_bytes : float or ndarray
        D·b, bytes of one token's row [byte].
    experts_per_token : float or ndarray
        k [1].
    ranks : float or ndarray
        p [1].

    Returns
    -------
    ndarray
        V [byte].
    """
    p = np.asarray(ranks, dtype=np.float64)
    return np.asarray(np.multiply(tokens, row_bytes) * experts_per_token * (1 - 1 / p))


def deduplicated_volume(*, tokens: Numeric, row_bytes: Numeric, experts_per_token: Numeric, ranks: Numeric) -> Array:
    """Bytes one rank sends when a rank gets one copy per token: n·D·b·(p - 1)(1 - (1 - 1/p)^k).

    Parameters
    ----------
    tokens : float or ndarray
        n, tokens of one rank [1].
    row_bytes : float or ndarray
        D·b, bytes of one token's row [byte].
    experts_per_token : float or ndarray
        k [1].
    ranks : float or ndarray
        p [1].

    Returns
    -------
    ndarray
        V [byte].
    """
    p = np.asarray(ranks, dtype=np.float64)
    reached = (p - 1) * (1 - np.power(1 - 1 / p, experts_per_token))
    return np.asarray(np.multiply(tokens, row_bytes) * reached)
