"""Does it fit: budget, pool, tokens, sequences, longest context, and what is short when it does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf

import numpy as np

from planner.core.memory.allocator import PagedPool
from planner.core.memory.budget import Reservation
from planner.core.memory.cache import CacheFootprint
from planner.core.parallelism import Layout
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.format import binary_bytes
from planner.core.quantities.numeric import Number

_UNLIMITED = 2.0**40  # [token] what a purely windowed or recurrent model is said to hold: no cache limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """The memory of one replica; bytes per busiest GPU, tokens and sequences per replica.

    Fields are numbers for one deployment and arrays over a grid.
    """

    fits: Number
    """Whether weights, reserves and the longest wanted request fit; bool."""
    need_bytes: Number
    """Cache of the longest wanted request on one GPU [byte]."""
    free_bytes: Number
    """What weights and reserves leave, negative when they do not fit [byte]."""
    shortfall_bytes: Number
    capacity_bytes: Number
    usable_bytes: Number
    weights_bytes: Number
    activation_bytes: Number
    other_bytes: Number
    kv_pool_bytes: Number
    kv_bytes_per_token: Number
    """Of the whole replica, replicas of heads counted once per rank that stores them [byte]."""
    kv_capacity_tokens: Number
    max_concurrency: Number
    """Whole requests of the asked length held at once, as engines print it: each at its peak, where vLLM counts a
    window with a prompt chunk beside it [1]."""
    wanted_tokens: Number
    """Length of the longest wanted request [token]."""
    cut: CacheFootprint | PagedPool
    """How a sequence fills the pool."""
    decoding: CacheFootprint | PagedPool
    """How it fills the pool while it decodes."""
    ranks: int
    """Data-parallel ranks, each with a pool of its own [1]."""
    states: Number
    """Sequences of a rank whose recurrent state has a place in a pool apart; inf where there is none [1]."""

    def sequences(self, tokens: Number) -> Number:
        """Whole sequences that the replica holds at once while they decode at a context [1]."""
        return whole_sequences(self.decoding, self.kv_pool_bytes, tokens, self.states, self.ranks)

    @property
    def max_context_tokens(self) -> Number:
        """The longest sequence the pool holds, worked out when asked for [token]."""
        pool = self.kv_pool_bytes
        return num.minimum(self.cut.longest(pool) if isinstance(pool, np.ndarray) else _longest(self.cut, pool),
                           _UNLIMITED)

    @property
    def reason(self) -> str:
        """Why it fits or not, of one deployment."""
        if self.fits:
            return "Weights, reserves and at least one request fit."
        usable, weights = binary_bytes(self.usable_bytes), binary_bytes(self.weights_bytes)
        if self.weights_bytes > self.usable_bytes:
            return f"Weights need {weights} per GPU, but only {usable} are usable."
        if self.free_bytes <= 0:
            return f"Weights ({weights}) and the engine's reserves leave nothing of {usable} for the KV cache."
        return (f"The KV pool of {binary_bytes(self.free_bytes)} per GPU cannot hold one request of "
                f"{self.wanted_tokens:,.0f} tokens ({binary_bytes(self.need_bytes)}).")


def whole_sequences(cut: CacheFootprint | PagedPool, pool: Number, tokens: Number, states: Number,
                    ranks: int) -> Number:
    r"""Whole sequences of one length that the ranks of a replica hold at once.

    .. math:: ranks \cdot \lfloor \min(pool / bytes(tokens), states) \rfloor

    Parameters
    ----------
    cut : CacheFootprint or PagedPool
        How a sequence fills the pool.
    pool : float or ndarray
        Cache of one GPU [byte], shape (*grid).
    tokens : float or ndarray
        Length of every sequence [token], shape (*grid).
    states : float or ndarray
        Sequences whose recurrent state has a place in a pool apart; inf where there is none [1].
    ranks : int
        Data-parallel ranks: a sequence lives in one of them [1].

    Returns
    -------
    float or ndarray
        [1], shape (*grid).
    """
    return num.minimum(num.floor(num.minimum(cut.sequences(pool, tokens), states)) * ranks, _UNLIMITED)


@lru_cache(maxsize=4096)
def _longest(cut: CacheFootprint | PagedPool, pool: float) -> Number:
    """What a pool holds at the longest: a search for pools of several kinds of layers, whatever the load."""
    return cut.longest(pool)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRoom:
    """What one replica has for its cache, whatever the length of its requests; fields as in :class:`MemoryFit`."""

    footprint: CacheFootprint
    layout: Layout
    reserved: Reservation
    capacity_bytes: float
    usable_bytes: Number
    weights_bytes: float
    free_bytes: Number
    pool_bytes: Number
    longest: Numeric | None
    """A length that must fit as well [token]."""
    cut: CacheFootprint | PagedPool
    decoding: CacheFootprint | PagedPool
    states: Number

    def wanted(self, request_tokens: Numeric) -> Number:
        """The longest sequence that must fit.

        Parameters
        ----------
        request_tokens : float or ndarray
            Input and output of one request [token].

        Returns
        -------
        float or ndarray
            [token].
        """
        return request_tokens if self.longest is None else num.maximum(request_tokens, self.longest)

    def fits(self, request_tokens: Numeric) -> Number:
        """Whether weights, reserves and the longest wanted request fit.

        Parameters
        ----------
        request_tokens : float or ndarray
            Input and output of one request [token].

        Returns
        -------
        bool or ndarray
            Of the grid.
        """
        return self.free_bytes >= self.cut.bytes_per_sequence(self.wanted(request_tokens))

    def max_concurrency(self, request_tokens: Numeric) -> Number:
        """Requests of a length that the replica holds at once.

        Parameters
        ----------
        request_tokens : float or ndarray
            Input and output of one request [token].

        Returns
        -------
        float or ndarray
            Whole requests [1].
        """
        return whole_sequences(self.cut, self.pool_bytes, request_tokens, self.states, self.layout.data)

    def fit(self, request_tokens: Numeric) -> MemoryFit:
        """The whole report for requests of a length.

        Parameters
        ----------
        request_tokens : float or ndarray
            Input and output of one request [token].

        Returns
        -------
        MemoryFit
            With the shortfall in bytes when it does not fit.
        """
        free, wanted = self.free_bytes, self.wanted(request_tokens)
        need = self.cut.bytes_per_sequence(wanted)
        length = request_tokens if self.longest is None else self.longest  # engines print what the longest would hold
        tokens = num.minimum(self.cut.capacity_tokens(self.pool_bytes, length) * self.layout.data, _UNLIMITED)
        return MemoryFit(
            fits=free >= need, need_bytes=need, free_bytes=free, shortfall_bytes=num.maximum(need - free, 0.0),
            capacity_bytes=self.capacity_bytes, usable_bytes=self.usable_bytes, weights_bytes=self.weights_bytes,
            activation_bytes=self.reserved.activation_bytes, other_bytes=self.reserved.other_bytes,
            kv_pool_bytes=self.pool_bytes,
            kv_bytes_per_token=self.footprint.bytes_per_token * self.layout.tensor * self.layout.pipeline,
            kv_capacity_tokens=num.floor(tokens), max_concurrency=self.max_concurrency(request_tokens),
            wanted_tokens=wanted, cut=self.cut, decoding=self.decoding, ranks=self.layout.data, states=self.states)


def cache_room(footprint: CacheFootprint, layout: Layout, *, capacity: float, utilization: Numeric, weights: float,
               reserved: Reservation, longest: Numeric | None, paged: PagedPool | None = None) -> CacheRoom:
    """What weights and reserves leave for the cache of a replica.

    Parameters
    ----------
    footprint : CacheFootprint
        Cache of a sequence on the busiest rank.
    layout : Layout
        The parallel layout.
    capacity : float
        Memory of one GPU as the runtime reports it [byte].
    utilization : float or ndarray
        Share of it the engine may use [1].
    weights : float
        Weights on the busiest rank [byte].
    reserved : Reservation
        What the engine keeps beside them.
    longest : float, ndarray or None
        A length that must fit as well [token].
    paged : PagedPool or None
        How the engine cuts the pool into blocks; None counts bytes without rounding.

    Returns
    -------
    CacheRoom
        Bytes on the busiest GPU.
    """
    usable = reserved.usable(capacity, utilization, weights)
    free = (usable - weights - reserved.activation_bytes - reserved.other_bytes) * reserved.token_share
    apart = paged is None and reserved.token_share < 1.0 and footprint.state_bytes > 0.0
    cut, pool = paged or (replace(footprint, state_bytes=0.0) if apart else footprint), num.maximum(free, 0.0)
    states = pool * (1.0 - reserved.token_share) / reserved.token_share / footprint.state_bytes if apart else inf
    return CacheRoom(
        footprint=footprint, layout=layout, reserved=reserved, capacity_bytes=capacity, usable_bytes=usable,
        weights_bytes=weights, free_bytes=free, pool_bytes=pool, longest=longest, states=states, cut=cut,
        decoding=cut.decoding())
