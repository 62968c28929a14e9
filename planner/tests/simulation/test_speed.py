"""Work per simulated request; requests per minute are a figure of benchmarks/run.py."""

from __future__ import annotations

import pytest

from planner.core.serving.policy import VLLM, ServingLimits
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.laws import law_of
from planner.core.simulation.run import simulate_open
from planner.core.simulation.system import Measure, System
from planner.tests.effort import lines, times_as_long
from planner.tests.serving.steps import large


def run_of(*, replicas=1, router="round_robin", requests=2_000, output=200, rate=9.0):
    system = System(table=large(), policy=VLLM, limits=ServingLimits(kv_capacity_tokens=500_000), replicas=replicas,
                    router=router)
    mix = Mix(input_law=law_of(1000, 0.5), output_law=law_of(output, 0.5))
    return lambda: simulate_open(system, mix, rate * replicas, 1.0, Measure(requests=requests))


def lines_per_request(**asked):
    run = run_of(**asked)
    return lines(run) / run().finished


@pytest.mark.parametrize(("replicas", "router", "most"), [
    (1, "round_robin", 550), (8, "round_robin", 650), (8, "least_loaded", 800)])
def test_a_request_takes_some_hundred_lines(replicas, router, most):
    assert lines_per_request(replicas=replicas, router=router) < most


def test_equal_steps_are_jumped_over():
    """Answers of ten times the length decode ten times the steps, in hardly more stretches."""
    assert lines_per_request(output=2_000, rate=2.0) < 2 * lines_per_request()


@pytest.mark.parametrize(("replicas", "router"), [(1, "round_robin"), (8, "least_loaded")])
def test_four_times_the_requests_take_about_four_times_as_long(replicas, router):
    short, long = (run_of(replicas=replicas, router=router, requests=n) for n in (2_000, 8_000))
    assert times_as_long(long, short, enough=8.0) < 8.0
