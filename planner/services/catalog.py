"""Names to values: the built-in entries and a workspace's own, in one namespace, from memory.

A workspace's entries are read once and kept until its revision moves; the revision is asked at most once a second, and
at once after a change made by this process. So a plan costs no query, and another process's change shows in a second.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from planner.core.architecture.model import Model, ModelCard
from planner.core.errors import AdapterError, Ambiguous, NotFound
from planner.core.hardware.chip import Chip
from planner.services.kinds import Library, Names
from planner.services.pointers import at
from planner.services.ports import KINDS, Document, Entry, Kind, Store

DEFAULT_WORKSPACE = "default"
POLL_S = 1.0
"""How long a workspace's revision is believed [s]."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    """What a name means: an entry's id and value, and what the name said beyond it."""

    id: str
    value: T
    built_in: bool
    weights: str | None = None
    """Weight format that the name itself declares."""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Snapshot:
    """A workspace's own entries at one revision, with indexes and values made on first use."""

    revision: int
    entries: Mapping[Kind, Mapping[str, Entry]]
    failure: AdapterError | None = None
    names: dict[Kind, Names] = field(default_factory=dict)
    values: dict[tuple[Kind, str], Any] = field(default_factory=dict)
    checked_at: float = 0.0


_NOTHING: Mapping[Kind, Mapping[str, Entry]] = {kind: {} for kind in KINDS}


class CatalogService:
    """The one place where a name becomes a model, a chip, a price, a scenario or a calibration."""

    def __init__(self, libraries: Mapping[Kind, Library], store: Store | None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.libraries = libraries
        self._store = store
        self._clock = clock
        self._snapshots: dict[str, _Snapshot] = {}
        self._lock = threading.Lock()

    def model(self, name: str, workspace: str = DEFAULT_WORKSPACE) -> Found[Model | ModelCard]:
        """Return the model that a name means."""
        return self.find("model", name, workspace)

    def sku(self, name: str, workspace: str = DEFAULT_WORKSPACE) -> Found[Chip]:
        """Return the chip that a name means."""
        return self.find("sku", name, workspace)

    def find(self, kind: Kind, name: str, workspace: str = DEFAULT_WORKSPACE) -> Found[Any]:
        """Return the entry that a name means, as the core's value."""
        snapshot = self._current(workspace)
        meaning = self._resolve(snapshot, kind, name)
        own = snapshot.entries[kind].get(meaning.id)
        return Found(id=meaning.id, value=self._value(snapshot, kind, meaning.id), built_in=own is None,
                     weights=meaning.weights, warnings=(meaning.warning,) if meaning.warning else ())

    def entry(self, kind: Kind, name: str, workspace: str = DEFAULT_WORKSPACE) -> Entry:
        """Return the entry that a name means, as it is stored."""
        snapshot = self._current(workspace)
        found = self._resolve(snapshot, kind, name).id
        own = snapshot.entries[kind].get(found)
        return own or Entry(kind=kind, id=found, document=self.libraries[kind].document(found), built_in=True)

    def ids(self, kind: Kind, workspace: str = DEFAULT_WORKSPACE) -> list[str]:
        """Return every id of a kind, in code-point order."""
        return sorted({*self.libraries[kind].ids(), *self._current(workspace).entries[kind]})

    def values(self, kind: Kind, workspace: str = DEFAULT_WORKSPACE) -> Iterator[tuple[str, Any]]:
        """Yield every id of a kind with its value."""
        snapshot = self._current(workspace)
        for entry_id in self.ids(kind, workspace):
            yield entry_id, self._value(snapshot, kind, entry_id)

    def read(self, kind: Kind, document: Document) -> Any:  # noqa: ANN401 - a Model, a Chip …
        """Return the value of an inline document: the creation form inside a question."""
        with at(f"/{kind}"):
            return self.libraries[kind].read(str(document.get("id") or "inline"), document)

    def is_built_in(self, kind: Kind, entry_id: str) -> bool:
        """Tell whether an id is one of the package's own."""
        return entry_id in self.libraries[kind].ids()

    def means_built_in(self, kind: Kind, name: str) -> bool:
        """Tell whether a bare name already means a built-in entry, which one of that name would hide."""
        if "/" in name:
            return False
        try:
            meaning = self.libraries[kind].names([]).resolve(name)
        except (NotFound, Ambiguous):
            return False
        return meaning.warning is None

    def generation(self, workspace: str = DEFAULT_WORKSPACE) -> int:
        """Return a number that changes whenever an answer over this workspace may change."""
        return self._current(workspace).revision

    def forget(self, workspace: str) -> None:
        """Ask the database again at the next question; called after a change."""
        snapshot = self._snapshots.get(workspace)
        if snapshot is not None:
            snapshot.checked_at = float("-inf")

    def _resolve(self, snapshot: _Snapshot, kind: Kind, name: str) -> Any:  # noqa: ANN401 - a Meaning
        names = snapshot.names.get(kind)
        if names is None:
            names = snapshot.names[kind] = self.libraries[kind].names(list(snapshot.entries[kind].values()))
        try:
            return names.resolve(name)
        except NotFound:
            if snapshot.failure is not None:
                raise snapshot.failure from None
            raise

    def _value(self, snapshot: _Snapshot, kind: Kind, entry_id: str) -> Any:  # noqa: ANN401 - a Model, a Chip …
        key = (kind, entry_id)
        if key not in snapshot.values:
            own, library = snapshot.entries[kind].get(entry_id), self.libraries[kind]
            snapshot.values[key] = library.read(entry_id, own.document) if own else library.value(entry_id)
        return snapshot.values[key]

    def _current(self, workspace: str) -> _Snapshot:
        held = self._snapshots.get(workspace)
        if held is not None and self._clock() - held.checked_at < POLL_S:
            return held
        with self._lock:
            held = self._snapshots.get(workspace)
            if held is None or self._clock() - held.checked_at >= POLL_S:
                held = self._snapshots[workspace] = self._refreshed(workspace, held)
                held.checked_at = self._clock()
        return held

    def _refreshed(self, workspace: str, held: _Snapshot | None) -> _Snapshot:
        """Return the workspace as it is now; without a database, what is known stays usable."""
        if self._store is None:
            return held or _Snapshot(revision=0, entries=_NOTHING)
        try:
            revision = self._store.revision(workspace)
            if held is not None and held.revision == revision and held.failure is None:
                return held
            with self._store.read(workspace) as session:
                entries = {kind: {entry.id: entry for entry in session.entries.every(kind)} for kind in KINDS}
            return _Snapshot(revision=revision, entries=entries)
        except AdapterError as failure:
            _log.warning("the catalogue goes on without the database: %s", failure.detail)
            if held is None:
                return _Snapshot(revision=-1, entries=_NOTHING, failure=failure)
            held.failure = failure
            return held
