"""A load generator for machines without wrk, and the questions that both send."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time

import httpx

MODELS = ("llama-3.1-70b", "llama-3.1-8b", "qwen3-32b", "mixtral-8x7b-v0.1", "gemma-3-27b-it")
SKUS = ("h100-sxm-80gb", "h200-sxm-141gb", "a100-sxm-80gb", "mi300x-192gb", "b200-sxm-180gb")


def question(number: int) -> dict[str, object]:
    """The question of that number: as in plan.lua."""
    return {"model": MODELS[number % len(MODELS)], "sku": SKUS[number // 5 % len(SKUS)],
            "deployment": {"tensor_parallel": 2 ** (number % 3 + 1)},
            "workload": {"input_tokens": 200 + number % 7919, "output_tokens": 100 + number % 1009,
                         "concurrency": 1 + number % 509},
            "price": {"usd_per_gpu_hour": 1 + number % 7 + number % 97 / 100}}


def run(url: str, script: str, *, connections: int, seconds: float) -> tuple[float, float]:
    """Return the rate [1/s] and the 99th percentile [s] of the questions that a script stands for."""
    return asyncio.run(_run(url, script, connections, seconds))


async def _run(url: str, script: str, connections: int, seconds: float) -> tuple[float, float]:
    numbers = itertools.count(random.randrange(10**6) * 1000)  # noqa: S311 - spreads questions, keeps no secret
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def ask(client: httpx.AsyncClient) -> None:
        while time.perf_counter() < end:
            number = next(numbers)
            begun = time.perf_counter()
            if script == "skus.lua":
                answer = await client.get(f"/v1/skus/{SKUS[number % len(SKUS)]}")
            else:
                asked = number % 50 if script == "repeated.lua" else number
                answer = await client.post("/v1/plan", content=json.dumps(question(asked)),
                                           headers={"Content-Type": "application/json"})
            answer.raise_for_status()
            taken.append(time.perf_counter() - begun)

    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        begun = time.perf_counter()
        await asyncio.gather(*(ask(client) for _ in range(connections)))
    ordered = sorted(taken)
    return len(ordered) / (time.perf_counter() - begun), ordered[int(len(ordered) * 0.99)]
