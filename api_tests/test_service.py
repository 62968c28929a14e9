"""The service about itself: health, metrics, reference page, OpenAPI; the catalogue without its database."""

import re
import time

import httpx
import pytest
from sqlalchemy import text

from api_tests.conftest import Loopback
from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings
from planner.services.catalog import POLL_S
from planner.storage import migrate
from planner.storage.base import Base


def test_health(client):
    assert client.get("/healthz").json()["status"] == "ok"
    assert client.get("/readyz").json()["status"] == "ready"


def test_not_ready_without_the_schema(client, planner):
    migrate.downgrade(planner.store.engine, "base")
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "schema_drift")
    assert "planner db upgrade" in answer.json()["hint"]


def test_built_in_entries_outlive_the_database(client, planner):
    migrate.downgrade(planner.store.engine, "base")
    assert planner.catalog.sku("h100").id == "h100-sxm-80gb"
    answer = client.get("/v1/skus/only-the-database-knows")
    assert (answer.status_code, answer.json()["code"]) == (503, "adapter_error")


def test_metrics_count_requests_by_route(client):
    client.get("/v1/skus/h100")
    client.get("/v1/skus/no-such-chip")
    told = client.get("/metrics")
    assert told.headers["content-type"].startswith("text/plain")
    counts = dict(re.findall(r'requests_total\{.*route="/v1/skus/\{id:entry\}",status="(\d+)"\} ([\d.]+)', told.text))
    assert counts == {"200": "1.0", "404": "1.0"}


def test_the_reference_page_loads_nothing_from_elsewhere(client):
    page = client.get("/docs").text
    assert "http://" not in page
    assert "https://" not in page
    for address in re.findall(r'(?:src|href)="(/static[^"]+)"', page):
        assert client.get(address).status_code == 200


def test_the_printed_address_leads_to_the_reference(client):
    assert client.get("/").headers["location"] == "/docs"


def test_openapi_points_at_problems(client):
    document = client.get("/openapi.json").json()
    assert "Problem" in document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            for status, answer in operation["responses"].items():
                if status.startswith(("4", "5")):
                    assert list(answer["content"]) == ["application/problem+json"], (method, path, status)


def test_another_process_change_shows_within_a_second(client, planner, environment):
    other = Planner(settings(environment))
    try:
        assert other.catalog.ids("sku") == planner.catalog.ids("sku")
        client.post("/v1/skus", json={"id": "new-chip", "name": "New", "vendor": "x", "memory_bytes": 1e9,
                                      "bandwidth_bytes_per_s": 1e9, "peak_flop_per_s": {"bf16": 1e9}})
        other.catalog._clock = lambda: time.monotonic() + POLL_S
        assert other.catalog.sku("new-chip").value.bandwidth == 1e9
    finally:
        other.close()


@pytest.mark.parametrize("entries", ["0", "2"])
def test_the_answer_cache_follows_the_catalogue(environment, entries):
    planner = Planner(settings(environment | {"PLANNER_ANSWER_CACHE_ENTRIES": entries}))
    app = create_app(planner)
    form = {"id": "own", "name": "Own", "vendor": "x", "memory_bytes": 80e9, "bandwidth_bytes_per_s": 2e12,
            "peak_flop_per_s": {"bf16": 1e15}}
    with httpx.Client(transport=Loopback(app), base_url="http://localhost") as client:
        client.post("/v1/skus", json=form)
        question = {"model": "llama-3.1-8b", "sku": "own", "calibration": "ideal"}
        first = client.post("/v1/plan", json=question)
        assert first.status_code == 200, first.text
        assert client.post("/v1/plan", json=question).content == first.content
        for concurrency in (1, 2, 3):
            client.post("/v1/plan", json=question | {"workload": {"concurrency": concurrency}})
        client.patch("/v1/skus/own", json={"bandwidth_bytes_per_s": 4e12}, headers={"If-Match": "*"})
        faster = client.post("/v1/plan", json=question).json()
        assert faster["decode"]["step_time_s"] < first.json()["decode"]["step_time_s"]
        refused = [client.post("/v1/plan", json={"model": "llama-3.1-8b"}).status_code for _ in range(2)]
        assert refused == [422, 422]
        again = client.post("/v1/plan", json=question, headers={"Cache-Control": "no-cache"})
        assert again.json()["decode"] == faster["decode"]
    planner.close()


def test_every_table_belongs_to_a_workspace(planner):
    assert all("workspace_id" in table.columns for table in Base.metadata.tables.values())
    with planner.store.engine.connect() as connection:
        for table in Base.metadata.tables:
            connection.execute(text(f"SELECT workspace_id FROM {table} LIMIT 1"))  # noqa: S608 - our own names
