"""A model: its layers in order, embeddings, head, and what is kept beside the language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.core.architecture.layer import Layer
from planner.core.architecture.parts import Matrix, Module


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightScheme:
    """Which format each kind of module is stored in; names as in :mod:`planner.core.precision`."""

    default: str
    overrides: Mapping[Module, str] = field(default_factory=dict)
    """Exceptions by module kind; a tuple of pairs is accepted by :func:`dict`."""

    def of(self, module: Module) -> str:
        """The format name of one module kind."""
        return self.overrides.get(module, self.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """A vision or audio encoder, projector or draft module beside the language model."""

    name: str
    kind: str
    """vision | audio | projector | mtp | draft | buffer (tables that are not parameters)."""
    parameters: int
    hidden: int | None = None
    layers: int | None = None
    tokens_per_item: int | None = None
    """Tokens one image or clip becomes at its default resolution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A decoder-only language model as its config.json describes it, down to every matrix."""

    id: str
    hidden: int
    vocabulary: int
    layers: tuple[tuple[int, Layer], ...]
    """(count, layer) runs in order."""
    tied_embeddings: bool
    embedding_width: int | None = None
    """Width of the token embedding where it is not ``hidden``."""
    position_parameters: int = 0
    """Learned position embeddings [1]."""
    extra_embedding_parameters: int = 0
    """Other embedding tables kept in memory and read one row per token [1]."""
    extra_parameters: int = 0
    """Final norm and whatever else stands outside layers [1]."""
    extra_matrices: tuple[Matrix, ...] = ()
    """Matrices outside layers that every token passes (embedding projections, residual mixers) once."""
    head_biases: int = 0
    context_trained: int | None = None
    """Longest context the config declares [token]."""
    scheme: WeightScheme = field(default_factory=lambda: WeightScheme(default="bf16"))
    """What the checkpoint itself declares."""
    towers: tuple[Tower, ...] = ()
    """What is kept beside the language model and itemised apart from its total."""
    uncounted: tuple[str, ...] = ()
    """Encoders the config names but whose weights nobody counted: memory is then a bound from below."""
    family: str = ""
    cache_format: str | None = None
    """KV-cache format the checkpoint declares; None leaves it to the engine (bf16)."""

    @property
    def layer_count(self) -> int:
        """Layers in all [1]."""
        return sum(count for count, _ in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """The five-field card: enough for weights, KV, B*, crossover and bandwidth-bound rates, no more."""

    id: str
    params: float
    layers: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    active_params: float | None = None
