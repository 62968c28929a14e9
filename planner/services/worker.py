"""The worker: claims a job, keeps its lease alive, runs it, and stops it within two seconds when asked."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from planner.core.errors import AdapterError, PlannerError
from planner.services.ports import Caller, Claim, Document, Queue
from planner.services.refusals import told

BEAT_S = 0.5
"""Between heartbeats: how late a cancellation is seen [s]."""
POLL_S = 0.5
"""Between looks at an empty queue [s]."""
GRACE_S = 0.8
"""A job asked to stop has this long before its process is given up [s]."""
PURGE_S = 600.0
"""Between clean-ups of expired results [s]."""
_log = logging.getLogger(__name__)


class JobStopped(BaseException):
    """Raised inside a handler whose job was cancelled or lost; no handler's `except Exception` swallows it."""


class WorkerLeaving(BaseException):
    """Raised inside a handler whose worker was told to leave: the job goes back to the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a job produced."""

    content: bytes
    media_type: str = "application/json"


Report = Callable[[float, str | None], None]
"""Tell the share done and a few words; raises JobStopped when the job should end."""
Handler = Callable[[Document, Caller, Report], Outcome]
"""Runs one kind of job: its request, who asked, and how to report."""


@dataclass(slots=True)
class Progress:
    """What a running handler last said, and whether it should stop."""

    stopping: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    share: float | None = None
    message: str | None = None

    def report(self, share: float, message: str | None = None) -> None:
        """Note progress for the next heartbeat."""
        if self.stopping.is_set():
            raise JobStopped
        self.share, self.message = min(max(share, 0.0), 1.0), message

    def take(self) -> tuple[float | None, str | None]:
        """Return what was said since the last heartbeat."""
        share, self.share = self.share, None
        return share, self.message


def _nothing() -> None:
    """Do nothing: a worker in a thread can neither be interrupted nor given up."""


class Worker:
    """One job at a time."""

    def __init__(self, queue: Queue, handlers: Mapping[str, Handler], name: str, *,
                 interrupt: Callable[[], None] = _nothing, abandon: Callable[[], None] = _nothing) -> None:
        self._queue = queue
        self._handlers = handlers
        self._name = name
        self._interrupt = interrupt
        """Raises JobStopped in the handler's thread."""
        self._abandon = abandon
        """Ends the process whose handler does not listen."""
        self._progress: Progress | None = None
        self._leaving = False

    def run(self, leave: Callable[[], bool]) -> None:
        """Work until told to leave; a database that is away is waited for."""
        purged = float("-inf")
        while not leave():
            try:
                if time.monotonic() - purged > PURGE_S:
                    purged = time.monotonic()
                    self._queue.purge()
                worked = self.run_once()
            except AdapterError as error:
                _log.warning("the worker waits for the database: %s", error.detail)
                worked = False
            if not worked:
                time.sleep(POLL_S)

    def run_once(self) -> bool:
        """Run the next job, if there is one."""
        claim = self._queue.claim(self._name, list(self._handlers))
        if claim is None:
            return False
        progress = Progress()
        beats = threading.Thread(target=self._beat, args=(claim, progress), daemon=True)
        beats.start()
        try:
            self._progress = progress  # from here on a signal raises, and only inside this block
            if self._leaving:
                raise WorkerLeaving  # noqa: TRY301 - told while the job was claimed: given back as from its handler
            self._work(claim, progress)
        except JobStopped:
            progress.done.set()
            self._queue.stop(claim)
        except WorkerLeaving:
            progress.done.set()
            self._queue.give_back(claim)
        finally:
            progress.done.set()
            beats.join()
        return True

    def stop_handler(self, reason: BaseException) -> None:
        """Raise a reason to stop, but only while a handler runs; called in the handler's thread by a signal.

        Leaving is remembered, because a job may have been claimed that no handler has yet.
        """
        self._leaving = self._leaving or isinstance(reason, WorkerLeaving)
        if self._progress is not None and not self._progress.done.is_set():
            raise reason

    def _work(self, claim: Claim, progress: Progress) -> None:
        """Run the handler and store how it ended."""
        job = claim.job
        caller = Caller(workspace=job.workspace, name=job.created_by)
        try:
            outcome = self._handlers[job.kind](job.request, caller, progress.report)
            progress.done.set()
        except PlannerError as error:
            progress.done.set()
            self._queue.fail(claim, told(error), retry=isinstance(error, AdapterError))
        except Exception as error:  # noqa: BLE001 - a handler's bug must fail its job, not the worker
            progress.done.set()
            _log.exception("job %s met an error nobody foresaw", job.id)
            detail = f"The planner met an error it did not foresee: {type(error).__name__}."
            self._queue.fail(claim, {"code": "internal_error", "detail": detail}, retry=False)
        else:
            self._queue.succeed(claim, outcome.content, outcome.media_type)

    def _beat(self, claim: Claim, progress: Progress) -> None:
        """Renew the lease until the job is done; pass on a request to stop, at last by giving up the process."""
        while not progress.done.wait(BEAT_S):
            share, message = progress.take()
            try:
                stop = self._queue.beat(claim, progress=share, message=message)
            except AdapterError as error:
                _log.warning("a heartbeat was lost: %s", error.detail)
                continue
            if stop:
                progress.stopping.set()
                self._interrupt()
                if not progress.done.wait(GRACE_S):
                    self._queue.stop(claim)
                    self._abandon()
                return
