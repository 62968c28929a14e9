"""The worker's loop over a real queue, its handlers in this process."""

import threading
import time
from datetime import timedelta

import pytest

from planner.core.errors import AdapterError
from planner.services.jobs import JobService
from planner.services.ports import Caller
from planner.services.worker import BEAT_S, GRACE_S, JobStopped, Outcome, Worker, WorkerLeaving
from planner.storage import migrate
from planner.storage.engine import open_engine
from planner.storage.repositories.queue import SqlQueue
from planner.storage.unit_of_work import SqlStore

WHO = Caller()


@pytest.fixture
def engine(tmp_path):
    opened = open_engine(f"sqlite:///{tmp_path / 'jobs.sqlite3'}")
    migrate.upgrade(opened)
    yield opened
    opened.dispose()


@pytest.fixture
def jobs(engine):
    return JobService(SqlStore(engine))


@pytest.fixture
def queue(engine):
    return SqlQueue(engine, keep=timedelta(days=1))


def patient(request, caller, report):
    """Report until stopped."""
    del request, caller
    for step in range(2000):
        report(step / 2000, f"step {step}")
        time.sleep(0.01)
    return Outcome(content=b"{}")


def test_progress_is_told_and_a_cancelled_handler_ends_at_the_next_heartbeat(jobs, queue, monkeypatch):
    beats, beat = [], queue.beat

    def counted(*given, **named):
        beats.append(1)
        return beat(*given, **named)

    monkeypatch.setattr(queue, "beat", counted)
    worker = Worker(queue, {"patient": patient}, "here")
    job = jobs.submit("patient", {}, WHO)
    thread = threading.Thread(target=worker.run_once)
    thread.start()
    while jobs.get(job.id, WHO).progress == 0:
        time.sleep(0.02)
    jobs.cancel(job.id, WHO)
    before = len(beats)
    thread.join()
    assert len(beats) <= before + 2  # one may have been under way
    assert BEAT_S + GRACE_S < 2  # what a caller is promised; the rest is for the machine
    ended = jobs.get(job.id, WHO)
    assert (ended.state, ended.message[:4]) == ("cancelled", "step")


def test_a_handler_that_does_not_listen_is_interrupted_then_given_up(jobs, queue):
    interrupted, given_up = threading.Event(), threading.Event()

    def silent(*_):
        given_up.wait(20)
        return Outcome(content=b"{}")

    worker = Worker(queue, {"silent": silent}, "here", interrupt=interrupted.set, abandon=given_up.set)
    job = jobs.submit("silent", {}, WHO)
    thread = threading.Thread(target=worker.run_once)
    thread.start()
    while jobs.get(job.id, WHO).state != "running":
        time.sleep(0.02)
    jobs.cancel(job.id, WHO)
    thread.join()
    assert interrupted.is_set()
    assert jobs.get(job.id, WHO).state == "cancelled"


@pytest.mark.parametrize(("reason", "state", "attempts"), [
    (JobStopped(), "cancelled", 1), (WorkerLeaving(), "queued", 0),
])
def test_a_signal_stops_the_handler_that_runs(jobs, queue, reason, state, attempts):
    def handler(*_):
        worker.stop_handler(reason)
        return Outcome(content=b"{}")

    worker = Worker(queue, {"kind": handler}, "here")
    if isinstance(reason, JobStopped):
        worker.stop_handler(reason)  # nothing runs yet: nothing happens
    job = jobs.submit("kind", {}, WHO)
    assert worker.run_once()
    ended = jobs.get(job.id, WHO)
    assert (ended.state, ended.attempts) == (state, attempts)
    worker.stop_handler(reason)


@pytest.mark.parametrize("moment", ["claimed", "beating"])
def test_a_worker_told_to_leave_before_its_handler_runs_gives_the_job_back(jobs, queue, monkeypatch, moment):
    ran = []
    worker = Worker(queue, {"kind": lambda *_: ran.append(1)}, "here")
    claim, start = queue.claim, threading.Thread.start

    def claimed(*given):
        found = claim(*given)
        worker.stop_handler(WorkerLeaving())
        return found

    def beating(thread):
        worker.stop_handler(WorkerLeaving())
        start(thread)

    if moment == "claimed":
        monkeypatch.setattr(queue, "claim", claimed)
    else:
        monkeypatch.setattr(threading.Thread, "start", beating)
    job = jobs.submit("kind", {}, WHO)
    assert worker.run_once()
    back = jobs.get(job.id, WHO)
    assert (back.state, back.attempts, ran) == ("queued", 0, [])


def test_the_loop_waits_for_a_database_that_is_away(jobs, queue, monkeypatch):
    calls = []

    def away(*_):
        calls.append("away")
        raise AdapterError("gone")

    monkeypatch.setattr(queue, "purge", away)
    worker = Worker(queue, {"kind": lambda *_: Outcome(content=b"1")}, "here")
    job = jobs.submit("kind", {}, WHO)
    worker.run(lambda: jobs.get(job.id, WHO).state == "succeeded")
    assert calls == ["away"]


def test_a_lost_heartbeat_does_not_stop_the_job(jobs, queue, monkeypatch):
    beats = []

    def lost(*_, **__):
        beats.append(1)
        raise AdapterError("gone")

    def handler(*_):
        while not beats:
            time.sleep(0.01)
        return Outcome(content=b"1")

    monkeypatch.setattr(queue, "beat", lost)
    worker = Worker(queue, {"kind": handler}, "here")
    job = jobs.submit("kind", {}, WHO)
    worker.run_once()
    assert jobs.get(job.id, WHO).state == "succeeded"
