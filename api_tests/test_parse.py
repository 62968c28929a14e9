"""The grammar as its callers meet it: over HTTP and from the command line."""

from __future__ import annotations

import json

import pytest

from planner.cli.main import main

TEXT = "llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"
EXPECTED = {
    "model": "meta-llama/llama-3.3-70b-instruct",
    "skus": ["h100-sxm-80gb"],
    "gpus": [4],
    "weights": "fp8",
    "input_tokens": 2000,
    "output_tokens": 500,
    "concurrency": 32,
}


def test_a_question_and_its_follow_up(client):
    first = client.post("/v1/parse", json={"text": TEXT})
    assert first.status_code == 200
    assert first.json() == {
        "intent": "plan",
        "parse": EXPECTED,
        "ask": [],
        "choices": {},
        "warn": [],
        "notes": [],
        "unread": "on , ,",
    }
    second = client.post("/v1/parse", json={"text": "and on 8?", "context": first.json()}).json()
    assert second["parse"] == {**EXPECTED, "gpus": [8]}
    alone = client.post("/v1/parse", json={"text": "and on 8?", "context": first.json()["parse"]}).json()
    assert alone["parse"] == second["parse"]


def test_what_must_be_asked(client):
    answer = client.post("/v1/parse", json={"text": "gemma 27b on an l40s"}).json()
    assert answer["ask"] == ["model"]
    assert set(answer["choices"]["model"]) == {"google/gemma-2-27b", "google/gemma-3-27b-it"}


@pytest.mark.parametrize("body", [{}, {"text": 3}, {"text": "x", "extra": 1}, {"text": "x", "context": "plan"}])
def test_malformed_bodies_are_refused(client, body):
    assert client.post("/v1/parse", json=body).status_code == 422


def test_command_line(capsys):
    assert main(["parse", "--json", *TEXT.split()]) == 0
    first = capsys.readouterr().out
    assert json.loads(first)["parse"] == EXPECTED
    assert main(["parse", "with", "gemma", "27b", "--context", first]) == 0
    out = capsys.readouterr().out
    assert "intent: plan" in out
    assert "to ask: model (one of google/gemma-2-27b, google/gemma-3-27b-it)" in out
    assert main(["parse", "gpt-5 on 4 h100 at 2€/h and 70b"]) == 0
    assert "warning: unknown_model" in capsys.readouterr().out
    assert main(["parse", "x", "--context", "not json"]) == 2
    assert "--context is not a JSON object" in capsys.readouterr().err
