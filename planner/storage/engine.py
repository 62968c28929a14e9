"""The engine for a database URL, with each database's safety settings."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from planner.core.errors import AdapterError

BUSY_TIMEOUT_S = 10.0
"""How long a SQLite writer waits for another one [s]."""
LOCK_TIMEOUT_MS = 10_000
"""How long a PostgreSQL statement waits for a lock [ms]."""
POOL_SIZE = 40
"""Connections kept: at least the 40 threads that AnyIO lends to handlers."""


def database_url(text: str) -> URL:
    """Return the parsed URL with its driver, or refuse it in one sentence."""
    try:
        url = make_url(text)
    except ArgumentError:
        raise AdapterError("The database URL cannot be read.",
                           hint="Use sqlite:////path/file.sqlite3 or postgresql://user@host/name.") from None
    if url.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername in {"sqlite", "sqlite+pysqlite"}:
        return url
    raise AdapterError(f"The database kind {url.drivername!r} is not supported.",
                       hint="SQLite and PostgreSQL are: sqlite:////path/file.sqlite3, postgresql://user@host/name.")


def open_engine(text: str) -> Engine:
    """Open an engine; SQLite gets WAL, foreign keys, a busy timeout and honest transactions."""
    url = database_url(text)
    options: dict[str, Any] = {"json_serializer": _dumps, "json_deserializer": orjson.loads}
    try:
        if url.get_backend_name() == "sqlite":
            return _sqlite(url, options)
        connect = {"connect_timeout": 5, "options": f"-c lock_timeout={LOCK_TIMEOUT_MS} -c timezone=UTC"}
        return create_engine(url, pool_size=POOL_SIZE, max_overflow=10, pool_pre_ping=True, connect_args=connect,
                             **options)
    except (ModuleNotFoundError, NoSuchModuleError):
        raise AdapterError("PostgreSQL needs the driver psycopg, which is not installed.",
                           hint="pip install 'llm-capacity-planner[postgres]'") from None


def _dumps(value: Any) -> str:  # noqa: ANN401 - any JSON document
    return orjson.dumps(value).decode()


def _sqlite(url: URL, options: dict[str, Any]) -> Engine:
    if url.database and url.database != ":memory:":
        try:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise AdapterError(f"The folder of the database cannot be made: {error}.",
                               hint="Set PLANNER_DATABASE_URL to a file you may write.") from None
    connect = {"timeout": BUSY_TIMEOUT_S, "check_same_thread": False}
    engine = create_engine(url, pool_size=POOL_SIZE, max_overflow=10, connect_args=connect, **options)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    del record
    connection.isolation_level = None  # the driver must not begin by itself: _begin_sqlite does
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """Begin as a writer where a writer is meant: a reader that turns writer half-way may find the file taken."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
