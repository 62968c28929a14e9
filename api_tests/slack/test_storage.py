"""The Slack app's tables on both databases, built by the migrations."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from planner.services.conversations import AuditLine, Install, Watch
from planner.storage.engine import open_engine
from planner.storage.repositories.slack import SqlConversations

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.fixture
def store(database_url):
    engine = open_engine(database_url)
    yield SqlConversations(engine)
    engine.dispose()


def test_installs(store):
    install = Install(
        team_id="T1",
        team_name="One",
        bot_user_id="U",
        bot_id="B",
        scopes="",
        token=b"sealed",
        state="active",
        installed_by="U9",
        installed_at=NOW,
    )
    assert store.install("T1") is None
    store.put_install(install)
    store.put_install(install)
    assert store.install("T1") == install
    assert store.begin("k", "T1", b"q", "me")
    assert store.install("T1").used_at is not None
    store.close_install("T1", "expired")
    assert (store.installs()[0].state, store.installs()[0].token) == ("expired", None)


def test_deliveries(store):
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert store.begin("a", "T1", b"question", "one")
    assert not store.begin("a", "T1", b"question", "two")
    assert store.adopt("one", later) == []
    assert store.adopt("two", datetime.now(UTC) - timedelta(minutes=5)) == []
    adopted = store.adopt("two", later)
    assert [(d.key, d.attempts, d.payload) for d in adopted] == [("a", 2, b"question")]
    assert store.adopt("two", later) == []
    store.finish("a")
    assert store.adopt("three", later) == []
    store.purge(later)
    assert store.begin("a", "T1", b"question", "one")
    store.finish("a", failed=True)


def test_threads_watches_and_audit(store):
    assert store.recall("T1", "C", "1.1") is None
    store.remember("T1", "C", "1.1", b"first")
    store.remember("T1", "C", "1.1", b"second")
    assert store.recall("T1", "C", "1.1") == b"second"
    store.purge(datetime.now(UTC) + timedelta(days=1))
    assert store.recall("T1", "C", "1.1") is None
    watch = Watch(
        team_id="T1", name="w", channel="C", created_by="U", context=b"c", digest="d", every_s=60.0, next_at=NOW
    )
    store.put_watch(watch)
    assert store.watches("T1") == [watch]
    assert store.due(NOW - timedelta(seconds=1)) == []
    assert store.due(NOW) == [watch]
    assert store.due(NOW) == []
    assert store.watches("T1")[0].next_at == NOW + timedelta(seconds=60)
    assert store.drop_watch("T1", "w")
    assert not store.drop_watch("T1", "w")
    for action in ("command", "save"):
        store.note(AuditLine(team_id="T1", user="U", at=NOW, action=action, outcome="plan"))
    assert [line.action for line in store.audit(10)] == ["save", "command"]
