"""Deliveries as Slack really makes them: retried, forged, stale, too large; limits, lost tokens, restarts."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest

from api_tests.slack.conftest import ADMIN, environment, running
from api_tests.slack.workspace import TEAM, TOKEN, Workspace, text_of
from planner.core.simulation.engine import Replica
from planner.slack.desk import APOLOGY, WORKERS
from planner.slack.questions import Question

ASK = "llama-3.1-8b on 1 h100, 16 clients"
HEAVY = "which gpu for gpt-oss-120b at 20 rps, 2k in 500 out, ttft < 2s"
FORM = "application/x-www-form-urlencoded"


def test_forged_stale_oversized_and_malformed_requests_are_refused_and_counted(play):
    async def story(person):
        body = urlencode({"command": "/capacity", "text": ASK, "team_id": TEAM}).encode()
        send = person.send
        assert (await send("/slack/commands", body, FORM, secret=ASK)).status_code == 401
        assert (await send("/slack/commands", body, FORM, at=time.time() - 301)).status_code == 401
        assert (await send("/slack/commands", body, FORM, at=time.time() + 400)).status_code == 401
        assert (await person.client.post("/slack/events", content=body)).status_code == 401
        assert (
            await send("/slack/commands", body, FORM, headers={"x-slack-request-timestamp": "x"})
        ).status_code == 401
        for size in (300_000, 1_100_000):
            assert (await send("/slack/commands", b"text=" + b"a" * size, FORM)).status_code == 413
        for path, kind, bad in (
            ("/slack/interactions", FORM, b"payload=%7Bnot+json"),
            ("/slack/events", "application/json", b"{"),
            ("/slack/events", "application/json", b"[]"),
            ("/slack/interactions", FORM, b"payload=%5B%5D"),
        ):
            assert (await send(path, bad, kind)).status_code in {400, 404}
        assert person.workspace.responses == person.workspace.messages == []
        refused = person.slack.desk.counters.refused
        assert (refused["forged"], refused["stale"], refused["unsigned"]) == (1, 2, 2)
        assert refused["oversized"] == 1  # the larger one is stopped before it is read
        assert refused["malformed"] >= 1
        metrics = (await person.client.get("/metrics")).text
        assert 'planner_slack_refused_total{reason="forged"} 1.0' in metrics

    play(story)


def test_retries_are_answered_once(play):
    async def story(person):
        await person.say(ASK, stamp="5.5")
        for retry in (1, 2, 3):
            await person.say(ASK, stamp="5.5", retry=retry)
        await person.command(ASK, name="once", trigger="t1")
        await person.command(ASK, name="once", trigger="t1")
        assert len(person.workspace.messages) == 1
        told = [r["text"] for r in person.workspace.responses if r["name"] == "once"]
        assert sum(text.startswith("Fits") for text in told) == 1  # a slow machine also says that it is working
        assert person.slack.desk.counters.duplicates == 4

    play(story)


def test_rate_limits_of_slack_are_waited_for(play):
    async def story(person):
        person.workspace.busy = {"chat.postMessage": 2, "files.getUploadURLExternal": 1, "patient": 1}
        start = time.perf_counter()
        assert (await person.say(ASK))["text"].startswith("Fits")
        assert time.perf_counter() - start >= 2
        assert person.workspace.calls["chat.postMessage"] == 3
        assert (await person.command(ASK, name="patient"))["text"].startswith("Fits")

    play(story)


@pytest.mark.parametrize(("code", "state"), [("token_expired", "expired"), ("invalid_auth", "revoked")])
def test_a_lost_token_is_forgotten_and_admitted(play, code, state):
    async def story(person):
        person.workspace.broken = {"files.getUploadURLExternal": code}
        answer = await person.command(ASK)
        assert "expired" in answer["text"]
        install = person.slack.store.install(TEAM)
        assert (install.state, install.token) == (state, None)
        assert (await person.command(ASK)) == {} or "install" in str(person.workspace.responses[-1]).lower()

    play(story)


def test_files_that_are_refused_cost_only_the_chart(play):
    async def story(person):
        person.workspace.broken = {"files.getUploadURLExternal": "missing_scope"}
        answer = await person.command(ASK)
        assert answer["text"].startswith("Fits")
        assert not any(b["type"] == "image" for b in answer["blocks"])

    play(story)


def test_too_many_questions_are_slowed_down(play):
    async def story(person):
        for _ in range(2):
            await person.command("help")
        assert "Try again" in text_of((await person.command("help"))["blocks"])
        assert "Ask about" in text_of((await person.command("help", user="U0TWO"))["blocks"])
        assert "Try again" in text_of((await person.command("help", user="U0SIX"))["blocks"])

    play(story, PLANNER_SLACK_USER_PER_MINUTE="2", PLANNER_SLACK_WORKSPACE_PER_MINUTE="4")


def test_long_work_shows_its_progress_in_the_same_message(play, monkeypatch):
    monkeypatch.setattr("planner.slack.desk.SILENT_S", 0.05)

    async def story(person):
        await person.command(HEAVY, name="long")
        answers = [r for r in person.workspace.responses if r["name"] == "long"]
        assert answers[0]["text"] == "Working on it"
        assert "replica" in answers[-1]["text"]
        assert all(a["replace_original"] for a in answers[1:])
        message = await person.say(HEAVY)
        assert message["edits"] >= 1

    play(story)


def test_a_restart_resumes_or_apologises(database, monkeypatch):
    async def story():
        workspace = Workspace()
        await workspace.start()
        variables = environment(database, workspace)
        async with running(variables, workspace) as person:
            memory = person.slack.memory
            for name, text in (("resumed", ASK), ("worn", ASK)):
                question = Question(
                    team=TEAM, user="U0ONE", channel="C0MAIN", text=text, response_url=workspace.address(name)
                )
                await memory.begin(f"command:{name}", question)
            assert workspace.responses == []
        monkeypatch.setattr("planner.slack.desk.ORPHAN_S", -1.0)
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("UPDATE slack_deliveries SET attempts = 9 WHERE key = 'command:worn'")
        async with running(variables, workspace) as person:
            await workspace.until(lambda: len(workspace.responses) >= 2)
            await person.slack.desk.idle()
            assert await person.slack.desk.resume() == 0
        found = {r["name"]: r["text"] for r in workspace.responses}
        assert found["resumed"].startswith("Fits")
        assert "lost" in found["worn"]
        assert workspace.faults == []
        await workspace.stop()

    asyncio.run(story())


def test_nothing_secret_is_logged_or_stored_in_the_clear(play, database, caplog):
    caplog.set_level(logging.DEBUG)

    async def story(person):
        await person.say("the zebra question: llama-3.1-8b on 1 h100")
        person.workspace.broken = {"chat.postMessage": "channel_not_found"}
        await person.say("the zebra question again: llama-3.1-8b on 1 h100")

    play(story)
    logged = "\n".join(r.getMessage() for r in caplog.records)
    assert "zebra" not in logged
    assert TOKEN not in logged
    path = database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        dump = "\n".join(connection.iterdump())
    stored = Path(path).read_bytes() + dump.encode()
    assert b"zebra" not in stored
    assert TOKEN.encode() not in stored
    assert b"U0ONE" in stored  # the audit log says who


def test_installs_admin_page_and_audit(play):
    async def story(person):
        await person.command(ASK)
        assert (await person.client.get("/slack/admin")).status_code == 401
        assert (await person.client.get("/slack/admin", auth=("admin", "wrong"))).status_code == 401
        page = await person.client.get("/slack/admin", auth=("admin", ADMIN))
        assert "Loopback" in page.text
        assert "U0ONE" in page.text
        assert TOKEN not in page.text
        start = await person.client.get("/slack/install")
        assert start.status_code == 302
        state = start.headers["location"].split("state=")[1].split("&")[0]
        forged = await person.client.get("/slack/oauth_redirect", params={"code": "good-code", "state": "forged"})
        assert forged.status_code == 400
        bad = await person.client.get("/slack/oauth_redirect?code=bad&state=" + state)
        assert bad.status_code == 400
        done = await person.client.get("/slack/oauth_redirect?code=good-code&state=" + state)
        assert "Loopback" in done.text
        await person.event({"type": "app_uninstalled"})
        assert person.slack.store.install(TEAM).state == "revoked"

    play(story, PLANNER_SLACK_CLIENT_ID="1.2", PLANNER_SLACK_CLIENT_SECRET="s")  # noqa: S106 - no secret


def test_without_settings_there_is_no_slack(client):
    for path in ("/slack/commands", "/slack/events", "/slack/admin"):
        assert client.post(path).status_code == 404


def test_acknowledgements_wait_for_no_answer(play):
    """While nothing at all can be computed, everything is taken in, and what needs no computing is answered."""

    async def story(person):
        gate = threading.Event()
        for _ in range(WORKERS):
            person.slack.desk._work.submit(gate.wait)
        try:
            for number in range(8):
                await person.command(ASK, name=f"ask{number}", wait=False)
            for number in range(20):
                await person.command("help", name=f"help{number}", wait=False, user=f"U{number}")
            await person.workspace.until(lambda: person.slack.desk.counters.answered == 20)
            assert not any("Fits" in r["text"] for r in person.workspace.responses)
        finally:
            gate.set()
        await person.slack.desk.idle()
        assert person.slack.desk.counters.answered == 28
        assert sum(r["text"].startswith("Fits") for r in person.workspace.responses) == 8

    play(story)


@pytest.mark.slow
def test_slack_never_waits_three_seconds_while_fifty_heavy_answers_run(play):
    """Slack gives up after three seconds; acknowledgements take a tenth of one (benchmarks/run.py slack)."""

    async def story(person):
        await person.command(HEAVY)
        for _ in range(50):
            await person.command(HEAVY, wait=False)
        taken = []
        for number in range(120):
            start = time.perf_counter()
            await person.command("help", wait=False, user=f"U{number}")
            taken.append(time.perf_counter() - start)
            await asyncio.sleep(0.01)
        assert sorted(taken)[-3] < 3.0  # two may meet a machine that stands still

    play(story)


def test_an_answer_that_needs_no_simulation_runs_none(play, monkeypatch):
    def refused(*_):
        raise AssertionError("a step was simulated")

    monkeypatch.setattr(Replica, "run", refused)

    async def story(person):
        for text in (
            ASK,
            "h100 vs h200 for llama-3.1-70b fp8",
            "does qwen3-32b fit on an l40s in fp8",
            "why is phi-4 slow on l4",
            "cost of llama-3.1-70b on 4 h100 at 2/h",
            "best batch for gpt-oss-20b on h100",
            "dsv3 on 8 h200, 32 clients",
        ):
            assert APOLOGY not in (await person.command(text))["text"]
        assert person.slack.desk.counters.failed == 0

    play(story)


def test_json_of_a_question_survives():
    question = Question(team="T", user="U", channel="C", form=(("model", "x"),), control="form", key="k")
    assert Question.read(json.loads(json.dumps(question.plain()))) == question
