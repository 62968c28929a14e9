"""Speed on one core, in processor time so that a busy machine does not matter."""

from __future__ import annotations

import time

import pytest

from planner.core.serving.policy import VLLM, ServingLimits
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.laws import law_of
from planner.core.simulation.run import simulate_open
from planner.core.simulation.system import Measure, System
from planner.tests.serving.steps import large


@pytest.mark.slow
@pytest.mark.parametrize(("replicas", "router", "per_minute"), [
    (1, "round_robin", 2e6), (8, "round_robin", 2e6), (8, "least_loaded", 5e5)])
def test_requests_per_minute(replicas, router, per_minute):
    system = System(table=large(), policy=VLLM, limits=ServingLimits(kv_capacity_tokens=500_000), replicas=replicas,
                    router=router)
    mix = Mix(input_law=law_of(1000, 0.5), output_law=law_of(200, 0.5))
    fastest = 0.0
    for _ in range(3):
        start = time.process_time()
        run = simulate_open(system, mix, 9.0 * replicas, 1.0, Measure(requests=20_000))
        fastest = max(fastest, 60.0 * run.finished / (time.process_time() - start))
    assert fastest > per_minute
