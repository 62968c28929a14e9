"""Cache bytes of a sequence on one rank: growing with context, capped by windows, or constant in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

from planner.core.architecture.model import Model, ModelCard
from planner.core.architecture.parts import KvCache
from planner.core.operators.shard import cache_heads_on_rank, pieces_on_rank
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.numeric import Number

_FP32, _HALF = 4.0, 2.0  # [byte]
_LEAST = 1e-3  # [byte] keeps the quotient finite where nothing is cached


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheClass:
    """Layers that keep their tokens alike."""

    window: float
    """Tokens kept at most; inf keeps all [token]."""
    stride: float
    """Context tokens per entry [1]."""
    entry_bytes: float
    """Bytes per entry over all layers of the class on the rank [byte]."""
    layers: float
    """Layers of the class on the rank [1]."""

    @property
    def bytes_per_token(self) -> float:
        """Bytes a token inside the window takes [byte]."""
        return self.entry_bytes / self.stride


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFootprint:
    """What one sequence keeps on the busiest rank, by class of layers, longest window first."""

    classes: tuple[CacheClass, ...]
    state_bytes: float
    """Recurrent state of a sequence [byte]."""

    @property
    def bytes_per_token(self) -> float:
        """Bytes a further token of a short context takes, all classes [byte]."""
        return sum(c.bytes_per_token for c in self.classes)

    def bytes_per_sequence(self, tokens: Numeric) -> Number:
        """Bytes a sequence of that length holds, before block rounding.

        Parameters
        ----------
        tokens : float or ndarray
            Context [token], shape (*grid).

        Returns
        -------
        float or ndarray
            [byte], shape (*grid).
        """
        held: Number = self.state_bytes
        for c in self.classes:
            held = held + num.minimum(tokens, c.window) * c.bytes_per_token
        return held

    def decoding(self) -> CacheFootprint:
        """The same: what is counted in bytes holds no prompt chunk.

        Returns
        -------
        CacheFootprint
            Itself.
        """
        return self

    def footprint(self, counted: float) -> CacheFootprint:
        """The same: bytes waste no blocks.

        Parameters
        ----------
        counted : float
            Not used [token].

        Returns
        -------
        CacheFootprint
            Itself.
        """
        del counted
        return self

    def sequences(self, pool: Numeric, tokens: Numeric) -> Number:
        """Sequences of one length that a pool holds at once.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache [byte], shape (*grid).
        tokens : float or ndarray
            Length of every sequence [token], shape (*grid).

        Returns
        -------
        float or ndarray
            Not rounded [1], shape (*grid).
        """
        return pool / num.maximum(self.bytes_per_sequence(tokens), _LEAST)

    def capacity_tokens(self, pool: Numeric, tokens: Numeric) -> Number:
        """Tokens a pool holds when every sequence has this length.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache [byte], shape (*grid).
        tokens : float or ndarray
            Length of every sequence [token], shape (*grid).

        Returns
        -------
        float or ndarray
            [token], shape (*grid).
        """
        return self.sequences(pool, tokens) * tokens

    def longest(self, pool: Numeric) -> Number:
        """The longest sequence a pool holds.

        Parameters
        ----------
        pool : float or ndarray
            Bytes for the cache [byte], shape (*grid).

        Returns
        -------
        float or ndarray
            Whole tokens; inf where every class is windowed and full windows fit.

        Notes
        -----
        The footprint is piecewise linear: walk the windows from the shortest until the pool is used up.
        """
        left, start, slope = num.maximum(pool - self.state_bytes, 0.0), 0.0, self.bytes_per_token
        found: Number = None
        for c in sorted(self.classes, key=lambda c: c.window):
            if c.window == inf:
                break
            if c.window > start:
                ends = left < slope * (c.window - start)
                here = num.where(ends, start + left / slope, inf)
                found = here if found is None else num.where(num.isfinite(found), found, here)
                left, start = left - slope * (c.window - start), c.window
            slope -= c.bytes_per_token
        last = start + num.maximum(left, 0.0) / slope if any(c.window == inf for c in self.classes) else inf
        return num.floor(last if found is None else num.where(num.isfinite(found), found, last))


def cache_footprint(model: Model | ModelCard, layout: Layout, cache: CacheFormat) -> CacheFootprint:
    """The cache of one sequence on the busiest rank of a replica.

    Parameters
    ----------
    model : Model or ModelCard
        The architecture.
    layout : Layout
        Tensor parallelism spreads heads (a latent repeats), pipeline stages spread layers.
    cache : CacheFormat
        KV-cache format.

    Returns
    -------
    CacheFootprint
        By class of equal window and stride.
    """
    caches, state = _caches(model, layout)
    share = 1.0 / layout.pipeline
    total = model.layers if isinstance(model, ModelCard) else model.layer_count
    share *= ceil(total / layout.pipeline) * layout.pipeline / total
    classes: dict[tuple[float, float], list[float]] = {}
    for count, item in caches:
        if not item.stored:
            continue
        key = (inf if item.window is None else float(item.window), item.stride)
        entry = classes.setdefault(key, [0.0, 0.0])
        heads = cache_heads_on_rank(item, layout.tensor)
        entry[0] += count * share * heads * item.entry_bytes(cache.bytes_per_element)
        entry[1] += count * share
    keys = sorted(classes, reverse=True)
    return CacheFootprint(
        classes=tuple(CacheClass(window=k[0], stride=k[1], entry_bytes=classes[k][0], layers=classes[k][1])
                      for k in keys),
        state_bytes=state * share)


def _caches(model: Model | ModelCard, layout: Layout) -> tuple[Sequence[tuple[int, KvCache]], float]:
    if isinstance(model, ModelCard):
        return [(model.layers, KvCache(heads=model.kv_heads, elements_per_head=2.0 * model.head_dim))], 0.0
    caches: list[tuple[int, KvCache]] = []
    state = 0.0
    for count, layer in model.layers:
        if layer.mixer is None:
            continue
        caches += [(count, item) for item in layer.mixer.caches()]
        kept = layer.mixer.state()
        if kept is not None:
            size = kept.fp32_elements * _FP32 + kept.model_elements * _HALF
            state += count * size * pieces_on_rank(kept.units, layout.tensor) / kept.units
    return caches, state
