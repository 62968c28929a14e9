"""Bringing a database to the schema this version needs, and telling whether it is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

import planner.storage.rows  # noqa: F401 - fills the metadata
from planner.core.errors import AdapterError
from planner.locations import migrations_folder
from planner.storage.base import Base

ADVISORY_LOCK = 7_306_914_001
"""Key of PostgreSQL's advisory lock: any constant of ours, so that two processes never migrate at once."""


class Drift(AdapterError):  # noqa: N818 - read as what was found
    """The database does not have the schema this version needs."""

    code = "schema_drift"
    title = "The database schema is not current"


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _locked(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction that no other migration shares."""
    try:
        with engine.connect().execution_options(writes=True) as connection, connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SET LOCAL lock_timeout = '60s'"))
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ADVISORY_LOCK})
            yield connection
    except SQLAlchemyError as error:
        raise AdapterError(f"The database could not be migrated: {_first_line(error)}.",
                           hint="Check PLANNER_DATABASE_URL and that the user may create tables.") from error


def upgrade(engine: Engine, revision: str = "head") -> str | None:
    """Migrate up to a revision and return the one reached."""
    with _locked(engine) as connection:
        command.upgrade(_config(connection), revision)
        return MigrationContext.configure(connection).get_current_revision()


def downgrade(engine: Engine, revision: str) -> str | None:
    """Migrate down to a revision and return the one reached."""
    with _locked(engine) as connection:
        command.downgrade(_config(connection), revision)
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """Return the newest revision this version knows."""
    script = ScriptDirectory(str(migrations_folder()))
    return str(script.get_current_head())


def current(engine: Engine) -> str | None:
    """Return the revision the database is at."""
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def check(engine: Engine) -> str:
    """Return the revision when the schema is exactly what the rows need, else raise Drift."""
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            found = context.get_current_revision()
            differences = compare_metadata(context, Base.metadata) if found == head() else []
    except SQLAlchemyError as error:
        raise AdapterError(f"The database does not answer: {_first_line(error)}.",
                           hint="Check PLANNER_DATABASE_URL.") from error
    if found != head():
        raise Drift(f"The database is at revision {found or 'none'}, this version needs {head()}.",
                    hint="Run: planner db upgrade")
    if differences:
        raise Drift(f"The tables differ from the migrations in {len(differences)} places, first: {differences[0]}.",
                    hint="Restore the schema or run the migrations on a fresh database.")
    return found


def _first_line(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0].rstrip(".")
