"""The whole OpenAPI under fuzz: statuses, bodies, headers, methods, links as the document says; on both databases."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from api_tests.server import Server

CONFIG = Path(__file__).with_name("schemathesis.toml")
HOOKS = {"SCHEMATHESIS_HOOKS": "api_tests.fuzz_hooks", "PYTHONPATH": str(CONFIG.parents[1])}
EVERY_PHASE = "examples,coverage,fuzzing,stateful"
BRIEF = {"PLANNER_FLEET_SECONDS": "0.5", "PLANNER_SIZING_STEPS": "20000"}
"""A hard fleet takes all the time it is given and a sizing all the steps: here little, for the answers are alike."""


@pytest.fixture
def server(environment):
    running = Server({**environment, **BRIEF})
    yield running
    running.stop()


def fuzz(server, tmp_path, *options):
    found = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "--config-file", CONFIG, "run", f"{server.url}/openapi.json",
         "--request-timeout", "120", "--no-color", *options],
        capture_output=True, text=True, cwd=tmp_path, check=False, env={**os.environ, **HOOKS})
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    return found.stdout


def test_the_api_is_as_documented(server, tmp_path):
    fuzz(server, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "2", "--seed", "1")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_api_is_as_documented_in_every_phase(server, tmp_path):
    said = fuzz(server, tmp_path, "--phases", EVERY_PHASE, "--max-examples", "4", "--seed", "2")
    assert said.count("✅") >= 4
