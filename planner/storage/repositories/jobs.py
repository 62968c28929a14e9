"""The jobs of one workspace, as callers see them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from planner.services.ports import Document, Job, JobEvent
from planner.storage.base import now
from planner.storage.rows import JobEventRow, JobResultRow, JobRow


class SqlJobs:
    """Queues, reads and cancels jobs."""

    def __init__(self, session: Session, workspace: str) -> None:
        self._session = session
        self._workspace = workspace

    def add(self, kind: str, request: Document, *, who: str) -> Job:
        """Queue a job; its id sorts by the moment it was made."""
        moment = now()
        job_id = f"{int(moment.timestamp() * 1e6):016d}-{secrets.token_hex(4)}"
        self._session.execute(insert(JobRow).values(
            workspace_id=self._workspace, id=job_id, kind=kind, request=dict(request), state="queued", progress=0.0,
            attempts=0, cancel_requested=False, created_by=who, created_at=moment))
        note(self._session, self._workspace, job_id, "queued", {})
        return self._require(job_id)

    def get(self, job_id: str) -> Job | None:
        """Return a job."""
        row = self._session.get(JobRow, (self._workspace, job_id), populate_existing=True)
        return job_of(row) if row else None

    def page(self, *, state: str | None, before: str | None, limit: int) -> Sequence[Job]:
        """Return jobs, newest first."""
        asked = select(JobRow).where(JobRow.workspace_id == self._workspace)
        if state is not None:
            asked = asked.where(JobRow.state == state)
        if before is not None:
            asked = asked.where(JobRow.id < before)
        return [job_of(row) for row in self._session.scalars(asked.order_by(JobRow.id.desc()).limit(limit))]

    def cancel(self, job_id: str) -> Job | None:
        """Cancel a queued job at once, or ask the worker of a running one to stop."""
        this = (JobRow.workspace_id == self._workspace, JobRow.id == job_id)
        stopped = self._session.execute(
            update(JobRow).where(*this, JobRow.state == "queued")
            .values(state="cancelled", finished_at=now(), cancel_requested=True).returning(JobRow.id)).scalar()
        if stopped:
            note(self._session, self._workspace, job_id, "cancelled", {})
            return self.get(job_id)
        asked = self._session.execute(
            update(JobRow).where(*this, JobRow.state == "running", JobRow.cancel_requested.is_(False))
            .values(cancel_requested=True).returning(JobRow.id)).scalar()
        if asked:
            note(self._session, self._workspace, job_id, "cancelling", {})
        return self.get(job_id)

    def result(self, job_id: str) -> bytes | None:
        """Return the stored result."""
        row = self._session.get(JobResultRow, (self._workspace, job_id))
        return row.content if row else None

    def events(self, job_id: str, *, after: int) -> Sequence[JobEvent]:
        """Return the events after a sequence number, oldest first."""
        rows = self._session.scalars(
            select(JobEventRow).where(JobEventRow.workspace_id == self._workspace, JobEventRow.job_id == job_id,
                                      JobEventRow.sequence > after).order_by(JobEventRow.sequence).limit(1000))
        return [JobEvent(sequence=row.sequence, kind=row.kind, at=row.at, data=row.data) for row in rows]

    def _require(self, job_id: str) -> Job:
        job = self.get(job_id)
        if job is None:  # pragma: no cover - it was inserted a line ago
            raise LookupError(job_id)
        return job


def note(session: Session, workspace: str, job_id: str, kind: str, data: dict[str, Any]) -> None:
    """Add an event; call it after touching the job's row, whose lock keeps the numbers in order."""
    session.execute(insert(JobEventRow).values(workspace_id=workspace, job_id=job_id, kind=kind, at=now(), data=data))


def job_of(row: JobRow) -> Job:
    """Map a row to the port's value."""
    state: Any = row.state
    return Job(id=row.id, workspace=row.workspace_id, kind=row.kind, request=row.request, state=state,
               progress=row.progress, message=row.message, attempts=row.attempts,
               cancel_requested=row.cancel_requested, created_by=row.created_by, created_at=row.created_at,
               started_at=row.started_at, finished_at=row.finished_at, expires_at=row.expires_at, error=row.error,
               result_type=row.result_type)


