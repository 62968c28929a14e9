"""Models behind the port that services know: built-in ones, a user's config.json, or the five-field card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.catalog.indexes import model_entries
from planner.catalog.known_fields import require_known
from planner.catalog.models import ModelCatalog
from planner.catalog.names import Entry as Named
from planner.catalog.names import NameIndex
from planner.core.errors import InvalidQuantity, MissingFact
from planner.services.ports import Document, Entry

if TYPE_CHECKING:
    from planner.core.architecture.model import Model, ModelCard

_CARD = ("params", "layers", "kv_heads", "head_dim", "vocab")
MODEL_FIELDS = ("id", "name", "config", *_CARD, "active_params", "aliases", "notes")
"""The creation form of a model."""
_CONFIG_SIGNS = ("model_type", "architectures", "hidden_size", "num_hidden_layers")
_MOST = 1e16  # parameters of a card; keeps typing errors out


class ModelLibrary:
    """Models: one JSON file each, or a user's config or card."""

    def __init__(self, models: ModelCatalog) -> None:
        self._models = models

    def ids(self) -> Sequence[str]:
        """Return the built-in ids in code-point order."""
        return self._models.ids()

    def title(self, entry_id: str) -> str:
        """Return a built-in model's repository name."""
        return str(self._models.record(entry_id)["id"])

    def document(self, entry_id: str) -> Document:
        """Return a built-in model in the creation form, with its provenance."""
        record = self._models.record(entry_id)
        return {"id": entry_id, "name": record["id"], **{key: value for key, value in record.items() if key != "id"}}

    def value(self, entry_id: str) -> Model:
        """Return a built-in model."""
        return self._models.model(entry_id)

    def read(self, entry_id: str, document: Document) -> Model | ModelCard:
        """Return the model of a user's config or card; any field of ours that is not known is refused."""
        config = document.get("config")
        bare = config is None and any(sign in document for sign in _CONFIG_SIGNS)
        require_known(document, MODEL_FIELDS, "a model", 'Put the config.json under config: {"config": {…}}.' if bare
                      else None)
        card = [name for name in (*_CARD, "active_params") if document.get(name) is not None]
        if config is not None and card:
            raise InvalidQuantity("Give either config or the five-field card, not both.", pointer=f"/{card[0]}")
        if config is None:
            return read_card(entry_id, document)
        from planner.catalog.importers.huggingface import read_config  # noqa: PLC0415 - only when a config is given

        return read_config(config, id=entry_id)

    def names(self, own: Sequence[Entry]) -> NameIndex:
        """Return the index over built-in and own models."""
        mine = [Named(id=entry.id, aliases=tuple(entry.document.get("aliases", ()))) for entry in own]
        return NameIndex([*model_entries(self._models.aliases()), *mine], kind="model")

    def describe(self, value: Any) -> Document:  # noqa: ANN401 - a Model or a ModelCard
        """Return parameter counts, cache per token and attention kinds."""
        from planner.catalog.model_description import describe_model  # noqa: PLC0415 - only when asked

        return describe_model(value)


def read_card(entry_id: str, document: Mapping[str, Any]) -> ModelCard:
    """Return the five-field card, each number checked."""
    from planner.core.architecture.model import ModelCard  # noqa: PLC0415 - listing needs no core types

    for name in _CARD:
        if document.get(name) is None:
            raise MissingFact(f"A model needs either config or all of {', '.join(_CARD)}; {name} is missing.",
                              fact=name, pointer=f"/{name}")
    numbers = {name: _number(document[name], name) for name in _CARD}
    active = document.get("active_params")
    known = None if active is None else _number(active, "active_params")
    if known is not None and known > numbers["params"]:
        raise InvalidQuantity("active_params cannot exceed params.", pointer="/active_params")
    return ModelCard(id=entry_id, params=numbers["params"], layers=int(numbers["layers"]),
                     kv_heads=int(numbers["kv_heads"]), head_dim=int(numbers["head_dim"]),
                     vocabulary=int(numbers["vocab"]), active_params=known)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _MOST:
        raise InvalidQuantity(f"{name} must be a number above 0, not {str(value)[:40]!r}.", pointer=f"/{name}")
    if name not in ("params", "active_params") and value % 1:
        raise InvalidQuantity(f"{name} must be a whole number, not {value}.", pointer=f"/{name}")
    return float(value)
