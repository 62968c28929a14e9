"""The event-skipping simulator against one step at a time: the same requests end at the same moments."""

from __future__ import annotations

import numpy as np
import pytest

from planner.tests.simulation.random_batches import case, referred, simulated


def _compare(seed: int) -> int:
    c = case(seed)
    recorder, ends = simulated(c)
    jobs, preempted = referred(c)
    ours = np.array([ends[j.number] for j in jobs])
    theirs = np.array([(j.times[0] - j.arrival, j.times[-1] - j.arrival) for j in jobs])
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    gaps = [later - earlier for j in jobs for earlier, later in zip(j.times, j.times[1:], strict=False)]
    assert recorder.gaps == len(gaps)
    assert recorder.gap_sum == pytest.approx(sum(gaps), rel=1e-6)
    assert recorder.preemptions == preempted
    assert recorder.tokens_out == sum(c.answers)
    assert recorder.tokens_in == sum(c.prompts)
    return preempted


def test_two_dozen_random_systems_agree_to_the_step():
    assert sum(_compare(seed) for seed in range(24)) > 0  # some of them preempt


@pytest.mark.slow
def test_random_systems_agree_to_the_step():
    preempting = sum(_compare(seed) > 0 for seed in range(24, 224))
    assert preempting >= 30
