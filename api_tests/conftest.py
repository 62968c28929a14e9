"""The application as its users meet it: over HTTP, on SQLite and on PostgreSQL, on a schema built by the migrations."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api_tests.postgres import Postgres
from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings
from planner.storage import migrate
from planner.storage.engine import open_engine

DATABASES = ("sqlite", "postgresql")


class Loopback(httpx.BaseTransport):
    """Calls the application in process, from tests that are not coroutines."""

    def __init__(self, app) -> None:
        self._loop = asyncio.new_event_loop()
        self._asgi = httpx.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._loop.run_until_complete(self._handle(request))

    async def _handle(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers.raw, content=request.read(),
                             extensions=request.extensions)
        sent.headers = request.headers
        answer = await self._asgi.handle_async_request(sent)
        body = b"".join([part async for part in answer.stream])
        return httpx.Response(answer.status_code, headers=answer.headers, content=body, request=request)

    def close(self) -> None:
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    name = postgres.create()
    engine = open_engine(postgres.url(name))
    migrate.upgrade(engine)
    engine.dispose()
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "planner.sqlite3"
    engine = open_engine(f"sqlite:///{path}")
    migrate.upgrade(engine)
    engine.dispose()
    return path


@pytest.fixture(params=DATABASES)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh database with the current schema, once on each kind."""
    if request.param == "sqlite":
        copy = tmp_path / "planner.sqlite3"
        shutil.copy(request.getfixturevalue("sqlite_template"), copy)
        yield f"sqlite:///{copy}"
        return
    server: Postgres = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("postgres_template"))
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def environment(database_url: str) -> dict[str, str]:
    """The variables of a service that does nothing in the background."""
    return {"PLANNER_DATABASE_URL": database_url, "PLANNER_EMBEDDED_WORKER": "0", "PLANNER_ANSWER_CACHE_ENTRIES": "0"}


@pytest.fixture
def planner(environment: dict[str, str]) -> Iterator[Planner]:
    services = Planner(settings(environment))
    yield services
    services.close()


@pytest.fixture
def app(planner: Planner):
    return create_app(planner)


@pytest.fixture
def client(app) -> Iterator[httpx.Client]:
    with httpx.Client(transport=Loopback(app), base_url="http://localhost") as client:
        yield client
