"""What the core derives from a model, as GET shows it: counts, cache per token, attention by layer group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.architecture.cache import bytes_per_token, first_bytes_per_token, state_bytes
from planner.core.architecture.model import Model, ModelCard
from planner.core.architecture.parameters import count_parameters
from planner.core.precision import CACHE_FORMATS


def describe_model(model: Model | ModelCard) -> Mapping[str, Any]:
    """Return parameters, cache bytes per token in each format, recurrent state and layer groups."""
    if isinstance(model, ModelCard):
        elements = 2 * model.layers * model.kv_heads * model.head_dim
        return {"parameters": {"total": model.params, "active": model.active_params or model.params},
                "kv_bytes_per_token": {name: elements * fmt.bytes_per_element for name, fmt in CACHE_FORMATS.items()}}
    counts = count_parameters(model)
    return {
        "parameters": {
            "total": counts.total, "active": counts.active, "embedding": counts.embedding, "head": counts.head,
            "active_without_embedding": counts.active_without_embedding,
            "active_without_embedding_and_head": counts.active_without_embedding_and_head,
            "components": {**{str(module): count for module, count in counts.modules.items()}, **counts.towers}},
        "kv_bytes_per_token": {name: first_bytes_per_token(model, fmt.bytes_per_element)
                               for name, fmt in CACHE_FORMATS.items()},
        "kv_bytes_per_further_token": {name: bytes_per_token(model, fmt.bytes_per_element)
                                       for name, fmt in CACHE_FORMATS.items()},
        "state_bytes_per_sequence": state_bytes(model, 2.0),
        "context_trained": model.context_trained,
        "weights": {"default": model.scheme.default,
                    **{module.value: name for module, name in model.scheme.overrides.items()}},
        "layers": [{"count": count, "attention": None if layer.mixer is None else layer.mixer.label,
                    "feedforward": _feedforward(layer.feedforwards)} for count, layer in _groups(model)],
    }


def _groups(model: Model) -> list[tuple[int, Any]]:
    """Equal layers together, in the order of their first."""
    found: dict[Any, int] = {}
    for count, layer in model.layers:
        found[layer] = found.get(layer, 0) + count
    return [(count, layer) for layer, count in found.items()]


def _feedforward(parts: tuple[Any, ...]) -> str | None:
    names = [f"{part.experts_per_token} of {part.experts} experts" if hasattr(part, "experts") else
             f"{'gated' if part.gated else 'plain'} MLP {part.intermediate}" for part in parts]
    return " + ".join(names) or None
