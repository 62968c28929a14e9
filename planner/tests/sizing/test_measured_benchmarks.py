"""Published closed-loop benchmarks played as they were run: all users at once, ten prompts each, the tail drained."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from planner.core.serving.policy import default_token_budget
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.laws import Fixed, Uniform
from planner.core.simulation.run import simulate_benchmark
from planner.core.simulation.system import Measure, System
from planner.services.plan.question import Deployment
from planner.services.validation.predicting import configure
from planner.services.validation.reading import read_rows
from planner.tests.sizing.test_sizing import PLANNER

RUNS = Path(__file__).parents[1] / "data" / "measured_runs.csv"


def _played(row):
    """Dated runs draw lengths from 0.8 to 1 of the nominal one (InferenceX, benchmark_serving)."""
    configuration = configure(PLANNER.plans, row)
    users = int(row.concurrency)
    budget = default_token_budget(configuration.engine, configuration.resolved.chip.memory_bytes)
    deployment = Deployment(engine=configuration.engine, tensor_parallel=configuration.layout.tensor,
                            max_num_batched_tokens=budget, max_num_seqs=max(512, users))
    fit = configuration.fit(deployment, row.input_tokens + row.output_tokens)
    terms = configuration.resolved.profile.serving
    system = System(
        table=configuration.step_table(np.asarray(0.9 * (row.input_tokens + row.output_tokens / 2.0))),
        policy=replace(configuration.policy,
                       request_latency_s=terms.ingest_fixed if row.fixed_lengths else terms.ingest),
        limits=configuration.limits(deployment, fit))

    def law(tokens):
        return Fixed(tokens=tokens) if row.fixed_lengths else Uniform(low=0.8 * tokens, high=tokens)

    mix = Mix(input_law=law(row.input_tokens), output_law=law(row.output_tokens))
    return simulate_benchmark(system, mix, users, Measure(requests=10 * users))


def test_first_tokens_of_published_benchmarks():
    with RUNS.open(encoding="utf-8") as lines:
        rows = read_rows(csv.DictReader(lines)).rows
    runs = [(_played(row), row) for row in rows]
    assert median(abs(run.ttft.mean / row.ttft - 1.0) for run, row in runs) < 0.45
    assert median(abs(run.tpot.mean / row.tpot - 1.0) for run, row in runs) < 0.15
