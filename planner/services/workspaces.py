"""A workspace's own entries as one document, out and in: all of an import or none of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from planner.core.errors import BuiltIn, Conflict, InvalidQuantity, NotFound, PlannerError
from planner.services.catalog import CatalogService
from planner.services.ports import KINDS, Caller, Entry, Kind, Session, Store
from planner.services.resources import OF_A_SKU, slug

FORMAT = "planner-workspace-1"
Mode = Literal["refuse", "skip", "replace"]
"""What an import does with an id that exists: refuse the whole, keep what is there, or replace it."""


@dataclass(slots=True)
class Imported:
    """What an import did."""

    created: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class WorkspaceService:
    """Export and import of everything a workspace's users made."""

    def __init__(self, store: Store, catalog: CatalogService) -> None:
        self._store = store
        self._catalog = catalog

    def export(self, caller: Caller) -> dict[str, Any]:
        """Return every live entry of the workspace; built-in ones come with each installation."""
        with self._store.read(caller.workspace) as session:
            entries = [entry for kind in KINDS for entry in session.entries.every(kind)]
        return {"format": FORMAT, "entries": [
            {"kind": entry.kind, "id": entry.id, "version": entry.version, "document": dict(entry.document)}
            for entry in entries]}

    def load(self, caller: Caller, lines: Sequence[Mapping[str, Any]], mode: Mode) -> Imported:
        """Store the lines in one transaction; one that is refused refuses all, by its place."""
        done = Imported()
        ordered = sorted(enumerate(lines), key=lambda pair: KINDS.index(pair[1]["kind"]))  # SKUs before their prices
        chips = {str(line["id"]).lower() for line in lines if line["kind"] == "sku"}
        with self._store.write(caller.workspace) as session:
            for place, line in ordered:
                try:
                    self._load_one(session, caller, line, mode, chips, done)
                except PlannerError as refusal:
                    refusal.pointer = f"/entries/{place}/document{refusal.pointer or ''}"
                    raise
        self._catalog.forget(caller.workspace)
        return done

    def _load_one(self, session: Session, caller: Caller, line: Mapping[str, Any], mode: Mode, chips: set[str],
                  done: Imported) -> None:
        kind: Kind = line["kind"]
        entry_id = slug(line["id"])
        if self._catalog.is_built_in(kind, entry_id):
            raise BuiltIn(f"{entry_id} comes with the planner and cannot be imported over.")
        document = self._checked(kind, caller, {**line["document"], "id": entry_id}, chips)
        current = session.entries.get(kind, entry_id)
        label = f"{kind} {entry_id}"
        if current is None:
            session.entries.add(kind, entry_id, document, who=caller.name)
            done.created.append(label)
        elif mode == "skip" or _same(current, document):
            done.skipped.append(label)
        elif mode == "replace":
            session.entries.replace(current, document, who=caller.name)
            done.replaced.append(label)
        else:
            raise Conflict(f"The {label} exists already.", hint="Import with mode=skip or mode=replace.")

    def _checked(self, kind: Kind, caller: Caller, document: dict[str, Any], chips: set[str]) -> dict[str, Any]:
        """Return a document that its kind's reader accepts; its SKU may be part of the same import."""
        if kind in OF_A_SKU:
            sku = str(document.get("sku", ""))
            if sku.lower() in chips:
                document["sku"] = sku.lower()
            else:
                document["sku"] = self._known_sku(sku, caller)
        self._catalog.libraries[kind].read(document["id"], document)
        return document

    def _known_sku(self, sku: str, caller: Caller) -> str:
        try:
            return self._catalog.sku(sku, caller.workspace).id
        except NotFound as unknown:
            raise InvalidQuantity(unknown.detail, hint=unknown.hint, pointer="/sku") from None


def _same(current: Entry, document: Mapping[str, Any]) -> bool:
    return dict(current.document) == dict(document)
