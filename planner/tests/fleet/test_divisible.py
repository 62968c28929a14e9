import math
from dataclasses import replace

import numpy as np
import pytest

from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import rents
from planner.core.fleet.decomposition import decompose
from planner.core.fleet.demand import Demand
from planner.core.fleet.divisible import divisible
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.optimise import optimise
from planner.core.fleet.program import program
from planner.core.fleet.solver import duals, solve
from planner.tests.fleet import build
from planner.tests.reference.fleet_brute_force import cheapest


def least(asked, *, relaxed):
    answer = solve(asked, asked.cost, gap=0.0, time_limit_s=20.0, relaxed=relaxed)
    return math.inf if answer.x is None else float(answer.value if relaxed else answer.bound)


@pytest.mark.parametrize("block", build.BLOCKS)
def test_every_bound_is_below_what_trying_everything_finds(block):
    held = found = 0
    for seed in range(block * 30, block * 30 + 30):
        scenario = build.random_scenario(seed)
        best = cheapest(scenario, most=3)
        if math.isinf(best):
            continue
        relaxed = divisible(scenario, columns(scenario))
        assert least(relaxed, relaxed=True) <= least(relaxed, relaxed=False) * (1 + 1e-6), seed
        assert least(relaxed, relaxed=False) <= best * (1 + 1e-6), seed
        plan, bound = decompose(program(scenario), gap=1e-6, time_limit_s=1.0)
        assert 0 < bound <= best * (1 + 1e-6), seed
        held += 1
        if plan is not None:
            found += 1
            assert shortfalls(plan) == (), seed
            assert ledger(plan).npv >= best * (1 - 1e-6), seed
    assert held >= 10
    assert found >= held / 2


def test_layouts_that_carry_less_per_gpu_leave_the_relaxation_as_it_is():
    scenario = build.scenario(candidates=(build.candidate("two", gpus=2, capacity=1.5), build.candidate()))
    more = replace(scenario, candidates=(*scenario.candidates, build.candidate("one", gpus=1, capacity=0.7)))
    first, second = (divisible(s, columns(s)) for s in (scenario, more))
    assert second.columns.count == first.columns.count
    assert least(second, relaxed=False) == pytest.approx(least(first, relaxed=False))


def test_a_replica_is_worth_what_it_carries_with_its_own_spares():
    plain, spare = build.scenario(), build.scenario(workloads=(build.workload(spare=1),))
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1.0, usd_per_output_token=1.0)
    values = [least(divisible(s, columns(s)), relaxed=True) for s in (plain, spare, replace(spare, apis=(api,)))]
    # Demand of 10 and one replica of 3 in store; the API is dearer than that.
    assert values[1:] == pytest.approx([1.3 * values[0]] * 2)


def test_of_many_replicas_the_one_whose_spares_cost_least_bounds():
    given = build.scenario(workloads=(build.workload(spare=2),))
    small = build.candidate("small", gpus=1, capacity=0.7)
    scenario = replace(given, candidates=(build.candidate(), small))
    # Per GPU of four: 3 / (10 + 2 · 3) / 4, and of one: 0.7 / (10 + 2 · 0.7).
    dense, sparse = 3 / 16 / 4, 0.7 / 11.4
    assert build.candidate().gpus == 4
    alone = least(divisible(given, columns(given)), relaxed=True)
    assert least(divisible(scenario, columns(scenario)), relaxed=True) == pytest.approx(alone * dense / sparse)


def test_row_prices_have_the_sign_of_what_a_limit_costs():
    scenario = build.scenario(offers=(build.rental(),))
    relaxed = divisible(scenario, columns(scenario))
    value, marginals = duals(relaxed)
    demand = np.array([name == "demand of chat" for name in relaxed.rows.name])
    assert (marginals[demand] >= 0).all()
    assert value > 0


def test_one_more_unit_costs_its_rent_where_there_is_one():
    scenario = build.scenario(offers=(build.rental(first_period=1, supply_total=3),
                                      build.rental("dear", usd_per_gpu_hour=9.0, supply_total=2),
                                      build.purchase(sku="h200"), build.rental("any", sku="a100")))
    prices, most = rents(scenario)
    assert prices[0, 0] > 4 * prices[1, 0] > 0
    assert most[:, 0].tolist() == [2, 5, 5, 5]
    assert (prices[:, 1] == 0).all()
    assert (most[:, 1] == 0).all()
    assert np.isinf(most[:, 2]).all()


def test_hours_without_any_load_add_nothing_to_the_bound():
    night = build.workload(demand=Demand(hourly=np.array([6.0] * 12 + [0.0] * 12)))
    scenario = build.scenario(workloads=(night,), offers=(build.rental(),), blocks=2)
    assert (scenario.moments.peak == 0).any()
    plan, bound = decompose(program(scenario), gap=1e-6, time_limit_s=2.0)
    best = optimise(scenario, gap=0.0)
    assert shortfalls(plan) == ()
    assert bound <= best.npv * (1 + 1e-9)
    assert bound == pytest.approx(best.npv, rel=1e-4)
