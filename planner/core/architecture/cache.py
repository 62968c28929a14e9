"""What a model keeps per token and per sequence: elements by window, and the recurrent state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.core.architecture.model import Model
from planner.core.architecture.parts import KvCache, State


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheGroup:
    """Layers whose caches grow alike."""

    layers: int
    cache: KvCache


def stored_caches(model: Model) -> Iterator[CacheGroup]:
    """The caches that take memory, one per run of layers and cache.

    Parameters
    ----------
    model : Model
        Any model.

    Yields
    ------
    CacheGroup
        Number of layers and what each of them keeps.
    """
    for count, layer in model.layers:
        for cache in () if layer.mixer is None else layer.mixer.caches():
            if cache.stored:
                yield CacheGroup(layers=count, cache=cache)


def states(model: Model) -> Iterator[tuple[int, State]]:
    """The recurrent states, one per run of layers.

    Parameters
    ----------
    model : Model
        Any model.

    Yields
    ------
    tuple of int and State
        Number of layers and what each of them keeps per sequence.
    """
    for count, layer in model.layers:
        state = None if layer.mixer is None else layer.mixer.state()
        if state is not None:
            yield count, state


def cache_bytes(model: Model, tokens: float, bytes_per_element: float) -> float:
    """Cache of one sequence as physics needs it: windows full, pages and rank copies ignored.

    Parameters
    ----------
    model : Model
        Any model.
    tokens : float
        Context [token].
    bytes_per_element : float
        Of the cache format [byte].

    Returns
    -------
    float
        Bytes of all layers together [byte].

    Notes
    -----
    A bound from below: allocators round up to pages and pad layer groups.
    """
    total = 0.0
    for group in stored_caches(model):
        cache = group.cache
        kept = tokens if cache.window is None else min(tokens, cache.window)
        total += group.layers * cache.heads * cache.entry_bytes(bytes_per_element) * kept / cache.stride
    return total


def bytes_per_token(model: Model, bytes_per_element: float) -> float:
    """Cache bytes that each further token adds once every window is full.

    Parameters
    ----------
    model : Model
        Any model.
    bytes_per_element : float
        Of the cache format [byte].

    Returns
    -------
    float
        Bytes per token of context, all layers, before rank copies [byte].
    """
    return sum(group.layers * group.cache.heads * group.cache.entry_bytes(bytes_per_element) / group.cache.stride
               for group in stored_caches(model) if group.cache.window is None)


def first_bytes_per_token(model: Model, bytes_per_element: float) -> float:
    """Cache bytes that a token adds while no window is full: the figure people quote.

    Parameters
    ----------
    model : Model
        Any model.
    bytes_per_element : float
        Of the cache format [byte].

    Returns
    -------
    float
        Bytes per token of context, windowed layers included, before rank copies [byte].
    """
    return sum(group.layers * group.cache.heads * group.cache.entry_bytes(bytes_per_element) / group.cache.stride
               for group in stored_caches(model))


def expanded_elements_per_token(model: Model) -> float:
    """K and V elements per token where an engine caches expanded heads in place of latents [1].

    Parameters
    ----------
    model : Model
        Any model; layers without a latent count as they are.

    Returns
    -------
    float
        Elements per token [1].
    """
    total = 0.0
    for count, layer in model.layers:
        expanded = getattr(layer.mixer, "expanded_elements", None)
        if expanded is not None:
            total += count * expanded
        elif layer.mixer is not None:
            total += sum(count * cache.heads * cache.elements_per_head for cache in layer.mixer.caches()
                         if cache.stored and cache.window is None)
    return total


def elements_per_token(model: Model) -> float:
    """K and V elements that each token adds to caches that keep everything [1].

    Parameters
    ----------
    model : Model
        Any model.

    Returns
    -------
    float
        Elements per token, index keys of fixed format excluded [1].
    """
    return sum(group.layers * group.cache.heads * group.cache.elements_per_head / group.cache.stride
               for group in stored_caches(model) if group.cache.window is None)


def window_elements_per_token(model: Model) -> float:
    """K and V elements that each token adds to windowed caches until they are full [1].

    Parameters
    ----------
    model : Model
        Any model.

    Returns
    -------
    float
        Elements per token of the windowed layers [1].
    """
    return sum(group.layers * group.cache.heads * group.cache.elements_per_head
               for group in stored_caches(model) if group.cache.window is not None)


def state_bytes(model: Model, bytes_per_element: float) -> float:
    """Recurrent state of one sequence, whatever its context.

    Parameters
    ----------
    model : Model
        Any model.
    bytes_per_element : float
        Of the activations' dtype [byte].

    Returns
    -------
    float
        Bytes of all layers together [byte].
    """
    return sum(count * (4.0 * state.fp32_elements + bytes_per_element * state.model_elements)
               for count, state in states(model))
