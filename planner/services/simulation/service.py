"""Simulations of a plan's own configurations, answered beside the closed form's prediction."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from planner.core.errors import InvalidQuantity
from planner.core.serving.steady_state import VALID_LOAD
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.results import SimulationResult, Statistic
from planner.core.simulation.run import simulate_benchmark, simulate_closed, simulate_open, simulate_trace
from planner.core.simulation.system import Measure, System, work
from planner.core.simulation.trace import read_trace
from planner.services.plan.answer import PlanService, check_workload, request_tokens
from planner.services.plan.load import mean_context, solve
from planner.services.plan.sections import finite
from planner.services.pointers import at
from planner.services.ports import Caller, Document
from planner.services.simulation.patience import Patience
from planner.services.simulation.question import SimulationQuestion, simulation_question
from planner.services.worker import Handler, Outcome, Report

MOST_REQUESTS = 5_000_000
"""Requests of one simulation at most [1]."""
MOST_WORK = 5e7
"""Steps of one simulation at most: minutes [1]."""


OVERLOADED, SETTLING = 20, 200_000
"""Requests that may arrive for each measured one, and beside that, before an overload is given up [1]."""
MOST_RATE = 1e5
"""Requests a second of one simulation at most: beyond it the clock no longer tells arrivals apart [1/s]."""


class SimulationService:
    """Plays loads."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans

    def check(self, question: SimulationQuestion) -> None:
        """Refuse at once, and not in a job, unknown names, impossible layouts and loads that are none."""
        with at("/plan"):
            check_workload(question.plan.workload)
            self._plans.configure(question.plan)
        if question.mode == "trace" and question.trace is None:
            raise InvalidQuantity("A trace simulation needs a trace.", pointer="/trace")

    def answer(self, question: SimulationQuestion, report: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
        """Percentiles with intervals, time averages, conservation counts, and what the closed form said."""
        plan = question.plan
        self.check(question)
        if question.requests > MOST_REQUESTS:
            raise InvalidQuantity(f"A simulation plays at most {MOST_REQUESTS:,} requests.", pointer="/requests")
        with at("/plan"):
            configuration, deployment, notes = self._plans.configure(plan)
        fit = configuration.fit(deployment, request_tokens(plan.workload))
        if not fit.fits:
            raise InvalidQuantity(f"The deployment does not fit: {fit.reason}", pointer="/plan/deployment")
        system = System(
            table=configuration.step_table(np.asarray(mean_context(plan.workload))), policy=configuration.policy,
            limits=configuration.limits(deployment, fit), replicas=question.replicas,
            router=question.router, queue=question.queue)
        measure = _measure(question, report)
        if (plan.workload.request_rate or 0.0) > MOST_RATE:
            raise InvalidQuantity(f"A simulation takes at most {MOST_RATE:,.0f} requests/s.",
                                  pointer="/plan/workload/request_rate")
        asked = question.requests + (plan.workload.concurrency or 0.0)
        if work(system, plan.workload.input_tokens, asked) > MOST_WORK:
            raise InvalidQuantity("This simulation would take too long: too many requests, or prompts of too many "
                                  "chunks.", pointer="/requests", hint="Ask for fewer requests or a larger chunk.")
        result = _play(question, system, measure)
        steady = solve(configuration, deployment, plan.workload, fit)
        answer = shown(result)
        answer["closed_form"] = {
            "max_request_rate": float(steady.max_request_rate), "ttft_s": finite(steady.latency.ttft_mean),
            "tpot_s": finite(steady.latency.tpot_mean), "itl_s": finite(steady.latency.itl_mean),
            "scope": "one replica under the plan's own load"}
        answer["verdict"] = _verdict(result, question, float(steady.max_request_rate))
        answer["warnings"] = notes
        return answer


def _measure(question: SimulationQuestion, report: Callable[[float], None]) -> Measure:
    """What is measured, and given up where it never ends; a trace ends by itself."""
    asked = question.requests + (question.plan.workload.concurrency or 0.0)
    patience = Patience(most=math.inf if question.mode == "trace" else OVERLOADED * asked + SETTLING)

    def progress(done: float) -> None:
        patience.dealt(done)
        report(min(done / max(question.requests, 1), 1.0))

    objective = question.plan.objective
    return Measure(requests=question.requests, warmup=question.warmup, seed=question.seed, ttft_target=objective.ttft_s,
                   tpot_target=objective.tpot_s, percentile=question.percentile, progress=progress)


def _play(question: SimulationQuestion, system: System, measure: Measure) -> SimulationResult:
    workload = question.plan.workload
    if question.mode == "trace" and question.trace is not None:
        return simulate_trace(system, read_trace(question.trace), measure, scale=question.trace_scale)
    inputs, outputs = question.laws()
    mix = Mix(input_law=inputs, output_law=outputs, prefix_hit=workload.prefix_cache_hit, sessions=question.sessions,
              priorities=question.priorities)
    if workload.request_rate is not None:
        if question.mode == "benchmark":
            raise InvalidQuantity("A benchmark runs at a concurrency; give plan.workload.concurrency.",
                                  pointer="/plan/workload/concurrency")
        return simulate_open(system, mix, workload.request_rate, workload.arrival_cv, measure)
    users = max(round(workload.concurrency or 1.0), 1)
    return (simulate_benchmark if question.mode == "benchmark" else simulate_closed)(system, mix, users, measure)


def _verdict(result: SimulationResult, question: SimulationQuestion, largest: float) -> str:
    rate = question.plan.workload.request_rate
    if result.unstable:
        return (f"Overloaded: the queue grew through the whole run. One replica takes about {largest:.3g} requests a "
                "second.")
    if rate is not None and question.mode == "steady" and rate / question.replicas > VALID_LOAD * largest:
        return f"Near saturation: one replica takes at most about {largest:.3g} requests a second."
    return "Stable: latencies did not grow through the run."


def _latency(value: Statistic) -> dict[str, float | None]:
    return {name: number if math.isfinite(number) else None for name, number in asdict(value).items()}


def shown(result: SimulationResult) -> dict[str, Any]:
    """The run with its units in the names."""
    return {
        "requests": result.requests, "finished": result.finished, "refused": result.refused,
        "duration_s": result.duration, "ttft_s": _latency(result.ttft), "tpot_s": _latency(result.tpot),
        "e2e_s": _latency(result.e2e),
        "itl_s": {"mean": finite(result.itl_mean), "p50": finite(result.itl_p50), "p95": finite(result.itl_p95),
                  "p99": finite(result.itl_p99)},
        "request_rate": result.request_rate, "output_tokens_per_s": result.output_tokens_per_s,
        "input_tokens_per_s": result.input_tokens_per_s, "goodput_requests_per_s": result.goodput,
        "attainment": result.attainment, "mean_in_system": result.mean_in_system, "mean_waiting": result.mean_waiting,
        "mean_batch": result.mean_batch, "cache_occupancy": result.cache_occupancy, "utilization": result.utilization,
        "preemptions": result.preemptions, "peak_waiting": result.peak_waiting, "unstable": result.unstable,
        "series": {"time_s": [p[0] for p in result.series], "waiting": [p[1] for p in result.series],
                   "batch": [p[2] for p in result.series], "cache_occupancy": [p[3] for p in result.series]},
        "intervals": "half-widths are of 90 % intervals from 20 batches of requests; null where too few to say",
    }


def handler(service: Callable[[], SimulationService]) -> Handler:
    """Return what a worker runs for a simulation."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        answer = service().answer(simulation_question(request, caller.workspace),
                                  report=lambda share: report(share, "simulating"))
        return Outcome(content=orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))

    return run
