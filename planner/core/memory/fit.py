"""Does it fit: budget, pool, tokens, sequences, longest context, and what is short when it does not."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf

from planner.core.memory.budget import Reservation
from planner.core.memory.cache import CacheFootprint
from planner.core.parallelism import Layout
from planner.core.quantities.format import binary_bytes

_UNLIMITED = 2.0**40  # [token] what a purely windowed or recurrent model is said to hold: no cache limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """The memory of one replica; bytes per busiest GPU, tokens and sequences per replica."""

    fits: bool
    reason: str
    shortfall_bytes: float
    capacity_bytes: float
    usable_bytes: float
    weights_bytes: float
    activation_bytes: float
    other_bytes: float
    kv_pool_bytes: float
    kv_bytes_per_token: float
    """Of the whole replica, replicas of heads counted once per rank that stores them [byte]."""
    kv_capacity_tokens: float
    max_concurrency: float
    max_context_tokens: float


def memory_fit(footprint: CacheFootprint, layout: Layout, *, capacity: float, utilization: float, weights: float,
               reserved: Reservation, request_tokens: float, longest: float | None) -> MemoryFit:
    """Whether weights and at least one request fit, and how many.

    Parameters
    ----------
    footprint : CacheFootprint
        Cache of a sequence on the busiest rank.
    layout : Layout
        The parallel layout.
    capacity : float
        Memory of one GPU as the runtime reports it [byte].
    utilization : float
        Share of it the engine may use [1].
    weights : float
        Weights on the busiest rank [byte].
    reserved : Reservation
        What the engine keeps beside them.
    request_tokens : float
        Input and output of one request [token].
    longest : float or None
        A length that must fit as well [token].

    Returns
    -------
    MemoryFit
        With the shortfall in bytes when it does not fit.
    """
    usable = capacity * utilization
    pool = usable - weights - reserved.activation_bytes - reserved.other_bytes
    need_tokens = max(request_tokens, longest or 0.0)
    need = footprint.sequence_bytes(need_tokens)
    ranks = layout.data
    per_token = footprint.bytes_per_token
    one = footprint.sequence_bytes(request_tokens)
    available = max(pool, 0.0)
    sequences = available / one * ranks if one > 0 else inf
    fits = pool >= need
    return MemoryFit(
        fits=fits, reason=_reason(pool, need, weights, usable, need_tokens, fits=fits),
        shortfall_bytes=0.0 if fits else need - pool, capacity_bytes=capacity, usable_bytes=usable, weights_bytes=weights,
        activation_bytes=reserved.activation_bytes, other_bytes=reserved.other_bytes, kv_pool_bytes=available,
        kv_bytes_per_token=per_token * layout.tensor * layout.pipeline,
        kv_capacity_tokens=floor(min(sequences * request_tokens, _UNLIMITED)),
        max_concurrency=floor(min(sequences, _UNLIMITED)),
        max_context_tokens=min(footprint.longest(available), _UNLIMITED))


def _reason(pool: float, need: float, weights: float, usable: float, tokens: float, *, fits: bool) -> str:
    if fits:
        return "Weights, reserves and at least one request fit."
    if weights > usable:
        return f"Weights need {binary_bytes(weights)} per GPU, but only {binary_bytes(usable)} are usable."
    if pool <= 0:
        return (f"Weights ({binary_bytes(weights)}) and the engine's reserves leave nothing of {binary_bytes(usable)} "
                "for the KV cache.")
    return (f"The KV pool of {binary_bytes(pool)} per GPU cannot hold one request of {tokens:,.0f} tokens "
            f"({binary_bytes(need)}).")
