"""Figures of the Slack app, against a loopback workspace: how soon it acknowledges, how soon it answers."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from figures import Figure

from planner.storage import migrate
from planner.storage.engine import open_engine

ROOT = str(Path(__file__).resolve().parents[1])
ASK = "llama-3.1-8b on 1 h100, 16 clients"
ANSWERED = (ASK, "h100 vs h200 for llama-3.1-70b fp8", "does qwen3-32b fit on an l40s in fp8",
            "why is phi-4 slow on l4", "cost of llama-3.1-70b on 4 h100 at 2/h", "best batch for gpt-oss-20b on h100",
            "dsv3 on 8 h200, 32 clients")
HEAVY = "which gpu for gpt-oss-120b at 20 rps, 2k in 500 out, ttft < 2s"
WAITING, ACKNOWLEDGED = 50, 120
"""Heavy answers that are being worked on, and deliveries timed meanwhile."""


def answers() -> list[Figure]:
    """Acknowledgements while fifty heavy answers are computed, and answers that need no simulation."""
    acknowledged, answered = asyncio.run(_measured())
    acknowledged.sort()
    return [Figure(name=f"Slack acknowledgement, 99th percentile, {WAITING} heavy answers waiting",
                   value=acknowledged[int(len(acknowledged) * 0.99)] * 1e3, unit="ms", most=300.0),
            Figure(name="Slack acknowledgement, median", value=statistics.median(acknowledged) * 1e3, unit="ms"),
            Figure(name="Slack answer without simulation, chart included, median", value=statistics.median(answered),
                   unit="s", most=1.0)]


async def _measured() -> tuple[list[float], list[float]]:
    sys.path.insert(0, ROOT)  # the checkout's loopback workspace
    from api_tests.slack.conftest import environment, running  # noqa: PLC0415 - needs the test extra
    from api_tests.slack.workspace import Workspace  # noqa: PLC0415 - as above

    workspace = Workspace()
    await workspace.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/planner.sqlite3"
            engine = open_engine(url)
            migrate.upgrade(engine)
            engine.dispose()
            async with running(environment(url, workspace), workspace) as person:
                await person.command(ASK)
                answered = [await _seconds(person.command(text)) for text in ANSWERED]
                await person.command(HEAVY)
                for _ in range(WAITING):
                    await person.command(HEAVY, wait=False)
                acknowledged = []
                for number in range(ACKNOWLEDGED):
                    acknowledged.append(await _seconds(person.command("help", wait=False, user=f"U{number}")))
                    await asyncio.sleep(0.01)
                return acknowledged, answered
    finally:
        await workspace.stop()


async def _seconds(work: Awaitable[object]) -> float:
    begun = time.perf_counter()
    await work
    return time.perf_counter() - begun
