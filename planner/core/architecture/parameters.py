"""Parameter counts of a model, in total, by module and per token: the sum of its matrices and vectors.

References
----------
The three active conventions are those of published model cards: everything a token passes; without the input
embedding, which is a lookup; and without embedding and head, as mixture-of-experts cards usually count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Model
from planner.core.architecture.parts import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCounts:
    """Parameters of the language model; a tied matrix counts once, draft modules and towers not at all."""

    total: int
    embedding: int
    """The token embedding [1]."""
    head: int
    """The output matrix; 0 where it is the embedding [1]."""
    position: int
    """Learned position embeddings [1]."""
    modules: Mapping[str, int]
    """By kind of module; adds up to the total [1]."""
    active: int
    """Per token, embedding table and head included [1]."""
    active_without_embedding: int
    """Per token, without tables that are only looked up: input embedding unless tied, positions [1]."""
    active_without_embedding_and_head: int
    """Per token, without input embedding, positions and output matrix [1]."""
    towers: Mapping[str, int]
    """Kept beside the language model and not in the total, by name [1]."""


def _add_layer(modules: Counter[str], count: int, layer: Layer) -> int:
    """Adds one run of layers to the modules; returns the parameters tokens do not pass."""
    for matrix in layer.matrices():
        modules[matrix.module] += count * (matrix.elements + matrix.biases)
    modules[Module.ATTENTION] += count * layer.unused_parameters
    vectors = layer.norm_parameters + (0 if layer.mixer is None else layer.mixer.vectors())
    idle = 0
    for mixture in layer.mixtures:
        modules[Module.EXPERTS] += count * mixture.experts * mixture.expert_elements
        idle += count * (mixture.experts - mixture.experts_per_token) * mixture.expert_elements
        vectors += mixture.extra_parameters
        if mixture.router_elements is not None:
            vectors += mixture.router_elements - mixture.hidden * mixture.experts
    modules[Module.OTHER] += count * vectors
    modules[Module.EMBEDDING] += count * layer.embedding_parameters
    return idle


def layer_parameters(layer: Layer) -> int:
    """Parameters of one layer, routed experts included.

    Parameters
    ----------
    layer : Layer
        Any layer.

    Returns
    -------
    int
        Matrices, biases, vectors, norms and tables [1].
    """
    modules: Counter[str] = Counter()
    _add_layer(modules, 1, layer)
    return sum(modules.values())


def count_parameters(model: Model) -> ParameterCounts:
    """The parameters of the language model, tied matrices once.

    Parameters
    ----------
    model : Model
        Any model whose layers list their matrices.

    Returns
    -------
    ParameterCounts
        Totals [1].

    Notes
    -----
    Exact: integers summed over the layer list. Active counts assume that a token passes exactly the configured
    number of experts.
    """
    modules: Counter[str] = Counter()
    idle = sum(_add_layer(modules, count, layer) for count, layer in model.layers)
    width = model.hidden if model.embedding_width is None else model.embedding_width
    table = model.vocabulary * width
    head = 0 if model.tied_embeddings else table
    for matrix in model.extra_matrices:
        modules[matrix.module] += matrix.elements + matrix.biases
    modules[Module.EMBEDDING] += table + model.position_parameters + model.extra_embedding_parameters
    modules[Module.HEAD] += head + model.head_biases
    modules[Module.OTHER] += model.extra_parameters
    total = sum(modules.values())
    active = total - idle
    looked_up = model.position_parameters + (0 if model.tied_embeddings else table)
    return ParameterCounts(
        total=total, embedding=table, head=head, position=model.position_parameters,
        modules={name: number for name, number in modules.items() if number}, active=active,
        active_without_embedding=active - looked_up,
        active_without_embedding_and_head=active - model.position_parameters - table - head - model.head_biases,
        towers={tower.name: tower.parameters for tower in model.towers})
