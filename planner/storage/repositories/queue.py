"""The workers' side of the jobs: leases with fencing tokens, so that a job finishes once."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Engine, and_, delete, insert, or_, select, update
from sqlalchemy.orm import Session

from planner.services.ports import Claim, Document
from planner.storage.base import now
from planner.storage.failures import answering
from planner.storage.repositories.jobs import job_of, note
from planner.storage.rows import JobEventRow, JobResultRow, JobRow

LEASE = timedelta(seconds=8)
"""A worker silent for this long has lost its job; with polling, another one has it within 15 s."""
MAX_ATTEMPTS = 3
"""Workers that may die on a job before it is given up."""


class SqlQueue:
    """Claims, renews and finishes jobs of every workspace."""

    def __init__(self, engine: Engine, *, keep: timedelta, lease: timedelta = LEASE) -> None:
        self._engine = engine.execution_options(writes=True)
        self._reader = engine
        self._keep = keep
        self._lease = lease

    def claim(self, worker: str, kinds: Sequence[str]) -> Claim | None:
        """Lease the oldest waiting job of these kinds, or one whose worker fell silent."""
        with answering(), Session(self._reader) as peek:
            if peek.scalar(select(JobRow.id).where(_waiting(kinds)).limit(1)) is None:
                return None  # most polls end here, without taking SQLite's writer lock
        with self._writing() as session:
            row = session.scalar(select(JobRow).where(_waiting(kinds)).order_by(JobRow.created_at).limit(1)
                                 .with_for_update(skip_locked=True))
            if row is None:
                return None
            if row.cancel_requested:
                self._finish(session, row, "cancelled", {})
                return None
            if row.attempts >= MAX_ATTEMPTS:
                error = {"code": "worker_lost", "detail": f"Its worker died {row.attempts} times."}
                self._finish(session, row, "failed", error, error=error)
                return None
            token = secrets.token_hex(16)
            kind = "retry" if row.state == "running" else "running"
            row.state, row.lease_owner, row.lease_token = "running", worker, token
            row.lease_until, row.attempts = now() + self._lease, row.attempts + 1
            row.started_at, row.progress = row.started_at or now(), 0.0
            session.flush()
            note(session, row.workspace_id, row.id, kind, {"attempt": row.attempts, "worker": worker})
            return Claim(job=job_of(row), token=token)

    def beat(self, claim: Claim, *, progress: float | None, message: str | None) -> bool:
        """Renew the lease and note progress; true when the job should stop (cancelled, or lost)."""
        values: dict[str, Any] = {"lease_until": now() + self._lease}
        if progress is not None:
            values |= {"progress": progress, "message": message}
        with self._writing() as session:
            asked = session.execute(update(JobRow).where(*_held(claim)).values(**values)
                                    .returning(JobRow.cancel_requested)).scalar()
            if asked is None:
                return True
            if progress is not None:
                note(session, claim.job.workspace, claim.job.id, "progress", {"progress": progress, "message": message})
            return bool(asked)

    def succeed(self, claim: Claim, result: bytes, media_type: str) -> bool:
        """Store the result, unless the lease was lost."""
        with self._held_row(claim) as (session, row):
            if row is None:
                return False
            row.progress, row.result_type = 1.0, media_type
            session.execute(delete(JobResultRow).where(JobResultRow.workspace_id == row.workspace_id,
                                                       JobResultRow.job_id == row.id))
            session.execute(insert(JobResultRow).values(workspace_id=row.workspace_id, job_id=row.id, content=result))
            self._finish(session, row, "succeeded", {"bytes": len(result), "media_type": media_type})
            return True

    def fail(self, claim: Claim, error: Document, *, retry: bool) -> bool:
        """Store the failure, or put the job back for another attempt."""
        with self._held_row(claim) as (session, row):
            if row is None:
                return False
            if retry and row.attempts < MAX_ATTEMPTS:
                self._requeue(session, row, dict(error))
            else:
                self._finish(session, row, "failed", dict(error), error=dict(error))
            return True

    def stop(self, claim: Claim) -> bool:
        """Mark the job cancelled."""
        with self._held_row(claim) as (session, row):
            if row is None:
                return False
            self._finish(session, row, "cancelled", {})
            return True

    def give_back(self, claim: Claim) -> bool:
        """Put the job back as it was before this worker took it."""
        with self._held_row(claim) as (session, row):
            if row is None:
                return False
            row.attempts -= 1
            self._requeue(session, row, {"reason": "its worker was told to leave"})
            return True

    def purge(self) -> int:
        """Drop results, events and jobs past their date; how many."""
        with self._writing() as session:
            past = session.execute(select(JobRow.workspace_id, JobRow.id).where(JobRow.expires_at < now())).all()
            for workspace, job_id in past:
                for row in (JobResultRow, JobEventRow):
                    session.execute(delete(row).where(row.workspace_id == workspace, row.job_id == job_id))
                session.execute(delete(JobRow).where(JobRow.workspace_id == workspace, JobRow.id == job_id))
            return len(past)

    def _finish(self, session: Session, row: JobRow, state: str, data: dict[str, Any], *,
                error: dict[str, Any] | None = None) -> None:
        row.state, row.error, row.finished_at = state, error, now()
        row.expires_at = now() + self._keep
        row.lease_token = row.lease_owner = row.lease_until = None
        session.flush()
        note(session, row.workspace_id, row.id, state, data)

    def _requeue(self, session: Session, row: JobRow, data: dict[str, Any]) -> None:
        row.state = "queued"
        row.lease_token = row.lease_owner = row.lease_until = None
        session.flush()
        note(session, row.workspace_id, row.id, "retry", data)

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        with answering(), Session(self._engine) as session, session.begin():
            yield session

    @contextmanager
    def _held_row(self, claim: Claim) -> Iterator[tuple[Session, JobRow | None]]:
        """Yield the job's row, locked, while this claim still holds it."""
        with self._writing() as session:
            yield session, session.scalar(select(JobRow).where(*_held(claim)).with_for_update())


def _held(claim: Claim) -> tuple[ColumnElement[bool], ...]:
    return (JobRow.workspace_id == claim.job.workspace, JobRow.id == claim.job.id, JobRow.state == "running",
            JobRow.lease_token == claim.token)


def _waiting(kinds: Sequence[str]) -> ColumnElement[bool]:
    silent = and_(JobRow.state == "running", JobRow.lease_until < now())
    return and_(JobRow.kind.in_(kinds), or_(JobRow.state == "queued", silent))
