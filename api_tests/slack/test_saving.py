"""Scenarios and watches from Slack, and Socket Mode."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

from api_tests.slack.conftest import environment, running
from api_tests.slack.workspace import TEAM, Workspace, text_of
from planner.slack.saving import ask_again
from planner.slack.socket import connect

ASK = "llama-3.1-8b on 1 h100, 16 clients"


def test_save_as_a_scenario(play):
    async def story(person):
        await person.say(ASK, stamp="7.7")
        saved = await person.say("save summariser", thread="7.7")
        assert "Saved as scenario summariser" in saved["text"]
        scenario = (await person.client.get("/v1/scenarios/summariser")).json()
        assert scenario["question"]["parse"]["model"] == "meta-llama/llama-3.1-8b"
        await person.say("cost of llama 3.3 70b on h100", stamp="7.8")
        assert "Saved as scenario bill" in (await person.say("save bill", thread="7.8"))["text"]
        plan = (await person.client.get("/v1/scenarios/bill")).json()["plans"][0]  # the one that was answered
        assert (plan["deployment"]["tensor_parallel"], plan["workload"]["concurrency"]) == (4, 64)
        assert (await person.client.post("/v1/plan", json=plan)).json()["fit"]["fits"]
        await person.say("how many h100 for 500 users?", stamp="7.9")  # the model is still to be said
        assert "Saved as scenario open" in (await person.say("save open", thread="7.9"))["text"]
        assert (await person.client.get("/v1/scenarios/open")).json()["plans"] == []
        assert "Nothing to watch yet" in (await person.say("watch open", thread="7.9"))["text"]
        again = await person.say("save summariser", thread="7.7")
        assert "Not saved" in again["text"]
        assert "Ask something in a thread first" in (await person.command("save it"))["text"]
        blocks = (await person.command(ASK))["blocks"]
        assert "Saved as scenario llama-3.1-8b-h100" in (await person.press(blocks, "save"))["text"]

    play(story)


def test_a_watch_posts_when_the_answer_changes(play, monkeypatch):
    async def story(person):
        await person.say(ASK, stamp="8.8")
        told = await person.say("watch speed weekly", thread="8.8")
        assert "Watching speed (weekly)" in told["text"]
        assert "speed, every 168 h" in (await person.command("watches"))["text"]
        later = datetime.now(UTC) + timedelta(days=8)
        count = len(person.workspace.messages)
        assert await ask_again(person.slack.desk, datetime.now(UTC)) == 0
        assert await ask_again(person.slack.desk, later) == 0
        assert len(person.workspace.messages) == count
        watch = person.slack.store.watches(TEAM)[0]
        assert watch.next_at > later
        monkeypatch.setattr("planner.slack.saving.digest", lambda _: "another")
        assert await ask_again(person.slack.desk, later + timedelta(days=8)) == 1
        posted = person.workspace.messages[-1]
        assert posted["channel"] == "C0MAIN"
        assert "speed has changed" in posted["text"]
        assert "No longer watching speed" in (await person.command("unwatch speed"))["text"]
        assert "Nothing called speed" in (await person.command("unwatch speed"))["text"]
        assert "Nothing is watched" in (await person.command("watches"))["text"]
        blocks = (await person.command(ASK))["blocks"]
        assert "Watching llama-3.1-8b-h100" in (await person.press(blocks, "more", choose="watch"))["text"]

    play(story)


def test_socket_mode(database):
    async def story():
        workspace = Workspace()
        await workspace.start()
        variables = environment(database, workspace, PLANNER_SLACK_APP_TOKEN="xapp-loopback")  # noqa: S106 - no secret
        async with running(variables, workspace) as person:
            handler = await connect(person.slack)
            await workspace.until(lambda: bool(workspace.sockets))
            command = {
                "command": "/capacity",
                "text": ASK,
                "team_id": TEAM,
                "channel_id": "C0MAIN",
                "user_id": "U0ONE",
                "trigger_id": "1.1",
                "response_url": workspace.address("socket"),
                "api_app_id": "A0",
            }
            event = {
                "type": "event_callback",
                "team_id": TEAM,
                "event_id": "Ev1",
                "event": {
                    "type": "app_mention",
                    "user": "U0ONE",
                    "text": f"<@U0CAPBOT> {ASK}",
                    "ts": "3.3",
                    "channel": "C0MAIN",
                },
            }
            for envelope, kind, payload in (
                ("e1", "slash_commands", command),
                ("e2", "events_api", event),
                ("e3", "events_api", event),
            ):
                await workspace.sockets[0].send_str(
                    json.dumps(
                        {"envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": False}
                    )
                )
            await workspace.until(
                lambda: len(workspace.acknowledged) == 3 and bool(workspace.responses and workspace.messages)
            )
            await person.slack.desk.idle()
            assert "Fits" in workspace.responses[-1]["text"]
            assert len(workspace.messages) == 1
            assert "llama-3.1-8b" in text_of(workspace.messages[0]["blocks"])
            await handler.close_async()
        assert workspace.faults == []
        await workspace.stop()

    asyncio.run(story())
