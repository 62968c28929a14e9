"""Questions in plain words answered over HTTP and on the command line."""

from __future__ import annotations

import json

import pytest

from planner.cli.main import main

TEXT = "llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"


def test_a_question_is_answered_with_the_plan_behind_it(client):
    answer = client.post("/v1/ask", json={"text": TEXT})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert body["verdict"].startswith("Fits: ")
    plan = client.post("/v1/plan", json=body["plans"][0]).json()
    figures = {figure["path"]: figure["value"] for figure in body["figures"]}
    assert figures["serving.tokens_per_s_per_user"] == pytest.approx(plan["serving"]["tokens_per_s_per_user"])
    second = client.post("/v1/ask", json={"text": "and on 8?", "context": body["context"]}).json()
    assert second["context"]["parse"]["gpus"] == [8]
    assert "8 × h100-sxm-80gb" in second["lead"]


@pytest.mark.parametrize(("text", "status", "code", "words"), [
    ("asdf qwer", 422, "domain_error", "no question about serving"),
    ("llama 3.3 70b in fp8 with 32 clients", 422, "missing_fact", "must name the GPU"),
    ("", 422, "invalid_request", "at least 1 character"),
    ("zzz-unheard-of-13b on h100", 422, "missing_fact", "must name the model"),
])
def test_what_cannot_be_answered_is_refused_with_what_is_missing(client, text, status, code, words):
    answer = client.post("/v1/ask", json={"text": text})
    body = answer.json()
    assert (answer.status_code, body["code"], body["errors"][0]["pointer"]) == (status, code, "/text")
    assert words in body["detail"]


def test_an_open_name_is_refused_with_what_it_can_mean(client):
    body = client.post("/v1/ask", json={"text": "mixtral on 8 h100"}).json()
    assert (body["code"], body["fact"]) == ("missing_fact", "model")
    assert body["hint"].startswith("The model could be ")


def test_on_the_command_line(capsys):
    assert main(["ask", *TEXT.split()]) == 0
    said = capsys.readouterr().out
    assert "Fits: " in said
    assert "90 % interval" in said
    assert main(["ask", TEXT, "--json"]) == 0
    first = capsys.readouterr().out
    assert main(["ask", "and on 8?", "--context", first, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["context"]["parse"]["gpus"] == [8]
    assert main(["ask", "asdf qwer"]) == 2
    assert "Ask like this" in capsys.readouterr().err
    assert main(["ask", "llama 3.3 70b in fp8 with 32 clients"]) == 3
    assert main(["ask", "and on 8?", "--context", "[]"]) == 2
