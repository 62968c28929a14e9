"""Figures measured without a server, each in a process of its own so that peak memory is its own too."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import procurement
from figures import Figure

ROOT = Path(__file__).resolve().parents[1]
ONE_CORE = ["taskset", "-c", "0"] if shutil.which("taskset") else []
MEASURED = Path(__file__).with_name("measured.py")
PLANNER = Path(sys.executable).with_name("planner")
ENVIRONMENT = {**os.environ, "PLANNER_DATABASE_URL": "sqlite:////nonexistent/planner.sqlite3", "OMP_NUM_THREADS": "1",
               "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}


def measure(what: str, cores: Sequence[str] = ONE_CORE) -> dict[str, float]:
    """Return what one measurement printed."""
    done = subprocess.run([*cores, sys.executable, MEASURED, what], capture_output=True, text=True, check=True,
                          cwd=ROOT, env=ENVIRONMENT)
    return json.loads(done.stdout.splitlines()[-1])


def start() -> list[Figure]:
    """How long the command line and the package take to start: the best of five."""
    def best(*command: str | Path) -> float:
        times = []
        for _ in range(5):
            begun = time.perf_counter()
            subprocess.run([*ONE_CORE, *command], check=True, capture_output=True, cwd=ROOT, env=ENVIRONMENT)
            times.append(time.perf_counter() - begun)
        return min(times)

    bare = best(sys.executable, "-c", "pass")
    return [Figure(name="planner --help", value=best(PLANNER, "--help"), unit="s", most=0.2),
            Figure(name="import planner, Python's own start taken off",
                   value=max(best(sys.executable, "-c", "import planner") - bare, 0.0), unit="s", most=0.1),
            Figure(name="planner plan, whole process", unit="s",
                   value=best(PLANNER, "plan", "llama-3.1-70b", "h100", "--tp", "4"))]


def plan() -> list[Figure]:
    """CPU of a full plan, every question different, the median of five rounds."""
    rounds = [measure("plan")["cpu_s"] for _ in range(5)]
    return [Figure(name="full plan, every question different, CPU", value=statistics.median(rounds) * 1e3, unit="ms",
                   most=2.0)]


def sweep() -> list[Figure]:
    """Columns of a million static points, and of a hundred thousand with the steady state solved."""
    static, half, solved = measure("static"), measure("half"), measure("solved")
    return [
        Figure(name="sweep, 10^6 points: decode, prefill, fit", value=static["seconds"], unit="s", most=3.0),
        Figure(name="sweep, 10^6 points: peak memory", value=static["peak_bytes"] / 1e9, unit="GB", most=1.0),
        Figure(name="sweep, cost of 10^6 against twice 5·10^5", unit="×",
               value=static["seconds"] / half["seconds"] / 2),
        Figure(name="sweep, 10^5 points with the steady state solved", value=solved["seconds"], unit="s", most=5.0),
    ]


def simulate() -> list[Figure]:
    """Simulated requests per minute of processor time."""
    found = measure("simulate")
    must = {"1 round_robin": 2e6, "8 round_robin": 2e6, "8 least_loaded": 5e5}
    return [Figure(name=f"simulated requests, replicas and router: {name.replace('_', ' ')}", value=rate, unit="1/min",
                   least=must[name]) for name, rate in found.items()]


def size() -> list[Figure]:
    """Steady states on a grid, and sizings over many candidates, in processor time."""
    sized = measure("size")
    return [Figure(name="10^5 steady states", value=measure("steady")["seconds"], unit="s", most=5.0),
            Figure(name="sizing of 10 SKUs × 6 layouts × 3 formats, closed form", value=sized["closed_s"], unit="s",
                   most=5.0),
            Figure(name="sizing of 10 SKUs × 6 layouts × 3 formats, picks simulated", value=sized["simulated_s"],
                   unit="s", most=60.0)]


def buy() -> list[Figure]:
    """Fleets and what-ifs, on the cores there are."""
    return procurement.figures(measure("procurement", ()))


def catalogue() -> list[Figure]:
    """Models, chips and names, in processor time."""
    models, names = measure("models"), measure("names")
    return [
        Figure(name="one model of a catalogue just opened", value=models["one_s"] * 1e3, unit="ms", most=20.0),
        Figure(name="a model's config read, mean of all", value=models["config_s"] * 1e3, unit="ms", most=5.0),
        Figure(name="planner models check: everything recounted", value=models["check_s"], unit="s", most=3.0),
        Figure(name="one chip of a catalogue just opened", value=names["chip_s"] * 1e3, unit="ms", most=500.0),
        Figure(name="the same chip again", value=names["again_s"] * 1e6, unit="µs", most=1000.0),
        Figure(name="a name met before", value=names["known_s"] * 1e6, unit="µs", most=50.0),
        Figure(name="closest names of one that is unknown", value=names["closest_s"] * 1e3, unit="ms"),
    ]


def parse() -> list[Figure]:
    """Questions in a sentence, in processor time."""
    found = measure("questions")
    return [Figure(name="a question read", value=found["plain_s"] * 1e3, unit="ms"),
            Figure(name="the longest that hostile repetition takes", value=found["hostile_s"], unit="s", most=2.0)]
