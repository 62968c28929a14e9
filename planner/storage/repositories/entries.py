"""The entries of one workspace and their history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from planner.core.errors import Conflict, Stale
from planner.services.ports import Change, Document, Entry, Kind
from planner.storage.base import now
from planner.storage.rows import ChangeRow, EntryRow, WorkspaceRow


class SqlEntries:
    """Reads and writes entries; every write adds a line of history and moves the workspace's revision."""

    def __init__(self, session: Session, workspace: str) -> None:
        self._session = session
        self._workspace = workspace

    def get(self, kind: Kind, entry_id: str) -> Entry | None:
        """Return a live entry."""
        row = self._session.scalar(select(EntryRow).where(*self._live(kind), EntryRow.id == entry_id))
        return _entry(row) if row else None

    def page(self, kind: Kind, *, query: str | None, after: str | None, limit: int) -> Sequence[Entry]:
        """Return live entries in order of id, after a given one."""
        asked = select(EntryRow).where(*self._live(kind)).order_by(EntryRow.id).limit(limit)
        if query:
            asked = asked.where(EntryRow.search.contains(query.lower(), autoescape=True))
        if after is not None:
            asked = asked.where(EntryRow.id > after)
        return [_entry(row) for row in self._session.scalars(asked)]

    def every(self, kind: Kind) -> Sequence[Entry]:
        """Return all live entries of a kind."""
        rows = self._session.scalars(select(EntryRow).where(*self._live(kind)).order_by(EntryRow.id))
        return [_entry(row) for row in rows]

    def add(self, kind: Kind, entry_id: str, document: Document, *, who: str) -> Entry:
        """Store a new entry; a deleted one of that id comes back under a newer version."""
        moment = now()
        values: dict[str, Any] = {
            "document": dict(document), "search": _search(entry_id, document), "updated_by": who,
            "created_at": moment, "updated_at": moment, "deleted_at": None}
        revived = self._session.execute(
            update(EntryRow).where(*self._named(kind, entry_id), EntryRow.deleted_at.is_not(None))
            .values(version=EntryRow.version + 1, **values).returning(EntryRow.version)).scalar()
        if revived is None:
            try:
                self._session.execute(insert(EntryRow).values(
                    workspace_id=self._workspace, kind=kind, id=entry_id, version=1, **values))
            except IntegrityError:
                raise Conflict(f"The {kind} {entry_id} exists already.", pointer="/id",
                               hint="Choose another id, or change the entry with PUT and If-Match.") from None
        version = revived or 1
        self._note(kind, entry_id, version, "created", who, before=None, after=document)
        return Entry(kind=kind, id=entry_id, document=document, version=version, created_at=moment, updated_at=moment,
                     updated_by=who)

    def replace(self, current: Entry, document: Document, *, who: str) -> Entry:
        """Store a new version over the one that was read."""
        moment = now()
        self._swap(current, document=dict(document), search=_search(current.id, document), updated_at=moment,
                   updated_by=who)
        self._note(current.kind, current.id, current.version + 1, "updated", who, current.document, document)
        return Entry(kind=current.kind, id=current.id, document=document, version=current.version + 1,
                     created_at=current.created_at, updated_at=moment, updated_by=who)

    def remove(self, current: Entry, *, who: str) -> None:
        """Delete softly the version that was read."""
        self._swap(current, deleted_at=now(), updated_at=now(), updated_by=who)
        self._note(current.kind, current.id, current.version + 1, "deleted", who, current.document, None)

    def history(self, kind: Kind, entry_id: str, *, before: int | None, limit: int) -> Sequence[Change]:
        """Return the changes of an entry, newest first; deleted entries keep theirs."""
        asked = select(ChangeRow).where(ChangeRow.workspace_id == self._workspace, ChangeRow.kind == kind,
                                        ChangeRow.entry_id == entry_id)
        if before is not None:
            asked = asked.where(ChangeRow.sequence < before)
        return [_change(row) for row in self._session.scalars(asked.order_by(ChangeRow.sequence.desc()).limit(limit))]

    def _named(self, kind: Kind, entry_id: str) -> tuple[ColumnElement[bool], ...]:
        return (EntryRow.workspace_id == self._workspace, EntryRow.kind == kind, EntryRow.id == entry_id)

    def _live(self, kind: Kind) -> tuple[ColumnElement[bool], ...]:
        return (EntryRow.workspace_id == self._workspace, EntryRow.kind == kind, EntryRow.deleted_at.is_(None))

    def _swap(self, current: Entry, **values: Any) -> None:  # noqa: ANN401 - columns of different types
        """Write a row only if it still is the version that was read."""
        swapped = self._session.execute(
            update(EntryRow).where(*self._live(current.kind), EntryRow.id == current.id,
                                   EntryRow.version == current.version)
            .values(version=current.version + 1, **values).returning(EntryRow.version)).scalar()
        if swapped is None:
            raise Stale(f"The {current.kind} {current.id} has changed since version {current.version} was read.",
                        hint="GET it again, redo the change and send its new ETag in If-Match.")

    def _note(self, kind: Kind, entry_id: str, version: int, action: Literal["created", "updated", "deleted"],
              who: str, before: Document | None, after: Document | None) -> None:
        self._session.execute(insert(ChangeRow).values(
            workspace_id=self._workspace, kind=kind, entry_id=entry_id, version=version, action=action, changed_by=who,
            changed_at=now(), before=dict(before) if before is not None else None,
            after=dict(after) if after is not None else None))
        self._session.execute(update(WorkspaceRow).where(WorkspaceRow.workspace_id == self._workspace)
                              .values(revision=WorkspaceRow.revision + 1))


def _search(entry_id: str, document: Document) -> str:
    return f"{entry_id} {document.get('name') or ''}".lower()


def _entry(row: EntryRow) -> Entry:
    return Entry(kind=row.kind, id=row.id, document=row.document, version=row.version,  # type: ignore[arg-type] # a checked column
                 created_at=row.created_at, updated_at=row.updated_at, updated_by=row.updated_by)


def _change(row: ChangeRow) -> Change:
    return Change(sequence=row.sequence, kind=row.kind, id=row.entry_id,  # type: ignore[arg-type] # a checked column
                  version=row.version, action=row.action, changed_by=row.changed_by,  # type: ignore[arg-type] # a checked column
                  changed_at=row.changed_at, before=row.before, after=row.after)
