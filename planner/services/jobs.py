"""Questions too long to wait for: submitted once, followed, cancelled, their results fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.core.errors import Conflict, NotFound
from planner.services.ports import FINAL_STATES, Caller, Document, Job, JobEvent, Replay, Store
from planner.services.resources import fingerprint_of, refuse_other_question


class JobService:
    """The jobs of a workspace."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, kind: str, request: Document, caller: Caller, key: str | None = None) -> Job:
        """Queue a job; a repeated idempotency key returns the job that the first request queued."""
        fingerprint = fingerprint_of(f"job {kind}", request)
        try:
            with self._store.write(caller.workspace) as session:
                known = session.replays.get(key) if key is not None else None
                if known is None:
                    job = session.jobs.add(kind, request, who=caller.name)
                    if key is not None:
                        session.replays.put(Replay(key=key, fingerprint=fingerprint, answer={"job": job.id}))
                    return job
        except Conflict:
            with self._store.read(caller.workspace) as session:
                known = session.replays.get(key) if key is not None else None
            if known is None:
                raise
        refuse_other_question(known, fingerprint)
        return self.get(str(known.answer.get("job")), caller)

    def get(self, job_id: str, caller: Caller) -> Job:
        """Return a job."""
        with self._store.read(caller.workspace) as session:
            return _known(session.jobs.get(job_id) if job_id.isprintable() else None, job_id)

    def page(self, caller: Caller, *, state: str | None, before: str | None, limit: int) -> Sequence[Job]:
        """Return up to limit + 1 jobs, newest first."""
        with self._store.read(caller.workspace) as session:
            return session.jobs.page(state=state, before=before, limit=limit + 1)

    def cancel(self, job_id: str, caller: Caller) -> Job:
        """Cancel a queued job at once; a running one stops within two seconds. Cancelling twice changes nothing."""
        with self._store.write(caller.workspace) as session:
            job = _known(session.jobs.cancel(job_id) if job_id.isprintable() else None, job_id)
        if job.state in FINAL_STATES and job.state != "cancelled":
            raise Conflict(f"The job {job.id} has already {job.state}.", hint="Its result is kept until it expires.")
        return job

    def result(self, job_id: str, caller: Caller) -> tuple[Job, bytes]:
        """Return a finished job and its result."""
        with self._store.read(caller.workspace) as session:
            job = _known(session.jobs.get(job_id) if job_id.isprintable() else None, job_id)
            content = session.jobs.result(job.id)
        if content is None:
            raise NotFound(f"The job {job.id} is {job.state} and has no result.",
                           hint=f"Follow /v1/jobs/{job.id}/events until it has succeeded.")
        return job, content

    def events(self, job_id: str, caller: Caller, *, after: int) -> tuple[Sequence[JobEvent], bool]:
        """Return the events after a number, and whether the job is over (then no more will come)."""
        with self._store.read(caller.workspace) as session:
            job = _known(session.jobs.get(job_id), job_id)
            found = session.jobs.events(job_id, after=after)
        return found, job.state in FINAL_STATES


def _known(job: Job | None, job_id: str) -> Job:
    if job is None:
        raise NotFound(f"No job has the id {job_id!r}.", hint="GET /v1/jobs lists them; finished ones expire.")
    return job


def shown(job: Job) -> dict[str, Any]:
    """Return a job as the API shows it, without its result."""
    return {name: getattr(job, name) for name in (
        "id", "kind", "state", "progress", "message", "attempts", "cancel_requested", "created_by", "created_at",
        "started_at", "finished_at", "expires_at", "request", "error", "result_type")}
