"""One measurement in a process of its own: `python benchmarks/measured.py NAME` prints JSON; names are in `main`."""

from __future__ import annotations

import json
import resource
import sys
import time

import procurement
import reading
import simulating

from planner.bootstrap import Planner
from planner.config import settings
from planner.schemas.plan import PlanRequest
from planner.services.plan.reading import question_of
from planner.services.sweep.axes import read_axes

STATIC = ["fit.fits", "fit.max_concurrency", "fit.kv_capacity_tokens", "decode.step_time_s", "decode.flop",
          "decode.traffic.weights_bytes", "decode.traffic.kv_bytes", "decode.traffic.total_bytes", "decode.bound",
          "decode.batch_critical", "decode.batch_crossover_simple", "prefill.time_s", "prefill.traffic.total_bytes",
          "prefill.bound"]
SOLVED = [*STATIC, "serving.ttft_s.p95", "serving.tpot_s.mean", "serving.output_tokens_per_s", "serving.limit"]
BASE = {"model": "llama-3.1-70b", "sku": "h100-sxm-80gb", "deployment": {"tensor_parallel": 4}}


def plans(planner: Planner, count: int = 300) -> dict[str, float]:
    """Return the CPU of one plan, over questions that all differ."""
    def ask(number: int) -> None:
        body = {**BASE, "workload": {"input_tokens": 200 + number, "output_tokens": 100 + number % 700,
                                     "concurrency": 1 + number % 500}, "price": {"usd_per_gpu_hour": 2.5}}
        planner.plans.answer(question_of(PlanRequest.model_validate_json(json.dumps(body)).model_dump(), "default"))

    for number in range(50):
        ask(number)
    begun = time.process_time()
    for number in range(count):
        ask(50 + number)
    return {"cpu_s": (time.process_time() - begun) / count}


def sweep(planner: Planner, batches: int, contexts: int, metrics: list[str], calibration: str) -> dict[str, float]:
    """Return how long a sweep over batch and context takes, after one small one."""
    base = {**BASE, "calibration": calibration}

    def ask(across: int, along: int) -> None:
        axes = {"workload.concurrency": [1 + i for i in range(across)],
                "workload.context_tokens": [100 + 30 * i for i in range(along)]}
        planner.sweeps.columns(base, read_axes(axes, across * along), metrics)

    ask(3, 3)
    begun = time.perf_counter()
    ask(batches, contexts)
    return {"seconds": time.perf_counter() - begun,
            "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def main() -> None:
    """Print one measurement."""
    planner = Planner(settings())
    found = {
        "plan": lambda: plans(planner),
        "static": lambda: sweep(planner, 1000, 1000, STATIC, "ideal"),
        "half": lambda: sweep(planner, 500, 1000, STATIC, "ideal"),
        "solved": lambda: sweep(planner, 100, 1000, SOLVED, "auto"),
        "simulate": simulating.simulate,
        "steady": simulating.steady,
        "size": lambda: simulating.size(planner),
        "models": reading.models,
        "names": reading.names,
        "questions": reading.questions,
        "procurement": lambda: procurement.measure(planner),
    }[sys.argv[1]]()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
