"""Time of collectives inside a replica: all-reduce, gather and scatter.

References
----------
Thakur et al., Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1) 2005,
doi 10.1177/1094342005051521 (α–β forms).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.quantities.arrays import Array, Numeric


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceCurve:
    """Latencies and link shares of an engine's own kernels and of the ring behind them; each may be a column."""

    one_shot: Numeric
    """Latency of the direct exchange between two ranks [s]."""
    two_shot: Numeric
    """Latency of scatter-then-gather between two ranks [s]."""
    per_doubling: Numeric
    """Latency of doubling two ranks to four; every two ranks more add it again, for every peer is signalled [s]."""
    link: Numeric
    """Share of the one-way link rate that two ranks reach, 0–1."""
    four: Numeric = 1.0
    """Loss of rate among four ranks: above 1 where they share a host bus, below 1 where a switch adds up [1]."""
    eight: Numeric = 1.0
    """Loss of rate among eight ranks or more [1]."""
    hand_over: Numeric = np.inf
    """Message of two ranks above which the ring takes over; it falls with the root of the ranks [byte]."""
    ring: Numeric = 0.0
    """Latency of the ring among two ranks [s]."""
    ring_per_doubling: Numeric = 0.0
    """Its latency per doubling of the ranks beyond two [s]."""
    ring_link: Numeric = 1.0
    """Share of the one-way link rate the ring reaches, 0–1."""
    staging: Numeric = 0.0
    """Copies through the ring's own buffers, which every rank count pays alike, in messages over its rate [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherCurve:
    """Latency and link share of all-gather and reduce-scatter."""

    launch: Numeric
    """Latency on two ranks less one doubling [s]."""
    per_doubling: Numeric
    """Latency per doubling of the ranks [s]."""
    link: Numeric
    """Share of the one-way link rate reached, 0–1."""


def all_reduce_time(curve: AllReduceCurve, *, message: Numeric, ranks: Numeric, link_rate: Numeric,
                    scale: Numeric = 1.0) -> Array:
    r"""Time of one all-reduce: the engine's own kernels up to a size, a ring beyond it.

    .. math::
        t_{own} &= \min(a_1 + (p-1) w,\; a_2 + 2 \tfrac{p-1}{p} w) + a_l (p/2 - 1) \\
        t_{ring} &= a_r + a_{rl} d + (\sigma + 2 \tfrac{p-1}{p}) w_r, \quad
        w = \lambda_p S / e \beta_n, \quad d = \log_2 (p/2) \\
        t &= t_{own}(S) \text{ while } S \sqrt{p/2} \le h, \text{ else } \max(t_{own}(h/\sqrt{p/2}), t_{ring}(S))

    Parameters
    ----------
    curve : AllReduceCurve
        Fitted parameters.
    message : float or ndarray
        S, bytes each rank holds [byte], shape (op, *grid).
    ranks : float or ndarray
        p [1]; one rank costs nothing.
    link_rate : float or ndarray
        One-way scale-up rate β_n of a rank [byte/s].
    scale : float or ndarray
        Waiting for the slowest rank: in-situ time over the isolated kernel's, at least 1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid); never falls when the message grows.

    Notes
    -----
    The step at the hand-over is real: engines stop using their own buffers at a fixed size.
    """
    return all_reduce_terms(curve, ranks=ranks, link_rate=link_rate, scale=scale).time(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduceTerms:
    """What of :func:`all_reduce_time` depends on the ranks and their link but not on the message; [s] and [s/byte]."""

    one_shot: Array
    one_shot_per_byte: Array
    two_shot: Array
    two_shot_per_byte: Array
    hand_over: Array
    """Message above which the ring takes over [byte]."""
    ring: Array
    ring_per_byte: Array

    def time(self, message: Numeric) -> Array:
        """Time of one all-reduce.

        Parameters
        ----------
        message : float or ndarray
            S [byte], shape (op, *grid).

        Returns
        -------
        ndarray
            t [s], shape (op, *grid).
        """
        own = np.minimum(message, self.hand_over)
        time = np.minimum(self.one_shot + self.one_shot_per_byte * own, self.two_shot + self.two_shot_per_byte * own)
        ring = self.ring + self.ring_per_byte * message
        return np.where(np.less(own, message), np.maximum(time, ring), time)


def all_reduce_terms(curve: AllReduceCurve, *, ranks: Numeric, link_rate: Numeric, scale: Numeric) -> AllReduceTerms:
    """An all-reduce between given ranks.

    Parameters
    ----------
    curve : AllReduceCurve
        Fitted parameters.
    ranks : float or ndarray
        p [1]; one rank costs nothing.
    link_rate : float or ndarray
        One-way scale-up rate β_n of a rank [byte/s].
    scale : float or ndarray
        Waiting for the slowest rank: in-situ time over the isolated kernel's, at least 1.

    Returns
    -------
    AllReduceTerms
        Of the broadcast shape.
    """
    p = np.maximum(ranks, 2.0)
    doublings = np.log2(p) - 1
    exchange = 2 * (p - 1) / p
    rate = np.divide(link_rate, _crowding(curve, doublings))
    used = np.where(np.greater(ranks, 1), scale, 0.0)
    alpha, wire = np.multiply(curve.per_doubling, p / 2 - 1), 1.0 / np.multiply(curve.link, rate)
    return AllReduceTerms(
        one_shot=used * (alpha + curve.one_shot), one_shot_per_byte=used * (p - 1) * wire,
        two_shot=used * (alpha + curve.two_shot), two_shot_per_byte=used * exchange * wire,
        hand_over=curve.hand_over / np.sqrt(p / 2),
        ring=used * (curve.ring + np.multiply(curve.ring_per_doubling, doublings)),
        ring_per_byte=used * (curve.staging + exchange) / np.multiply(curve.ring_link, rate))


def _crowding(curve: AllReduceCurve, doublings: Array) -> Array:
    """Loss of rate among 2^(doublings + 1) ranks: measured at four and eight, geometric between, flat beyond."""
    first, second = np.clip(doublings, 0.0, 1.0), np.clip(doublings - 1, 0.0, 1.0)
    return np.asarray(np.power(curve.four, first - second) * np.power(curve.eight, second))


def gather_time(curve: GatherCurve, *, total: Numeric, ranks: Numeric, link_rate: Numeric,
                scale: Numeric = 1.0) -> Array:
    r"""Time of one all-gather or reduce-scatter.

    .. math:: t = s (a + a_l \log_2 p + \tfrac{p-1}{p} S/e\beta_n)

    Parameters
    ----------
    curve : GatherCurve
        Fitted parameters.
    total : float or ndarray
        S, gathered bytes [byte], shape (op, *grid).
    ranks : float or ndarray
        p [1]; one rank costs nothing.
    link_rate : float or ndarray
        One-way rate of a rank [byte/s].
    scale : float or ndarray
        In-situ time over the isolated kernel's, at least 1.

    Returns
    -------
    ndarray
        t [s], shape (op, *grid).
    """
    return gather_terms(curve, ranks=ranks, link_rate=link_rate, scale=scale).time(total)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherTerms:
    """What of :func:`gather_time` depends on the ranks and their link but not on the bytes gathered."""

    latency: Array
    """[s]."""
    per_byte: Array
    """[s/byte]."""

    def time(self, total: Numeric) -> Array:
        """Time of one all-gather or reduce-scatter.

        Parameters
        ----------
        total : float or ndarray
            S, gathered bytes [byte], shape (op, *grid).

        Returns
        -------
        ndarray
            t [s], shape (op, *grid).
        """
        return np.asarray(self.latency + self.per_byte * total)


def gather_terms(curve: GatherCurve, *, ranks: Numeric, link_rate: Numeric, scale: Numeric) -> GatherTerms:
    """An all-gather or reduce-scatter between given ranks.

    Parameters
    ----------
    curve : GatherCurve
        Fitted parameters.
    ranks : float or ndarray
        p [1]; one rank costs nothing.
    link_rate : float or ndarray
        One-way rate of a rank [byte/s].
    scale : float or ndarray
        In-situ time over the isolated kernel's, at least 1.

    Returns
    -------
    GatherTerms
        Of the broadcast shape.
    """
    p = np.asarray(ranks, dtype=np.float64)
    used = np.where(p > 1, scale, 0.0)
    latency = used * (curve.launch + np.multiply(curve.per_doubling, np.log2(p)))
    return GatherTerms(latency=latency, per_byte=used * ((p - 1) / p / np.multiply(curve.link, link_rate)))
