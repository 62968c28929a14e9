"""What the environment may say about Slack, limits, sealing and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from cryptography.fernet import Fernet

from api_tests.slack.open_questions import ROOT
from planner.cli.main import main
from planner.core.errors import AdapterError
from planner.slack.limits import Bucket
from planner.slack.places import ResponseAddress
from planner.slack.sealing import Seal
from planner.slack.settings import SCOPES, BadSlackSetting, slack_settings

KEY = Fernet.generate_key().decode()


def test_off_unless_configured():
    assert slack_settings({}) is None
    assert slack_settings({"PLANNER_SLACK_BOT_TOKEN": "xoxb"}) is None
    found = slack_settings(
        {
            "PLANNER_SLACK_SIGNING_SECRET": "s",
            "PLANNER_SLACK_ENCRYPTION_KEY": KEY,
            "PLANNER_SLACK_PUBLIC_URL": "https://x/",
        }
    )
    assert found.public_url == "https://x"
    assert found.api_url == "https://slack.com/api/"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"PLANNER_SLACK_ENCRYPTION_KEY": ""}, "ENCRYPTION_KEY is missing"),
        ({"PLANNER_SLACK_ENCRYPTION_KEY": "short"}, "not a Fernet key"),
        ({"PLANNER_SLACK_USER_PER_MINUTE": "none"}, "whole number"),
        ({"PLANNER_SLACK_WORKSPACE_PER_MINUTE": "0"}, "whole number"),
    ],
)
def test_unusable_settings_are_refused_by_name(more, words):
    with pytest.raises(BadSlackSetting, match=words):
        slack_settings({"PLANNER_SLACK_SIGNING_SECRET": "s", "PLANNER_SLACK_ENCRYPTION_KEY": KEY, **more})


def test_buckets_refill_evenly():
    now = [0.0]
    bucket = Bucket(2, clock=lambda: now[0])
    assert [bucket.take("a"), bucket.take("a")] == [0, 0]
    assert bucket.take("a") == pytest.approx(30)
    assert bucket.take("b") == 0
    now[0] = 30.0
    assert bucket.take("a") == 0
    assert bucket.take("a") > 0


def test_seals_open_only_with_their_key():
    seal = Seal(KEY)
    assert seal.open(seal.close({"a": [1]})) == {"a": [1]}
    with pytest.raises(AdapterError, match="encryption key"):
        Seal(Fernet.generate_key().decode()).open(seal.close("x"))
    assert seal.honours(seal.ticket("install"), "install", 60)
    assert not seal.honours(seal.ticket("other"), "install", 60)
    assert not seal.honours("rubbish", "install", 60)


def test_only_slacks_own_response_addresses_are_written_to():
    ResponseAddress("https://hooks.slack.com/commands/1", "https://slack.com/api/", replace=False)
    for url in ("https://evil.example/x", "http://hooks.slack.com/x", "http://169.254.169.254/latest"):
        with pytest.raises(AdapterError):
            ResponseAddress(url, "https://slack.com/api/", replace=False)


def test_the_manifest_asks_for_what_the_app_uses():
    manifest = yaml.safe_load((Path(ROOT) / "deploy" / "slack-manifest.yaml").read_text(encoding="utf-8"))
    assert tuple(manifest["oauth_config"]["scopes"]["bot"]) == SCOPES
    assert manifest["features"]["slash_commands"][0]["url"].endswith("/slack/commands")
    assert set(manifest["settings"]["event_subscriptions"]["bot_events"]) == {
        "app_mention",
        "app_uninstalled",
        "message.channels",
        "message.groups",
        "message.im",
        "tokens_revoked",
    }
    assert len(manifest["display_information"]["description"]) <= 140
    assert 174 <= len(manifest["display_information"]["long_description"]) <= 4000


def test_command_line(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PLANNER_DATABASE_URL", f"sqlite:///{tmp_path / 'x.sqlite3'}")
    assert main(["slack", "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"configured": False, "socket_mode": False, "http": False}
    assert main(["slack"]) == 2
    assert "not configured" in capsys.readouterr().err
    monkeypatch.setenv("PLANNER_SLACK_APP_TOKEN", "xapp-1")
    monkeypatch.setenv("PLANNER_SLACK_ENCRYPTION_KEY", KEY)
    assert main(["slack", "--check"]) == 0
    assert "socket_mode: yes" in capsys.readouterr().out
