"""Weight bytes on the busiest rank: the operator rows' own bytes, plus what is stored but never multiplied."""

from __future__ import annotations

from planner.core.architecture.model import Model, ModelCard, WeightScheme
from planner.core.architecture.parts import Module
from planner.core.operators.table import OperatorTable
from planner.core.parallelism import Layout
from planner.core.precision import weight_format

_DRAFTS = frozenset({"mtp", "draft"})
_ENCODERS = frozenset({"vision", "audio", "projector"})
_VECTOR_BYTES = 2.0  # [byte] norms and other vectors stay 16 bit


def weight_bytes_on_rank(table: OperatorTable, model: Model | ModelCard, scheme: WeightScheme) -> float:
    """Bytes of weights the busiest GPU of a replica stores.

    Parameters
    ----------
    table : OperatorTable
        The model lowered for the layout.
    model : Model or ModelCard
        The architecture, for tensors that no GEMM reads.
    scheme : WeightScheme
        Format of every module.

    Returns
    -------
    float
        [byte]. Layers are spread over pipeline stages, rounded up; embedding and head sit on the end stages.

    Notes
    -----
    All experts of the rank count, whatever a step reads.
    """
    matmuls, mixtures, stages = table.matmuls, table.mixtures, table.layout.pipeline
    body = float((matmuls.count * matmuls.weight_bytes * (1.0 - matmuls.is_head)).sum())
    routed = float((mixtures.count * mixtures.expert_bytes * mixtures.experts / mixtures.groups).sum())
    if isinstance(model, ModelCard):
        return (body + routed) / stages
    head = float((matmuls.count * matmuls.weight_bytes * matmuls.is_head).sum())
    ends = embedding_bytes_on_rank(table, model, scheme)
    apart = stages == 1 and not model.tied_embeddings
    outer = head + ends if apart else max(head, ends)
    return (body + routed + vector_bytes(model)) / stages + outer + tower_bytes(model)


def tower_bytes(model: Model) -> float:
    """Bytes of vision and audio encoders and their projectors, which every rank keeps whole in 16 bit.

    Parameters
    ----------
    model : Model
        The architecture.

    Returns
    -------
    float
        [byte]; draft modules are loaded only where speculation is asked for and do not count.
    """
    return sum(t.parameters for t in model.towers if t.kind in _ENCODERS) * _VECTOR_BYTES


def draft_bytes_on_rank(model: Model, scheme: WeightScheme, layout: Layout) -> float:
    """Bytes of draft modules (multi-token prediction) on one rank, where speculation loads them.

    Parameters
    ----------
    model : Model
        The architecture.
    scheme : WeightScheme
        Format of every module.
    layout : Layout
        Tensor parallelism spreads them.

    Returns
    -------
    float
        [byte] in the format of the blocks.
    """
    fmt = weight_format(scheme.default).bytes_per_element
    return sum(t.parameters for t in model.towers if t.kind in _DRAFTS) * fmt / layout.tensor


def embedding_bytes_on_rank(table: OperatorTable, model: Model, scheme: WeightScheme) -> float:
    """Bytes of embedding tables on one rank.

    Parameters
    ----------
    table : OperatorTable
        The model lowered for the layout.
    model : Model
        The architecture.
    scheme : WeightScheme
        Format of every module.

    Returns
    -------
    float
        [byte]; the token table is cut over the vocabulary, position tables are replicated.
    """
    width = model.hidden if model.embedding_width is None else model.embedding_width
    fmt = weight_format(scheme.of(Module.EMBEDDING)).bytes_per_element
    per_layer = sum(count * layer.embedding_parameters for count, layer in model.layers)
    tables = model.vocabulary * width + model.extra_embedding_parameters + per_layer
    return tables / table.layout.tensor * fmt + model.position_parameters * _VECTOR_BYTES


def vector_bytes(model: Model) -> float:
    """Bytes of norms and other parameters outside matrices, replicated on every rank.

    Parameters
    ----------
    model : Model
        The architecture.

    Returns
    -------
    float
        [byte] over all layers.
    """
    total = model.extra_parameters
    for count, layer in model.layers:
        mixer = 0 if layer.mixer is None else layer.mixer.vectors()
        extra = sum(m.extra_parameters for m in layer.mixtures)
        total += count * (mixer + layer.norm_parameters + extra + layer.unused_parameters)
    return total * _VECTOR_BYTES
