"""Built-in models: one JSON file each (config.json fields with provenance), read when first asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.catalog.loader import catalog_root, raise_all
from planner.core.errors import AdapterError, NotFound, PlannerError

if TYPE_CHECKING:
    from planner.core.architecture.model import Model, Tower

_KEYS = {"id", "family", "released", "aliases", "config", "towers", "parameters", "provenance", "vision", "notes"}
_REQUIRED = ("id", "family", "config", "parameters", "provenance")
_CONFIDENCE = {"high", "medium", "low"}
_TOWER_KEYS = {"name", "kind", "parameters", "basis"}


class ModelCatalog:
    """The models of a folder ``models/<org>/<name>.json``; ids are the paths, a file is parsed once."""

    def __init__(self, root: Path) -> None:
        base = root / "models"
        self._paths = {f"{path.parent.name}/{path.name.removesuffix('.json')}": path
                       for path in sorted(base.glob("*/*.json"))}
        self._records: dict[str, Mapping[str, Any]] = {}
        self._models: dict[str, Model] = {}

    def ids(self) -> tuple[str, ...]:
        """The ids in code-point order, without reading any file."""
        return tuple(sorted(self._paths))

    def record(self, model_id: str) -> Mapping[str, Any]:
        """One file as it is: config, published counts, provenance."""
        found = self._records.get(model_id)
        if found is None:
            found = self._records[model_id] = self._read(model_id)
        return found

    def model(self, model_id: str) -> Model:
        """One model as the core's value."""
        found = self._models.get(model_id)
        if found is None:
            from planner.catalog.importers.huggingface import read_config  # noqa: PLC0415 - listing needs no importer

            record = self.record(model_id)
            found = self._models[model_id] = read_config(record["config"], id=model_id, towers=towers_of(record))
        return found

    def aliases(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Every id with the other names its file lists."""
        return tuple((model_id, tuple(self.record(model_id).get("aliases", ()))) for model_id in self.ids())

    def models(self) -> tuple[Model, ...]:
        """Every model; all errors of all files are reported together."""
        raise_all(self.problems(), "model catalogue")
        return tuple(self.model(model_id) for model_id in self.ids())

    def problems(self) -> list[str]:
        """What is wrong with any file, in one list."""
        found = []
        for model_id in self.ids():
            try:
                self.model(model_id)
            except PlannerError as error:
                found.append(f"{model_id}: {error.detail}")
        return found

    def _read(self, model_id: str) -> Mapping[str, Any]:
        path = self._paths.get(model_id)
        if path is None:
            raise NotFound(f"No built-in model has the id {model_id!r}.", pointer="/model")
        try:
            record = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise AdapterError(f"{path.name}: {error}") from error
        wrong = record_problems(record, model_id)
        if wrong:
            raise AdapterError(f"{path.name}: " + "; ".join(wrong))
        checked: Mapping[str, Any] = record
        return checked


def record_problems(record: object, model_id: str) -> list[str]:
    """What is wrong with one file beyond its config."""
    if not isinstance(record, dict):
        return ["the file is not a JSON object"]
    found = [f"unknown key {key}" for key in record if key not in _KEYS]
    found += [f"{key} is required" for key in _REQUIRED if not record.get(key)]
    if str(record.get("id", "")).lower() != model_id:
        found.append(f"id {record.get('id')!r} is not the file's path")
    provenance = record.get("provenance") or {}
    if provenance.get("confidence") not in _CONFIDENCE or not provenance.get("sources"):
        found.append("provenance needs confidence and sources")
    for tower in record.get("towers") or ():
        if set(tower) != _TOWER_KEYS or not isinstance(tower["parameters"], int) or not tower["basis"]:
            found.append("a tower needs name, kind, parameters and basis")
    return found


def towers_of(record: Mapping[str, Any]) -> tuple[Tower, ...]:
    """The encoders a file itemises."""
    from planner.core.architecture.model import Tower  # noqa: PLC0415 - listing needs no core types

    return tuple(Tower(name=tower["name"], kind=tower["kind"], parameters=tower["parameters"])
                 for tower in record.get("towers") or ())


@cache
def built_in_models() -> ModelCatalog:
    """The built-in models, one catalogue per process."""
    return ModelCatalog(catalog_root())
