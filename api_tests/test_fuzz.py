"""The whole OpenAPI under fuzz: statuses, bodies, headers and methods are what the document says; on both databases."""

import subprocess
import sys
from pathlib import Path

import pytest

from api_tests.server import Server

CONFIG = Path(__file__).with_name("schemathesis.toml")


@pytest.fixture
def server(environment):
    running = Server(environment)
    yield running
    running.stop()


def fuzz(server, tmp_path, *options):
    """Run schemathesis; event streams are left out, because those of a waiting job last an hour."""
    found = subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "--config-file", CONFIG, "run", f"{server.url}/openapi.json",
         "--exclude-path-regex", "/events$", "--request-timeout", "120", "--no-color", *options],
        capture_output=True, text=True, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]


def test_the_api_is_as_documented(server, tmp_path):
    fuzz(server, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "2", "--seed", "1")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_api_is_as_documented_at_length(server, tmp_path):
    fuzz(server, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "4", "--seed", "2")
