"""`planner serve`: the REST service, the API reference and the web app, on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer


def command(
    host: Annotated[str | None, typer.Option(help="Loopback address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = None,
    database_url: Annotated[str | None, typer.Option(help="sqlite:////path or postgresql://user@host/name.")] = None,
    workers: Annotated[int, typer.Option(help="Processes answering.", min=1, max=256)] = 1,
    json_: Annotated[bool, typer.Option("--json", help="Print the address as JSON.")] = False,
) -> None:
    """Serve the REST API and the web app; the database is made and migrated by itself.

    Example: planner serve --port 8000
    """
    for name, value in (("PLANNER_HOST", host), ("PLANNER_PORT", port), ("PLANNER_DATABASE_URL", database_url)):
        if value is not None:
            os.environ[name] = str(value)  # the server's own processes read the environment again
    from planner.bootstrap import Planner
    from planner.config import settings

    planner = Planner(settings())
    planner.upgrade()
    from planner.cli.serving import serve

    serve(planner, workers=workers, as_json=json_)
