"""The app as processes run it: inside the service, and alone over Socket Mode."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from api_tests.slack.conftest import environment, running
from api_tests.slack.workspace import TEAM, Workspace
from planner import main
from planner.bootstrap import Planner
from planner.config import settings
from planner.core.errors import AdapterError
from planner.slack.app import slack_app
from planner.slack.settings import BadSlackSetting
from planner.slack.socket import connect, run, serve


def test_the_service_carries_the_app_only_when_configured(monkeypatch, database):
    for name in [n for n in os.environ if n.startswith("PLANNER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLANNER_DATABASE_URL", database)
    plain = main.create()
    assert not hasattr(plain.state, "slack")
    monkeypatch.setenv("PLANNER_SLACK_API_URL", "http://127.0.0.1:9/api/")
    assert not hasattr(main.create().state, "slack")
    for name, value in environment(database, Workspace()).items():
        monkeypatch.setenv(name, value)
    assert main.create().state.slack.settings.public_url == "https://planner.example"


def test_a_missing_extra_is_said(monkeypatch, database):
    monkeypatch.setenv("PLANNER_DATABASE_URL", database)
    monkeypatch.setenv("PLANNER_SLACK_SIGNING_SECRET", "s")
    monkeypatch.setitem(sys.modules, "planner.slack.router", None)
    with pytest.raises(AdapterError, match="not installed"):
        main.create()


def test_socket_mode_serves_until_told_to_leave(database):
    async def story():
        workspace = Workspace()
        await workspace.start()
        planner = Planner(settings(environment(database, workspace, PLANNER_SLACK_APP_TOKEN="xapp")))  # noqa: S106 - no secret
        slack = slack_app(planner)
        serving = asyncio.create_task(serve(slack))
        await workspace.until(lambda: bool(workspace.sockets))
        assert slack.store.install(TEAM).state == "active"
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(serving, 60)
        planner.close()
        await workspace.stop()

    asyncio.run(story())


def test_socket_mode_needs_its_settings(database):
    planner = Planner(settings({"PLANNER_DATABASE_URL": database}))
    with pytest.raises(BadSlackSetting, match="not configured"):
        run(planner)

    async def story():
        workspace = Workspace()
        await workspace.start()
        async with running(environment(database, workspace), workspace) as person:
            with pytest.raises(BadSlackSetting, match="APP_TOKEN"):
                await connect(person.slack)
        await workspace.stop()

    asyncio.run(story())


def test_a_workspace_without_the_app_is_told_to_install_it(play):
    async def story(person):
        await person.slack.installs.close(TEAM, "revoked")
        answer = await person.command("llama-3.1-8b on 1 h100")
        assert "install" in answer["text"].lower()
        await person.say("llama-3.1-8b on 1 h100")
        assert person.workspace.messages == []

    play(story)


def test_installing_needs_a_client(play):
    async def story(person):
        assert (await person.client.get("/slack/install")).status_code == 404
        assert (await person.client.get("/slack/oauth_redirect")).status_code == 404
        assert (await person.client.get("/slack/admin", headers={"authorization": "Basic !!"})).status_code == 401

    play(story)
