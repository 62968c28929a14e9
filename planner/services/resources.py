"""Create, read, change and delete entries: built-in ones read-only, every change checked, versioned and remembered."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from planner.core.errors import BuiltIn, Conflict, InvalidQuantity
from planner.services.catalog import CatalogService
from planner.services.pointers import at
from planner.services.ports import Caller, Change, Document, Entry, Kind, Replay, Session, Store

SLUG = r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)?"
"""An id: lower case, one slash at the most."""
LONGEST_ID = 200
_SLUG = re.compile(SLUG)
ADDRESSES = ("from-rows",)
"""Addresses under a resource that are no entry's."""
BELOW = ("history", "datasheet")
"""Addresses under an entry that are no entry's."""
OF_A_SKU: frozenset[Kind] = frozenset({"price", "calibration"})
"""Kinds whose documents name a SKU."""


class OtherQuestion(Conflict):
    """An idempotency key that was used for another question."""

    code = "idempotency_key_reused"
    title = "The idempotency key belongs to another request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a list: what is cheap to know about an entry."""

    id: str
    name: str
    built_in: bool
    version: int
    updated_at: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a POST made, or had made when its idempotency key was new."""

    entry: Entry
    replayed: bool


class ResourceService:
    """The entries of a workspace beside the built-in ones."""

    def __init__(self, store: Store, catalog: CatalogService) -> None:
        self._store = store
        self._catalog = catalog

    def page(self, kind: Kind, caller: Caller, *, query: str | None, after: str | None, limit: int) -> list[Line]:
        """Return up to limit + 1 lines after an id, built-in and own merged in code-point order."""
        library = self._catalog.libraries[kind]
        with self._store.read(caller.workspace) as session:
            own = session.entries.page(kind, query=query, after=after, limit=limit + 1)
        ids = library.ids()
        start = bisect_right(ids, after) if after is not None else 0
        lines = {entry.id: _line(entry) for entry in own}
        wanted, taken = (query or "").lower(), 0
        for entry_id in ids[start:]:
            if taken > limit:
                break
            title = library.title(entry_id)
            if wanted in f"{entry_id} {title}".lower():
                taken += 1
                lines.setdefault(entry_id, Line(id=entry_id, name=title, built_in=True, version=0, updated_at=None))
        return [lines[entry_id] for entry_id in sorted(lines)][:limit + 1]

    def get(self, kind: Kind, caller: Caller, name: str) -> Entry:
        """Return the entry that a name means, as stored now."""
        with self._store.read(caller.workspace) as session:
            own = session.entries.get(kind, name.lower())
        with at("/path/id", instead_of=f"/{kind}"):
            return own or self._catalog.entry(kind, name, caller.workspace)

    def editable(self, kind: Kind, caller: Caller, name: str) -> Entry:
        """Return the entry to be changed; built-in ones are refused."""
        entry = self.get(kind, caller, name)
        if entry.built_in:
            raise BuiltIn(f"{entry.id} comes with the planner and cannot be changed.",
                          hint=f"POST a copy under an id of your own, such as my-{entry.id.rsplit('/', 1)[-1]}.")
        return entry

    def create(self, kind: Kind, caller: Caller, document: Mapping[str, Any], key: str | None) -> Made:
        """Store a new entry; a repeated key returns what the first request made."""
        fingerprint = fingerprint_of(f"create {kind}", document)
        try:
            made = self._create(kind, caller, document, key, fingerprint)
        except Conflict:
            known = self._replay(caller, key)
            if known is None:
                raise
            return _as_made(kind, known, fingerprint)  # the same request, sent twice at once: the other one won
        self._catalog.forget(caller.workspace)
        return made

    def _create(self, kind: Kind, caller: Caller, document: Mapping[str, Any], key: str | None,
                fingerprint: str) -> Made:
        with self._store.write(caller.workspace) as session:
            if key is not None and (known := session.replays.get(key)):
                return _as_made(kind, known, fingerprint)
            entry = self._add(session, kind, caller, document)
            if key is not None:
                session.replays.put(Replay(key=key, fingerprint=fingerprint, answer=_remembered(entry)))
        return Made(entry=entry, replayed=False)

    def _replay(self, caller: Caller, key: str | None) -> Replay | None:
        if key is None:
            return None
        with self._store.read(caller.workspace) as session:
            return session.replays.get(key)

    def replace(self, current: Entry, caller: Caller, document: Mapping[str, Any]) -> Entry:
        """Store a new version over the one that was read."""
        if slug(document.get("id") or current.id) != current.id:
            raise InvalidQuantity(f"id must stay {current.id}.", pointer="/id",
                                  hint="To rename, POST a copy and DELETE this one.")
        checked = self._checked(current.kind, caller, {**document, "id": current.id})
        with self._store.write(caller.workspace) as session:
            entry = session.entries.replace(current, checked, who=caller.name)
        self._catalog.forget(caller.workspace)
        return entry

    def remove(self, current: Entry, caller: Caller) -> None:
        """Delete softly: its history stays, its id may be used again."""
        with self._store.write(caller.workspace) as session:
            session.entries.remove(current, who=caller.name)
        self._catalog.forget(caller.workspace)

    def history(self, kind: Kind, caller: Caller, entry_id: str, *, before: int | None, limit: int) -> Sequence[Change]:
        """Return an entry's changes, newest first; a deleted entry still has its own."""
        with self._store.read(caller.workspace) as session:
            changes = session.entries.history(kind, entry_id.lower(), before=before, limit=limit + 1)
        if not changes and before is None:
            with at("/path/id", instead_of=f"/{kind}"):
                self._catalog.entry(kind, entry_id, caller.workspace)
        return changes

    def _add(self, session: Session, kind: Kind, caller: Caller, document: Mapping[str, Any]) -> Entry:
        entry_id = slug(document.get("id") or f"{kind}-{secrets.token_hex(6)}")
        if self._catalog.is_built_in(kind, entry_id):
            raise BuiltIn(f"{entry_id} comes with the planner and cannot be changed.", pointer="/id",
                          hint=f"POST the copy under an id of your own, such as my-{entry_id.rsplit('/', 1)[-1]}.")
        if self._catalog.means_built_in(kind, entry_id):
            raise BuiltIn(f"{entry_id} is a name of an entry that comes with the planner.", pointer="/id",
                          hint=f"POST it under an id of your own, such as my-{entry_id}.")
        checked = self._checked(kind, caller, {**document, "id": entry_id})
        return session.entries.add(kind, entry_id, checked, who=caller.name)

    def _checked(self, kind: Kind, caller: Caller, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a document that its kind's reader accepts, naming its SKU by id."""
        found = dict(document)
        if kind in OF_A_SKU:
            found["sku"] = self._catalog.sku(found["sku"], caller.workspace).id
        self._catalog.libraries[kind].read(found["id"], found)
        return found


def refuse_other_question(known: Replay, fingerprint: str) -> None:
    """Refuse an idempotency key that was used for something else."""
    if known.fingerprint != fingerprint:
        raise OtherQuestion("This Idempotency-Key was used for another request.",
                            hint="Use a new key for a new question, the same key only to repeat one.")


def slug(text: str) -> str:
    """Return an id in its stored form, or refuse it by name."""
    found = text.strip().lower()
    if len(found) > LONGEST_ID or not _SLUG.fullmatch(found) or _reserved(found):
        raise InvalidQuantity(
            f"id must be letters, digits, dots, dashes and at most one slash, up to {LONGEST_ID} characters.",
            pointer="/id", hint="For example meta-llama/llama-3.1-70b or h100-sxm-80gb.")
    return found


def _reserved(entry_id: str) -> bool:
    """Tell whether an id would be hidden by another address of the service."""
    return entry_id in ADDRESSES or (entry_id.rpartition("/")[0] != "" and entry_id.rpartition("/")[2] in BELOW)


def fingerprint_of(operation: str, document: Document) -> str:
    """Return a digest of an operation and its body."""
    text = json.dumps([operation, document], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _remembered(entry: Entry) -> Document:
    """Return what an idempotency key's second answer is made from."""
    moment = entry.created_at.isoformat() if entry.created_at else None
    return {"id": entry.id, "version": entry.version, "document": dict(entry.document), "at": moment,
            "by": entry.updated_by}


def _as_made(kind: Kind, known: Replay, fingerprint: str) -> Made:
    refuse_other_question(known, fingerprint)
    made = known.answer
    moment = datetime.fromisoformat(made["at"])
    entry = Entry(kind=kind, id=made["id"], document=made["document"], version=made["version"], created_at=moment,
                  updated_at=moment, updated_by=made["by"])
    return Made(entry=entry, replayed=True)


def _line(entry: Entry) -> Line:
    return Line(id=entry.id, name=str(entry.document.get("name") or entry.id), built_in=False, version=entry.version,
                updated_at=entry.updated_at.isoformat() if entry.updated_at else None)


