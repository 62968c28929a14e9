"""What the use cases need from the outside: stored entries, replays, jobs; adapters implement these protocols.

A session is opened for one workspace, so no query can forget whose entries it reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

Kind = Literal["model", "sku", "price", "scenario", "calibration"]
KINDS: tuple[Kind, ...] = ("model", "sku", "price", "scenario", "calibration")
Document = Mapping[str, Any]
"""A stored JSON object."""
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
FINAL_STATES: tuple[JobState, ...] = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One model, SKU, price, scenario or calibration, built in or stored by a user."""

    kind: Kind
    id: str
    document: Document
    version: int = 0
    """Grows with every change; 0 is a built-in entry."""
    built_in: bool = False
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of an entry's history: who, when, before, after."""

    sequence: int
    kind: Kind
    id: str
    version: int
    action: Literal["created", "updated", "deleted"]
    changed_by: str
    changed_at: datetime
    before: Document | None
    after: Document | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The answer once given to a POST with this idempotency key."""

    key: str
    fingerprint: str
    """Of the operation and its body: the same key with another question is refused."""
    answer: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A question too long to wait for."""

    id: str
    workspace: str
    kind: str
    request: Document
    state: JobState
    progress: float
    """Share done [1]."""
    message: str | None
    attempts: int
    cancel_requested: bool
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    error: Document | None
    result_type: str | None
    """Media type of the stored result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """One step of a job's life, numbered so that a listener can resume."""

    sequence: int
    kind: str
    """queued | running | progress | retry | cancelling | succeeded | failed | cancelled."""
    at: datetime
    data: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A job leased to one worker; the token fences off a worker that lost its lease."""

    job: Job
    token: str


class Entries(Protocol):
    """The entries of one workspace."""

    def get(self, kind: Kind, entry_id: str) -> Entry | None:
        """Return a live entry."""
        ...

    def page(self, kind: Kind, *, query: str | None, after: str | None, limit: int) -> Sequence[Entry]:
        """Return live entries in order of id, after a given one."""
        ...

    def every(self, kind: Kind) -> Sequence[Entry]:
        """Return all live entries of a kind."""
        ...

    def add(self, kind: Kind, entry_id: str, document: Document, *, who: str) -> Entry:
        """Store a new entry; Conflict when the id is taken."""
        ...

    def replace(self, current: Entry, document: Document, *, who: str) -> Entry:
        """Store a new version over the one that was read; Stale when someone was faster."""
        ...

    def remove(self, current: Entry, *, who: str) -> None:
        """Delete softly the version that was read; Stale when someone was faster."""
        ...

    def history(self, kind: Kind, entry_id: str, *, before: int | None, limit: int) -> Sequence[Change]:
        """Return the changes of an entry, newest first."""
        ...


class Replays(Protocol):
    """Answers remembered by idempotency key."""

    def get(self, key: str) -> Replay | None:
        """Return what was answered to this key."""
        ...

    def put(self, replay: Replay) -> None:
        """Remember an answer; Conflict when another request with the key won."""
        ...


class Jobs(Protocol):
    """The jobs of one workspace."""

    def add(self, kind: str, request: Document, *, who: str) -> Job:
        """Queue a job."""
        ...

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        ...

    def page(self, *, state: str | None, before: str | None, limit: int) -> Sequence[Job]:
        """Return jobs, newest first."""
        ...

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a queued job at once, or ask the worker of a running one to stop."""
        ...

    def result(self, job_id: str) -> bytes | None:
        """Return the stored result."""
        ...

    def events(self, job_id: str, *, after: int) -> Sequence[JobEvent]:
        """Return the events after a sequence number, oldest first."""
        ...


class Session(Protocol):
    """One transaction over one workspace."""

    @property
    def entries(self) -> Entries:
        """Return the workspace's entries."""
        ...

    @property
    def replays(self) -> Replays:
        """Return the workspace's remembered answers."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Return the workspace's jobs."""
        ...


class Store(Protocol):
    """Where workspaces live."""

    def read(self, workspace: str) -> AbstractContextManager[Session]:
        """Open a transaction that only reads."""
        ...

    def write(self, workspace: str) -> AbstractContextManager[Session]:
        """Open a transaction that commits when its block ends well."""
        ...

    def revision(self, workspace: str) -> int:
        """Return a number that grows with every change of the workspace's entries."""
        ...

    def ready(self) -> None:
        """Return when the database answers and its schema is current, else raise AdapterError."""
        ...


class Queue(Protocol):
    """The workers' side of the jobs, across workspaces."""

    def claim(self, worker: str, kinds: Sequence[str]) -> Claim | None:
        """Lease the oldest waiting job of these kinds, or one whose worker fell silent."""
        ...

    def beat(self, claim: Claim, *, progress: float | None, message: str | None) -> bool:
        """Renew the lease and note progress; true when the job should stop (cancelled, or lost)."""
        ...

    def succeed(self, claim: Claim, result: bytes, media_type: str) -> bool:
        """Store the result, unless the lease was lost."""
        ...

    def fail(self, claim: Claim, error: Document, *, retry: bool) -> bool:
        """Store the failure, or put the job back for another attempt."""
        ...

    def stop(self, claim: Claim) -> bool:
        """Mark the job cancelled."""
        ...

    def give_back(self, claim: Claim) -> bool:
        """Put the job back as it was before this worker took it."""
        ...

    def purge(self) -> int:
        """Drop results past their date; how many."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, and in which workspace."""

    workspace: str = "default"
    name: str = "local"
