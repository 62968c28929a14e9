import math

import pytest

from planner.core.fleet.checks import shortfalls
from planner.core.fleet.optimise import INFEASIBLE, OPTIMAL, optimise
from planner.tests.fleet import build
from planner.tests.reference.fleet_brute_force import cheapest


@pytest.mark.parametrize("block", range(8))
def test_equals_brute_force(block):
    feasible = 0
    for seed in range(block * 30, block * 30 + 30):
        scenario = build.random_scenario(seed)
        best = cheapest(scenario, most=3)
        answer = optimise(scenario, gap=0.0)
        if math.isinf(best):
            assert answer.status == INFEASIBLE, seed
            assert answer.conflict, seed
            continue
        feasible += 1
        assert answer.status == OPTIMAL, seed
        assert answer.npv == pytest.approx(best, rel=1e-7), seed
        assert answer.lower_bound <= answer.npv
        assert answer.lower_bound == pytest.approx(best, rel=1e-6), seed
        assert shortfalls(answer.plan) == (), seed
    assert feasible >= 10
