"""`planner db`: bring the database to its schema, or tell whether it is there."""

from __future__ import annotations

import json
from typing import Annotated

import typer

app = typer.Typer(help="The database: upgrade it, or check its schema.", no_args_is_help=True, add_completion=False,
                  epilog="Example: planner db upgrade")

Url = Annotated[str | None, typer.Option("--database-url", help="sqlite:////path or postgresql://user@host/name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def upgrade(database_url: Url = None, json_: Json = False) -> None:
    """Migrate the database to the schema this version needs.

    Example: planner db upgrade
    """
    from planner.storage import migrate
    from planner.storage.engine import open_engine

    engine = open_engine(database_url or _default())
    _say(json_, {"revision": migrate.upgrade(engine)}, "The database is at revision {revision}.")


@app.command()
def check(database_url: Url = None, json_: Json = False) -> None:
    """Tell whether the database has exactly the schema this version needs.

    Example: planner db check
    """
    from planner.storage import migrate
    from planner.storage.engine import open_engine

    engine = open_engine(database_url or _default())
    _say(json_, {"revision": migrate.check(engine)}, "The database is current, at revision {revision}.")


def _default() -> str:
    from planner.config import settings

    return settings().database_url


def _say(as_json: bool, fact: dict[str, str | None], sentence: str) -> None:
    typer.echo(json.dumps(fact) if as_json else sentence.format(**fact))
