"""What each layer of a model keeps on a rank: tokens, a window of them, or a state."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from planner.core.architecture.model import Model, ModelCard
from planner.core.architecture.parts import KvCache, State
from planner.core.operators.shard import cache_heads_on_rank, pieces_on_rank
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat

FULL, WINDOW, STATE = "full", "window", "state"
_FP32, _HALF = 4.0, 2.0  # [byte]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerNeed:
    """What one layer keeps on a rank."""

    kind: str
    """full | window | state."""
    token_bytes: float
    """Per cached token; of a state, its whole size [byte]."""
    window: float = inf
    """Tokens kept at most [token]."""


def layer_needs(model: Model | ModelCard, layout: Layout, cache: CacheFormat) -> tuple[tuple[int, LayerNeed], ...]:
    """What each layer keeps on the rank with the most layers.

    Parameters
    ----------
    model : Model or ModelCard
        The architecture.
    layout : Layout
        Tensor parallelism spreads heads (a latent repeats), pipeline stages spread layers, rounded up.
    cache : CacheFormat
        KV-cache format.

    Returns
    -------
    tuple
        (layers, need) by kind; layers that read another layer's cache keep nothing.
    """
    found: dict[LayerNeed, int] = {}
    for count, item in _caches(model):
        if item.stored:
            heads = cache_heads_on_rank(item, layout.tensor)
            need = LayerNeed(kind=FULL if item.window is None else WINDOW,
                             window=inf if item.window is None else float(item.window),
                             token_bytes=heads * item.entry_bytes(cache.bytes_per_element) / item.stride)
            found[need] = found.get(need, 0) + count
    for count, state in _states(model):
        size = state.fp32_elements * _FP32 + state.model_elements * _HALF
        need = LayerNeed(kind=STATE, token_bytes=size * pieces_on_rank(state.units, layout.tensor) / state.units)
        found[need] = found.get(need, 0) + count
    return tuple((ceil(count / layout.pipeline), need) for need, count in found.items())


def _caches(model: Model | ModelCard) -> list[tuple[int, KvCache]]:
    if isinstance(model, ModelCard):
        return [(model.layers, KvCache(heads=model.kv_heads, elements_per_head=2.0 * model.head_dim))]
    return [(count, item) for count, layer in model.layers if layer.mixer is not None for item in layer.mixer.caches()]


def _states(model: Model | ModelCard) -> list[tuple[int, State]]:
    if isinstance(model, ModelCard):
        return []
    return [(count, state) for count, layer in model.layers
            if layer.mixer is not None and (state := layer.mixer.state()) is not None]
