"""Runs that are ended when they can no longer keep their percentile fail just when whole runs do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.core.simulation.results import most_missed
from planner.core.simulation.run import simulate_open
from planner.core.simulation.system import Measure
from planner.tests.simulation.test_run import MIX, system

MEASURE = Measure(requests=2000, ttft_target=0.4, tpot_target=0.03)
ENDED = replace(MEASURE, most_missed=most_missed(2000, 0.95))


@pytest.mark.parametrize("requests", [1, 2, 19, 20, 21, 100, 3001])
@pytest.mark.parametrize("percentile", [0.0, 0.5, 0.9, 0.95, 0.99])
def test_one_more_miss_than_may_is_a_missed_percentile(requests, percentile):
    over = most_missed(requests, percentile) + 1
    values = np.where(np.arange(requests) < over, 2.0, 0.0)
    assert np.quantile(values, percentile) > 1.0
    assert over == requests or np.quantile(np.where(np.arange(requests) < over - 1, 2.0, 0.0), percentile) < 2.0


@pytest.mark.parametrize("rate", [6.0, 12.0, 15.0, 18.0, 22.0, 30.0, 60.0])
def test_an_ended_run_has_the_whole_ones_verdict(rate):
    whole, ended = (simulate_open(system(), MIX, rate, 1.0, measure) for measure in (MEASURE, ENDED))
    keeps = [run.ttft.asked <= 0.4 and run.tpot.asked <= 0.03 for run in (whole, ended)]
    assert keeps[0] == keeps[1]
    if keeps[0]:
        assert ended == whole


def test_a_hopeless_run_ends_early():
    ended = simulate_open(system(), MIX, 60.0, 1.0, ENDED)
    assert ended.requests < 1000
    assert ended.ttft.asked > 0.4 or ended.tpot.asked > 0.03


def test_without_targets_nothing_ends_a_run():
    free = replace(ENDED, ttft_target=None, tpot_target=None)
    assert simulate_open(system(), MIX, 60.0, 1.0, free).requests == 2000
