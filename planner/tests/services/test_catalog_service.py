"""Names to values over built-in and stored entries, and what remains when the database goes."""

import pytest

from planner.bootstrap import libraries
from planner.core.errors import AdapterError, NotFound
from planner.services.catalog import POLL_S, CatalogService
from planner.services.ports import Caller
from planner.services.resources import ResourceService
from planner.storage import migrate
from planner.storage.engine import open_engine
from planner.storage.unit_of_work import SqlStore

OWN = {"id": "own-chip", "name": "Own", "vendor": "x", "memory_bytes": 1e10, "bandwidth_bytes_per_s": 1e12,
       "peak_flop_per_s": {"bf16": 1e15}}


@pytest.fixture
def engine(tmp_path):
    opened = open_engine(f"sqlite:///{tmp_path / 'planner.sqlite3'}")
    migrate.upgrade(opened)
    yield opened
    opened.dispose()


@pytest.fixture
def catalog(engine):
    moments = iter(range(10_000))
    return CatalogService(libraries(), SqlStore(engine), clock=lambda: next(moments) * POLL_S)


def test_own_and_built_in_entries_share_one_namespace(catalog, engine):
    resources = ResourceService(SqlStore(engine), catalog)
    before = catalog.generation()
    resources.create("sku", Caller(), OWN, None)
    assert catalog.generation() > before
    assert catalog.sku("own-chip").value.bandwidth == 1e12
    assert catalog.sku("own-chip").built_in is False
    assert catalog.sku("h100").built_in is True
    assert "own-chip" in catalog.ids("sku")
    assert dict(catalog.values("sku"))["own-chip"] is catalog.sku("own").value
    assert catalog.model("llama-3.1-70b").id == "meta-llama/llama-3.1-70b"
    assert catalog.is_built_in("sku", "h100-sxm-80gb")
    assert not catalog.is_built_in("sku", "own-chip")


def test_without_a_database_built_in_entries_answer():
    catalog = CatalogService(libraries(), None)
    assert catalog.sku("h100").id == "h100-sxm-80gb"
    assert catalog.generation() == 0
    catalog.forget("default")
    catalog.forget("elsewhere")
    with pytest.raises(NotFound):
        catalog.sku("own-chip")


def test_what_is_known_outlives_the_database(catalog, engine):
    ResourceService(SqlStore(engine), catalog).create("sku", Caller(), OWN, None)
    assert catalog.sku("own-chip").id == "own-chip"
    migrate.downgrade(engine, "base")
    assert catalog.sku("own-chip").id == "own-chip"
    with pytest.raises(AdapterError):
        catalog.sku("only-the-database-knows")
    migrate.upgrade(engine)
    with pytest.raises(NotFound):
        catalog.sku("own-chip")


def test_an_inline_document_is_read_like_a_stored_one(catalog):
    assert catalog.read("sku", OWN).id == "own-chip"
    assert catalog.read("sku", {name: value for name, value in OWN.items() if name != "id"}).id == "inline"
