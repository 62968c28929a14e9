"""Migrations go up, are checked, go down and up again over data, once at a time; on both databases."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import inspect, text

from planner.core.errors import AdapterError
from planner.services.ports import Caller
from planner.storage import migrate
from planner.storage.engine import open_engine

SKU = {"id": "kept", "name": "Kept", "vendor": "x", "memory_bytes": 1e10, "bandwidth_bytes_per_s": 1e12,
       "peak_flop_per_s": {"bf16": 1e15}}


@pytest.fixture
def engine(database_url):
    opened = open_engine(database_url)
    yield opened
    opened.dispose()


def test_down_and_up_again_keeps_the_data_of_what_stays(planner, engine):
    planner.resources.create("sku", Caller(), SKU, "key")
    planner.jobs.submit("sweep", {"a": 1}, Caller())
    assert migrate.check(engine) == migrate.head()
    assert migrate.downgrade(engine, "0001") == "0001"
    with pytest.raises(migrate.Drift, match="at revision 0001"):
        migrate.check(engine)
    assert migrate.upgrade(engine) == migrate.head()
    assert migrate.check(engine) == migrate.head()
    assert planner.resources.get("sku", Caller(), "kept").document["name"] == "Kept"
    assert planner.jobs.page(Caller(), state=None, before=None, limit=5) == []


def test_all_the_way_down_leaves_nothing(planner, engine):
    planner.resources.create("sku", Caller(), SKU, None)
    assert migrate.downgrade(engine, "base") is None
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    migrate.upgrade(engine)
    assert migrate.upgrade(engine) == migrate.head()


def test_a_changed_table_is_drift(engine):
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE jobs ADD COLUMN surprise TEXT"))
    with pytest.raises(migrate.Drift, match="surprise"):
        migrate.check(engine)


def test_many_processes_may_upgrade_at_once(database_url, engine):
    migrate.downgrade(engine, "base")
    command = [sys.executable, "-m", "planner.cli.main", "db", "upgrade", "--database-url", database_url]
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda _: subprocess.run(command, capture_output=True, check=False), range(4)))
    assert [one.returncode for one in ended] == [0] * 4, [one.stderr for one in ended]
    assert migrate.check(engine) == migrate.head()


@pytest.mark.parametrize(("url", "words"), [
    ("mysql://x/y", "not supported"), ("nonsense", "cannot be read"), ("oracle+x://a", "not supported"),
])
def test_other_databases_are_refused(url, words):
    with pytest.raises(AdapterError, match=words):
        open_engine(url)


@pytest.mark.parametrize("url", ["sqlite:////proc/nothing/x.sqlite3", "sqlite:////proc/x.sqlite3",
                                 "postgresql://nobody@/x?host=/nonexistent"])
def test_a_database_that_is_not_there(url):
    with pytest.raises(AdapterError):
        migrate.upgrade(open_engine(url))
    with pytest.raises(AdapterError):
        migrate.check(open_engine(url))


def test_sqlite_is_set_for_safety(planner):
    engine = planner.store.engine
    if engine.dialect.name != "sqlite":
        pytest.skip("SQLite's own settings")
    with engine.connect() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in
                 ("journal_mode", "foreign_keys", "busy_timeout", "synchronous")]
    assert found == ["wal", 1, 10_000, 2]
