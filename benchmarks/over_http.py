"""Figures of the service on one core, asked over eight connections from another."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import load
from figures import Figure

HERE = Path(__file__).resolve().parent
SECONDS = 10
CONNECTIONS = 8
_FACTOR = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def _pinned(core: int) -> list[str]:
    several = shutil.which("taskset") and (os.cpu_count() or 1) > 1
    return ["taskset", "-c", str(core)] if several else []


@contextlib.contextmanager
def served(cache: int) -> Iterator[str]:
    """Yield the address of a service of its own on one core."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PLANNER_DATABASE_URL": f"sqlite:///{folder}/planner.sqlite3",
                       "PLANNER_ANSWER_CACHE_ENTRIES": str(cache), "PLANNER_EMBEDDED_WORKER": "0",
                       "OMP_NUM_THREADS": "1"}
        command = [*_pinned(0), sys.executable, "-m", "planner.cli.main", "serve", "--port", "0", "--json"]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   cwd=HERE.parent)
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()
            process.wait()


def loaded(url: str, script: str) -> tuple[float, float]:
    """Return the rate [1/s] and the 99th percentile [s] under load."""
    if shutil.which("wrk") is None:
        return load.run(url, script, connections=CONNECTIONS, seconds=SECONDS)
    command = [*_pinned(1), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency", "-s", HERE / script, url]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in told:
        raise RuntimeError(told)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1])
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", told).groups()
    return rate, float(number) * _FACTOR[unit]


def warm(url: str, script: str) -> None:
    """Ask for a moment, so that models and chips have been read."""
    load.run(url, script, connections=1, seconds=3)


def plans() -> list[Figure]:
    """Full plans: every question different without the cache, and the same questions again with it."""
    found = []
    by = "wrk" if shutil.which("wrk") else "the Python generator"
    with served(cache=0) as url:
        warm(url, "plan.lua")
        rate, p99 = loaded(url, "plan.lua")
        found += [Figure(name=f"POST /v1/plan, every question different, by {by}", value=rate, unit="1/s", least=500),
                  Figure(name="POST /v1/plan, 99th percentile", value=p99 * 1e3, unit="ms", most=40)]
    with served(cache=4096) as url:
        warm(url, "repeated.lua")
        rate, p99 = loaded(url, "repeated.lua")
        found += [Figure(name="POST /v1/plan from the answer cache", value=rate, unit="1/s", least=1500),
                  Figure(name="POST /v1/plan from the answer cache, 99th percentile", value=p99 * 1e3, unit="ms")]
    return found


def resources() -> list[Figure]:
    """Database routes, for comparison."""
    with served(cache=0) as url:
        warm(url, "skus.lua")
        rate, p99 = loaded(url, "skus.lua")
    return [Figure(name="GET /v1/skus/{id}", value=rate, unit="1/s"),
            Figure(name="GET /v1/skus/{id}, 99th percentile", value=p99 * 1e3, unit="ms")]
