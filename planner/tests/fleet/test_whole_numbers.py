"""Where whole numbers and the solver's tolerance meet: shares of nearly all, mixed replicas, conflicts of counts."""


import numpy as np
import pytest

from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.optimise import INFEASIBLE, optimise
from planner.core.fleet.plan import Plan
from planner.core.fleet.readout import hosted_parts
from planner.core.fleet.scenario import Limits
from planner.tests.fleet import build
from planner.tests.reference.fleet_brute_force import cheapest


def test_what_an_api_answers_but_for_rounding_is_no_load_left():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1e-9, usd_per_output_token=1e-9)
    scenario = build.scenario(workloads=(build.workload(spare=1),), apis=(api,))
    assert hosted_parts(np.array([1.0 - 5e-7, 1.0 + 1e-9, 0.25, -1e-12])).tolist() == [1.0, 1.0, 0.25, 0.0]
    share = np.full(scenario.moments.period.size, 1.0 - 5e-7)
    assert shortfalls(Plan(scenario=scenario, api_share={"api": share})) == ()
    assert shortfalls(Plan(scenario=scenario, api_share={"api": share - 1e-5})) == ("demand of chat",)
    found = optimise(scenario, gap=0.0)
    assert shortfalls(found.plan) == ()
    assert found.plan.replicas == {}


def test_small_replicas_may_make_up_for_the_loss_of_large_ones():
    # Load 1, two may fail. Cheap spot carries 1.1 a GPU but only 0.4 of the load; a firm unit carries 3.2 and is dear.
    # One firm and four on spot keep 3.2 + 4.4 - 2 · 3.2 = 1.2, with more of the small than the small alone would ask.
    chat = build.workload(peak=1.0, spare=2, spot_share=0.4)
    scenario = build.scenario(
        calendar=Calendar(periods=1), workloads=(chat,),
        candidates=(build.candidate("small", sku="a", gpus=1, capacity=1.1),
                    build.candidate("large", sku="b", gpus=2, capacity=3.2)),
        offers=(build.rental("a spot", sku="a", unit=4, usd_per_gpu_hour=0.1, firm=False),
                build.rental("b rent", sku="b", unit=2, usd_per_gpu_hour=9.0)))
    found = optimise(scenario, gap=0.0)
    assert shortfalls(found.plan) == ()
    assert found.plan.running["b rent"].tolist() == [1]
    assert found.npv == pytest.approx(cheapest(scenario, most=3))


def test_a_conflict_of_whole_numbers_inside_one_of_divisible_ones_is_found():
    # Both take 7.7 divisible GPUs and one alone 3.9, of seven; but units have eight, so that one alone has none.
    one, two = build.workload("one", peak=2.9), build.workload("two", peak=2.9)
    scenario = build.scenario(workloads=(one, two), limits=Limits(gpus=7), offers=(build.rental(),),
                              candidates=(build.candidate("c1", workload="one"), build.candidate("c2", workload="two")))
    found = optimise(scenario)
    assert found.status == INFEASIBLE
    assert found.conflict == ("max_gpus", "demand of two")
