"""Any Hugging Face config.json as a model; a field that could change the answer and is not understood is refused."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog.importers.huggingface.blocks import Draft
from planner.catalog.importers.huggingface.fields import Fields
from planner.catalog.importers.huggingface.harmless import is_harmless
from planner.catalog.importers.huggingface.nesting import LanguagePart, language_part
from planner.catalog.importers.huggingface.quantization import cache_format_of, scheme_of
from planner.catalog.importers.huggingface.registry import Reader, known_types, reader_of
from planner.catalog.importers.huggingface.skiplists import PARTS
from planner.catalog.importers.huggingface.towers import towers_of
from planner.core.architecture.model import Model, Tower
from planner.core.architecture.parts import Module
from planner.core.errors import InvalidQuantity, MissingFact

__all__ = ["known_types", "read_config"]

_MOST_FIELDS = 5_000
_LARGEST = 1e13  # elements of one matrix
_SAMPLED = 4  # layers of a kind that vote on whether a list skips it


def read_config(config: Mapping[str, object], *, id: str, towers: tuple[Tower, ...] | None = None) -> Model:
    """The model a config.json describes; ``towers`` replaces what it says about encoders."""
    if not isinstance(config, Mapping):
        raise InvalidQuantity("A configuration must be a JSON object.", pointer="/config")
    if len(config) > _MOST_FIELDS:
        raise InvalidQuantity(f"A configuration with {len(config)} fields is not one of a model.", pointer="/config")
    part = language_part(config)
    reader = reader_of(part.model_type)
    if reader is None:
        raise MissingFact(f"Models of type {part.model_type[:60]!r} are not modelled: nothing here knows their layers.",
                          fact="model_type", pointer=part.pointer + "/model_type",
                          hint="Give the five-field card instead (params, layers, kv_heads, head_dim, vocab).")
    fields = Fields(part.values, part.pointer)
    fields.understood("model_type", "quantization_config", "quantization", "producer", "text_config", "vision_config",
                      "audio_config", *part.read)
    draft = _drafted(reader, fields, part)
    unknown = fields.unknown()
    if unknown:
        raise MissingFact(f"Not understood, and it could change the answer: {', '.join(unknown[:8])}.",
                          fact=unknown[0].rsplit("/", 1)[-1], pointer=unknown[0],
                          hint="Remove the field if it changes neither weights, cache nor layers.")
    found, uncounted = towers_of(config, draft.shape.hidden) if towers is None else (towers, ())
    if part.values.get("num_nextn_predict_layers") and not any(t.kind == "mtp" for t in (*draft.towers, *found)):
        uncounted = (*uncounted, "mtp")
    return _model(id, draft, part, _quantization(config, part.values), found, uncounted)


def _drafted(reader: Reader, fields: Fields, part: LanguagePart) -> Draft:
    """The layers; zeros where a size must divide are refused by their names."""
    try:
        draft = reader(fields, part.model_type)
        sizes = [m.elements for _, layer in draft.layers for m in layer.matrices()]
        sizes += [m.elements for _, layer in draft.layers for part in layer.mixtures for m in part.expert.matrices()]
    except ZeroDivisionError:
        sizes = [0]
    if min(sizes, default=1) <= 0 or draft.shape.vocabulary <= 0:
        zeros = [name for name, value in part.values.items()
                 if value == 0 and not isinstance(value, bool) and not is_harmless(name, 1)]
        raise InvalidQuantity(f"Must be above zero: {', '.join(zeros[:8]) or 'a size of the layers'}.",
                              pointer=f"{part.pointer}/{zeros[0]}" if zeros else part.pointer)
    if max(sizes, default=1) > _LARGEST:
        raise InvalidQuantity(f"One matrix of {max(sizes):.3g} elements is not one of a model.", pointer=part.pointer)
    return draft


def _quantization(config: Mapping[str, object], text: Mapping[str, object]) -> object:
    """The quantisation at the top or beside the language part."""
    found = config.get("quantization_config") or text.get("quantization_config")
    return found or (config if isinstance(config.get("quantization"), Mapping) else None)


def _model(id: str, draft: Draft, part: LanguagePart, quantization: object, towers: tuple[Tower, ...],
           uncounted: tuple[str, ...]) -> Model:
    s = draft.shape
    return Model(
        id=id, hidden=s.hidden, vocabulary=s.vocabulary, layers=draft.layers, tied_embeddings=s.tied,
        embedding_width=draft.embedding_width, position_parameters=draft.position_parameters,
        extra_embedding_parameters=draft.extra_embedding_parameters, extra_parameters=draft.extra_parameters,
        extra_matrices=draft.extra_matrices, head_biases=draft.head_biases, context_trained=s.context,
        scheme=scheme_of(part.values, quantization, _places(draft)), cache_format=cache_format_of(quantization),
        towers=(*draft.towers, *towers), uncounted=uncounted, family=part.model_type)


def _places(draft: Draft) -> Mapping[Module, list[tuple[str, ...]]]:
    """Where each kind of module is found: a few layers, under the names checkpoints give them."""
    found: dict[Module, list[int]] = {}
    start = 0
    for count, layer in draft.layers:
        kinds = {matrix.module for matrix in layer.matrices()} | ({Module.EXPERTS} if layer.mixtures else set())
        for kind in kinds:
            found.setdefault(kind, []).extend(range(start, start + count))
        start += count
    parts = {**PARTS, **draft.parts}
    return {kind: [tuple(f"{name.format(i=i)}.{part}" for name in draft.names for part in parts[kind])
                   for i in at[::max(1, len(at) // _SAMPLED)]]
            for kind, at in found.items() if kind in parts}
