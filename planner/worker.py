"""A worker process: `python -m planner.worker`; `planner worker` and `planner serve` start and watch over these."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Mapping
from types import FrameType

from planner.bootstrap import Planner
from planner.config import settings
from planner.services.worker import Handler, JobStopped, Worker, WorkerLeaving

GIVEN_UP = 75
"""Exit status of a process whose job did not listen (EX_TEMPFAIL); its supervisor starts another."""


def main(handlers: Mapping[str, Handler] | None = None) -> None:
    """Work on the planner's kinds of job, or on others, until the parent goes or a signal comes."""
    parent, leaving = os.getppid(), threading.Event()
    planner = Planner(settings())
    here = threading.main_thread().ident or 0
    worker = Worker(planner.queue, handlers or planner.handlers, f"{socket.gethostname()}:{os.getpid()}",
                    interrupt=lambda: signal.pthread_kill(here, signal.SIGUSR1), abandon=lambda: os._exit(GIVEN_UP))

    def stop_job(number: int, frame: FrameType | None) -> None:
        del number, frame
        worker.stop_handler(JobStopped())

    def leave(number: int, frame: FrameType | None) -> None:
        del number, frame
        leaving.set()
        worker.stop_handler(WorkerLeaving())

    signal.signal(signal.SIGUSR1, stop_job)
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, leave)
    worker.run(lambda: leaving.is_set() or os.getppid() != parent)
    planner.close()


if __name__ == "__main__":
    main()
