"""The command line: what it lists, how fast, how it refuses; serving from another folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import httpx
import pytest

from api_tests.server import Server
from planner.cli.main import COMMANDS, exit_code, load, main
from planner.core.errors import AdapterError, MissingFact, NotFound


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "planner.cli.main", *arguments], capture_output=True, text=True,
                          check=False, env={**os.environ, **environment})


def test_every_command_is_listed_without_being_loaded():
    told = run("--help")
    assert told.returncode == 0
    for name in COMMANDS:
        assert f"  {name} " in told.stdout
    loaded = subprocess.run([sys.executable, "-X", "importtime", "-m", "planner.cli.main", "--help"],
                            capture_output=True, text=True, check=True).stderr
    assert not {"numpy", "sqlalchemy", "fastapi", "pydantic", "scipy"} & {
        line.rsplit("|", 1)[-1].strip() for line in loaded.splitlines()}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(name, capsys):
    command = load(name)
    branches = [[name]] + [[name, sub] for sub in getattr(command, "commands", ())]
    for branch in branches if len(branches) == 1 else branches[1:]:
        assert main([*branch, "--help"]) == 0
        told = capsys.readouterr().out
        assert "--json" in told, branch
        assert "Example" in told, branch


def test_exit_codes():
    assert exit_code(MissingFact("x", fact="y")) == 3
    assert exit_code(NotFound("x")) == 2
    assert exit_code(AdapterError("x")) == 1


@pytest.mark.parametrize(("arguments", "code", "words"), [
    (["skus", "show", "h1000"], 2, "Hint: Closest: h100-sxm-80gb"),
    (["nonsense"], 2, "No such command 'nonsense'"),
    (["skus", "shw"], 2, "See planner skus --help"),
    (["db", "check", "--database-url", "mysql://x"], 1, "not supported"),
    (["serve", "--host", "10.0.0.1"], 2, "has no keys yet"),
    (["--version"], 0, ""),
    ([], 0, ""),
])
def test_refusals_are_a_sentence_and_a_hint(arguments, code, words, capsys, monkeypatch):
    monkeypatch.setenv("PLANNER_HOST", "127.0.0.1")  # put back afterwards: serve writes it for its own processes
    assert main(arguments) == code
    assert words in capsys.readouterr().err


def test_a_bug_is_owned_up_to(monkeypatch, capsys):
    def broken(*_, **__):
        raise RuntimeError("inside")

    monkeypatch.setattr("planner.cli.main.app", broken)
    assert main(["plan"]) == 1
    assert "has a bug: RuntimeError" in capsys.readouterr().err
    monkeypatch.setenv("PLANNER_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(["plan"])


def test_an_interrupted_command_says_so(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("planner.cli.main.app", interrupted)
    assert main(["plan"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_db_upgrade_and_check(tmp_path):
    url = f"sqlite:///{tmp_path / 'new' / 'planner.sqlite3'}"
    missing = run("db", "check", PLANNER_DATABASE_URL=url)
    assert (missing.returncode, "planner db upgrade" in missing.stderr) == (1, True)
    assert run("db", "upgrade", PLANNER_DATABASE_URL=url).returncode == 0
    assert json.loads(run("db", "check", "--json", PLANNER_DATABASE_URL=url).stdout)["revision"]


def test_serve_makes_its_database_and_answers_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.getcwd())  # noqa: PTH109 - the checkout's planner, from another folder
    monkeypatch.chdir(tmp_path)
    server = Server({"HOME": str(tmp_path), "XDG_DATA_HOME": ""})
    try:
        with server.client() as client:
            assert client.get("/readyz").status_code == 200
            assert client.get("/v1/skus/h100").json()["id"] == "h100-sxm-80gb"
        assert (tmp_path / ".local" / "share" / "planner" / "planner.sqlite3").exists()
        taken = run("serve", "--port", server.url.rsplit(":", 1)[1], PLANNER_DATABASE_URL=f"sqlite:///{tmp_path}/x")
        assert (taken.returncode, "cannot be used" in taken.stderr) == (1, True)
    finally:
        server.stop()


@pytest.mark.slow
def test_several_processes_share_the_port(environment):
    server = Server(environment, "--workers", "2")
    try:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            assert all(client.get("/healthz").status_code == 200 for _ in range(20))
    finally:
        server.stop()


@pytest.mark.slow
def test_the_worker_command_works_on_jobs(environment, client, planner):
    from api_tests.test_jobs import WHO, wait_for  # noqa: PLC0415 - shared with the tests of jobs

    process = subprocess.Popen([sys.executable, "-m", "planner.cli.main", "worker", "--json"], stdout=subprocess.PIPE,
                               env={**os.environ, **environment})
    try:
        assert json.loads(process.stdout.readline())["processes"]
        request = {"base": {"model": "llama-3.1-8b", "sku": "h100-sxm-80gb"}, "axes": {"workload.concurrency": [1, 2]},
                   "metrics": ["decode.step_time_s"]}
        job = planner.jobs.submit("sweep", request, WHO)
        assert wait_for(client, job.id, {"succeeded"}, 60)["attempts"] == 1
    finally:
        process.terminate()
        assert process.wait(timeout=15) == 0
        process.stdout.close()
