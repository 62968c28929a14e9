"""Processor time of simulations, steady states and sizings; run by measured.py in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.bootstrap import Planner
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.objective import Objective
from planner.core.serving.policy import VLLM, ServingLimits
from planner.core.serving.steady_state import solve_open
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.laws import law_of
from planner.core.simulation.run import simulate_open
from planner.core.simulation.system import Measure, System
from planner.core.workload import Workload
from planner.services.sizing.question import Constraints, SizingQuestion
from planner.tests.serving.steps import large

SYSTEMS = ((1, "round_robin"), (8, "round_robin"), (8, "least_loaded"))
"""Replicas and router."""
REQUESTS = 20_000
SKUS = ("h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "a100-sxm-80gb", "mi300x-192gb", "l40s-48gb",
        "h100-pcie-80gb", "rtx-4090-24gb", "b300-sxm-288gb", "h20-96gb")


def least(run: Callable[[], object], rounds: int = 3) -> float:
    """The least processor time of some runs [s]."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def simulate() -> dict[str, float]:
    """Requests per minute of processor time, by replicas and router, prompts of 1000 and answers of 200 tokens."""
    mix = Mix(input_law=law_of(1000, 0.5), output_law=law_of(200, 0.5))
    found = {}
    for replicas, router in SYSTEMS:
        system = System(table=large(), policy=VLLM, limits=ServingLimits(kv_capacity_tokens=500_000),
                        replicas=replicas, router=router)

        def run(system: System = system) -> int:
            return simulate_open(system, mix, 9.0 * system.replicas, 1.0, Measure(requests=REQUESTS)).finished

        found[f"{replicas} {router}"] = 60.0 * run() / least(run, 5)
    return found


def steady(points: int = 100_000) -> dict[str, float]:
    """Steady states of an open loop over a grid of rates."""
    lengths = RequestLengths(input_tokens=1000.0, output_tokens=300.0)
    rates = np.linspace(0.01, 12.0, points)
    return {"seconds": least(lambda: solve_open(large(), lengths, VLLM, ServingLimits(kv_capacity_tokens=400_000.0),
                                                rates))}


def size(planner: Planner) -> dict[str, float]:
    """Sizings of ten SKUs, all their layouts and three formats: in closed form, and with the picks simulated."""
    asked = SizingQuestion(
        model="qwen3-30b-a3b", skus=SKUS, objective=Objective(ttft=0.6, tpot=0.03), simulate=False,
        workload=Workload(input_tokens=1000.0, output_tokens=200.0, request_rate=12.0, input_cv=0.5, output_cv=0.5),
        constraints=Constraints(formats=("bf16", "fp8", "w4a16")))
    return {"closed_s": least(lambda: planner.sizing.answer(asked), 2),
            "simulated_s": least(lambda: planner.sizing.answer(replace(asked, simulate=True)), 2)}
