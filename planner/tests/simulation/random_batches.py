"""Random small systems, run by the simulator and by the slow reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.execution.step_table import StepTable
from planner.core.serving.policy import Admission, Chunking, PrefillOrder, SchedulerPolicy, ServingLimits
from planner.core.simulation.engine import Replica
from planner.core.simulation.job import Job
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.settings import rank_settings
from planner.tests.reference.slow_batching import Rules, Seq, run


@dataclass
class Case:
    table: StepTable
    policy: SchedulerPolicy
    limits: ServingLimits
    prompts: list[int]
    answers: list[int]
    arrivals: list[float]
    cached: list[int]
    priorities: list[int]
    by_priority: bool


def table(rng: np.random.Generator) -> StepTable:
    nodes = 2.0 ** np.arange(0, 14.01, 0.5)
    base = rng.uniform(1e-3, 4e-3) + np.maximum(rng.uniform(1e-3, 8e-3), nodes * rng.uniform(1e-6, 3e-5))
    windows = np.array([np.inf, 64.0 + rng.integers(0, 500)]) if rng.random() < 0.3 else np.array([np.inf])
    slope = rng.uniform(1e-9, 5e-8)
    return StepTable(nodes=nodes, base=base, windows=windows,
                     per_context_token=np.array([slope, 2 * slope][:windows.size]),
                     per_pair=np.array(rng.uniform(0, 5e-10)), per_request=np.array(rng.uniform(0, 1e-5)),
                     prefill_extra=np.array(rng.uniform(0, 2e-3)))


def case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    steps = table(rng)
    block, prompt, answer = int(rng.choice([1, 16, 32])), int(rng.integers(20, 1500)), int(rng.integers(2, 200))
    seats = int(rng.integers(2, 64))
    budget = max(int(rng.choice([256, 1024, 4096])), seats + 1)
    capacity = int((prompt * 2.5 + answer * 4) * (2 if rng.random() < 0.5 else 40) + block * 8)
    groups = int(rng.choice([1, 1, 1, 2, 4]))
    policy = SchedulerPolicy(
        order=PrefillOrder(rng.choice(["mixed", "prefill_first"])), chunking=Chunking(rng.choice(["chunked", "whole"])),
        admission=Admission("reserve" if rng.random() < 0.25 else "on_demand"), block_tokens=block,
        poll_steps=int(rng.choice([1, 1, 1, 10])), request_latency_s=float(rng.choice([0, 0.01])))
    limits = ServingLimits(kv_capacity_tokens=capacity * groups, max_num_seqs=seats, token_budget=budget,
                           data_parallel=groups)
    count = int(rng.integers(60, 160))
    prompts = np.maximum(1, rng.gamma(2, prompt / 2, count)).astype(int)
    answers = np.maximum(1, rng.gamma(1.5, answer / 1.5, count)).astype(int)
    fit = prompts + answers + 2 * block < capacity
    prompts, answers = prompts[fit], answers[fit]
    busy = np.mean(answers) * (steps.base[0] + 2e-3) / min(seats, 8) + np.mean(prompts) * 2e-5
    arrivals = np.cumsum(rng.exponential(busy / groups / rng.uniform(0.3, 1.4), prompts.size))
    hits = np.where(rng.random(prompts.size) < 0.3, (prompts * 0.5).astype(int) // block * block, 0)
    return Case(steps, policy, limits, prompts.tolist(), answers.tolist(), arrivals.tolist(),
                np.minimum(hits, prompts - 1).tolist(), rng.integers(0, 3, prompts.size).tolist(),
                bool(rng.random() < 0.2))


def simulated(c: Case) -> tuple[Recorder, dict[int, tuple[float, float]]]:
    recorder = Recorder()
    recorder.on_finish = []
    replica = Replica(rank_settings(c.table, c.policy, c.limits), recorder, groups=int(c.limits.data_parallel),
                      queue="priority" if c.by_priority else "fcfs")
    for i, arrival in enumerate(c.arrivals):
        job = Job(i, arrival, c.prompts[i], c.answers[i], cached=c.cached[i], priority=c.priorities[i])
        job.ready = arrival + c.policy.request_latency_s
        replica.inbox.append(job)
    replica.run()
    return recorder, {job.serial: (job.first - job.arrival, end - job.arrival) for job, end in recorder.on_finish}


def referred(c: Case) -> tuple[list[Seq], int]:
    t = c.table

    def step_time(tokens: int, contexts: list[int], pairs: float, batch: int, prompts: bool) -> float:
        time = float(np.interp(tokens, t.nodes, t.base)) + float(t.per_pair) * pairs + float(t.per_request) * batch
        for window, slope in zip(t.windows, t.per_context_token, strict=True):
            time += float(slope) * sum(min(c, window) for c in contexts)
        return time + float(t.prefill_extra) * prompts

    groups = int(c.limits.data_parallel)
    rules = Rules(
        step_time, int(c.limits.token_budget), int(c.limits.max_num_seqs),
        int(c.limits.kv_capacity_tokens / groups / c.policy.block_tokens), c.policy.block_tokens,
        c.policy.order == "mixed", c.policy.chunking == "chunked", c.policy.admission == "reserve",
        c.policy.poll_steps, groups, c.policy.request_latency_s, c.by_priority)
    jobs = [Seq(i, arrival, c.prompts[i], c.answers[i], c.cached[i], c.priorities[i])
            for i, arrival in enumerate(c.arrivals)]
    return run(rules, jobs)
