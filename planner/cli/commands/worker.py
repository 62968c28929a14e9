"""`planner worker`: processes that work on long jobs, beside a service that shares the database."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Annotated

import typer


def command(
    processes: Annotated[int, typer.Option(help="Processes, one job each.", min=1, max=256)] = 1,
    database_url: Annotated[str | None, typer.Option(help="sqlite:////path or postgresql://user@host/name.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the process ids as JSON.")] = False,
) -> None:
    """Work on queued jobs (sweeps, simulations, fleets, validations) until interrupted.

    Example: planner worker --processes 4 --database-url postgresql://planner@db/planner
    """
    if database_url is not None:
        os.environ["PLANNER_DATABASE_URL"] = database_url
    from planner.bootstrap import Planner
    from planner.config import settings

    planner = Planner(settings())
    planner.store.ready()
    supervisor = planner.supervisor(processes)
    planner.close()
    leaving = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: leaving.set())
    supervisor.start()
    typer.echo(json.dumps({"processes": supervisor.processes}) if json_ else
               f"{processes} worker process{'es' if processes > 1 else ''} waiting for jobs.")
    leaving.wait()
    supervisor.stop()
