"""Idle hours, late offers, missing layouts, plans that fall short: what the main road does not pass."""

from dataclasses import replace

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.fleet import changes, terms
from planner.core.fleet import optimise as module
from planner.core.fleet.attribution import drivers
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import cover_prices
from planner.core.fleet.decomposition import decompose
from planner.core.fleet.demand import Demand, scaled_to_mean
from planner.core.fleet.economics import margins
from planner.core.fleet.fixed import judge
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.optimise import INFEASIBLE, OPTIMAL, optimise
from planner.core.fleet.payback import break_even_month
from planner.core.fleet.plan import Plan
from planner.core.fleet.power import Site
from planner.core.fleet.program import frame, program
from planner.core.fleet.scenario import Limits
from planner.core.fleet.search import cheaper
from planner.core.fleet.sizing import replicas
from planner.core.fleet.solver import duals
from planner.core.fleet.uncertainty import Doubt, stress
from planner.core.fleet.ways import ways
from planner.tests.fleet import build


def alternating():
    """Two workloads that are busy in turn, hour by hour."""
    day = replace(build.workload("day", spare=1), demand=Demand(hourly=np.array([6.0, 0.0])))
    night = replace(build.workload("night"), demand=Demand(hourly=np.array([0.0, 3.0])))
    return build.scenario(workloads=(day, night), blocks=2, candidates=(
        build.candidate("d", workload="day"), build.candidate("n", workload="night")))


@pytest.mark.parametrize("whole_at_most", [10**9, 0])
def test_workloads_busy_in_turn_share_units(whole_at_most, monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", whole_at_most)
    answer = optimise(alternating(), gap=1e-6)
    assert answer.status == OPTIMAL
    assert shortfalls(answer.plan) == ()
    assert (answer.plan.capacity("day")[1::2] == 0).all()


def silent():
    """A workload that is silent in the first month of two, recorded hour by hour."""
    hours = np.concatenate([np.zeros(731), np.full(731, 5.0)])
    return build.scenario(calendar=Calendar(periods=2), workloads=(
        replace(build.workload(), demand=Demand(hourly=hours, covers_horizon=True)),))


@pytest.mark.parametrize("whole_at_most", [10**9, 0])
def test_a_silent_month_needs_nothing(whole_at_most, monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", whole_at_most)
    answer = optimise(silent(), gap=1e-6)
    assert answer.plan.gpus()[0] == 0
    assert answer.plan.gpus()[1] == 8


def test_a_base_starts_when_its_load_does():
    way = next(w for w in ways(replace(silent(), offers=(build.rental(usd_per_gpu_hour=90.0), build.purchase())))
               if w.kind == "own_base")
    assert way.plan.acquired["h100 bought"].tolist() == [0, 1]


def test_late_rentals_wait():
    scenario = build.scenario(offers=(build.rental("new", usd_per_gpu_hour=1.0, first_period=2), build.rental()))
    plan = optimise(scenario, gap=0.0).plan
    assert plan.running["new"].tolist() == [0, 0, 2, 2]
    assert plan.running["h100 on demand"].tolist() == [2, 2, 0, 0]


def test_too_few_replicas_fall_short():
    plan = next(w for w in ways(build.scenario()) if w.kind == "rent").plan
    fewer = replace(plan, replicas={key: count - 1 for key, count in plan.replicas.items()})
    assert shortfalls(fewer) == ("demand of chat",)


def test_a_pool_without_a_layout_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", 0)
    scenario = build.scenario(offers=(build.rental(), build.purchase(), build.rental("l4", sku="l4")))
    plan, bound = decompose(program(scenario), gap=1e-3, time_limit_s=4.0)
    assert "l4" not in plan.running
    assert bound > 0


def test_a_site_too_small_for_any_slice_is_a_conflict(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", 0)
    scenario = build.scenario(offers=(build.purchase(),), sites=(Site(id="cloud"), Site(id="own", power_cap_w=100.0)))
    answer = optimise(scenario, time_limit_s=4.0)
    assert answer.status == INFEASIBLE
    assert answer.conflict == ("power of own", "demand of chat")


def test_prices_of_rows_that_cannot_be_met_are_refused():
    scenario = build.scenario(offers=(build.rental(supply_total=0),))
    asked = frame(scenario, replace(program(scenario).columns, pairs=(), marked=()))
    asked.rows.add("never", [(0, 0.0)], lower=1.0, upper=1.0)
    with pytest.raises(InvalidQuantity, match="no solution"):
        duals(asked)


def test_a_rival_that_pays_at_once_is_passed_at_once():
    scenario = build.scenario(offers=(build.rental(), build.purchase()))
    rent = Plan(scenario=scenario, running={"h100 on demand": np.array([2, 2, 2, 2])})
    late = Plan(scenario=scenario, running={"h100 on demand": np.array([1, 1, 0, 0])},
                acquired={"h100 bought": np.array([0, 0, 2, 0])})
    assert break_even_month(rent, late) == 2.0


def test_an_api_has_no_capacity_to_break():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1e-6, usd_per_output_token=1e-6)
    way = next(w for w in ways(build.scenario(apis=(api,)), only=["api"]))
    assert margins(way.plan) == ()
    assert ways(build.scenario(workloads=(build.workload("a"), build.workload("b")), candidates=(),
                               apis=(replace(api, workload="a"),)))[0].plan is None


def test_an_offer_that_starts_late_never_sets_the_price_before():
    prices = cover_prices(build.scenario(offers=(build.purchase(first_period=2), build.rental(first_period=1))))
    assert prices[0, 0] > 100 * prices[1:, 0].max()
    assert (prices[1:] > 0).all()


def test_trade_units_become_rates():
    assert terms.rent_of_unit(2.5, 8) * 3600 == pytest.approx(20.0)
    # 10 kW · 1.3 · 0.5 at 0.12 USD/kWh is 0.78 USD an hour.
    assert terms.energy_of_unit(10_000.0, 1.3, 0.12, 0.5) * 3600 == pytest.approx(0.78)
    assert terms.colocation_of_unit(10_000.0, 150.0) * terms.SECONDS_PER_MONTH == pytest.approx(1500.0)
    assert terms.monthly_of_unit(60.0, 8) * terms.SECONDS_PER_MONTH == pytest.approx(480.0)
    assert terms.support_of_unit(300_000.0, 0.04) * terms.SECONDS_PER_YEAR == pytest.approx(12_000.0)
    assert [terms.periods_of(m, 3) for m in (1, 3, 4, 12)] == [1, 1, 2, 4]
    # 2e9 tokens a month at 1000 a request: 0.76 requests a second.
    assert terms.rate_of_tokens(2e9, 1000.0) == pytest.approx(2e6 / 2_629_800)
    assert terms.per_token(0.6) == pytest.approx(6e-7)
    for call in (lambda: terms.rent_of_unit(-1.0, 8), lambda: terms.support_of_unit(1.0, 2.0),
                 lambda: terms.rate_of_tokens(0.0, 1.0), lambda: terms.per_token(-1.0)):
        with pytest.raises(InvalidQuantity):
            call()


def test_fixed_fleets_use_the_layout_that_carries_most():
    two, four = build.candidate("tp2", gpus=2, capacity=10.0), build.candidate("tp4", gpus=4, capacity=25.0)
    best, other = judge((two, four), 8, 40.0)
    assert (best.candidate, best.replicas, best.carries, best.share) == (four, 2, 50.0, 1.25)
    assert (other.replicas, other.idle_gpus) == (4, 0)
    assert judge((four,), 3, 40.0) == ()
    assert judge((four,), 7, 40.0)[0].idle_gpus == 3
    with pytest.raises(InvalidQuantity):
        judge((four,), 0, 1.0)


def test_drivers_of_shared_fleets():
    scenario = build.scenario(workloads=(build.workload("a", peak=9.0), build.workload("b", peak=3.0)), candidates=(
        build.candidate("x", workload="a"), build.candidate("y", workload="b")))
    plan = next(w for w in ways(scenario) if w.kind == "rent").plan
    found = drivers(plan)
    # Four replicas of 3.0 on 4 GPUs each, all of them full: 16 GPUs in two nodes.
    assert found.gpu_s_per_request == pytest.approx(4 / 3)
    assert found.gpu_s_held_per_used == pytest.approx(1.0)
    assert found.usd == pytest.approx(2.0 * 16 * 4 * 730.5)


def test_a_shape_with_a_given_mean():
    assert scaled_to_mean(np.array([1.0, 3.0]), 10.0).tolist() == [5.0, 15.0]


def test_scaling_rentals_leaves_their_terms():
    dear = changes.scale_parts(build.scenario(), 2.0, frozenset({"rent"}), lambda o: o.kind == "on_demand")
    assert dear.offers[0].running_total == pytest.approx(2 * build.rental().running_total)
    assert dear.offers[1] == build.purchase()


def test_the_same_fleet_at_other_prices():
    plan = next(w for w in ways(build.scenario()) if w.kind == "rent").plan
    dear = changes.moved(plan, changes.scale_parts(build.scenario(), 3.0, frozenset({"rent"})))
    assert ledger(dear).npv == pytest.approx(3 * ledger(plan).npv)


def test_api_prices_scale():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1e-6, usd_per_output_token=2e-6)
    assert changes.scale_api(build.scenario(apis=(api,)), 3.0).apis[0].usd_per_request(1.0, 1.0) == pytest.approx(9e-6)


def test_workloads_tied_to_a_site_stay_there():
    scenario = build.scenario(
        workloads=(build.workload("eu", sites=("own",)), build.workload("any")),
        sites=(Site(id="cloud"), Site(id="own")),
        candidates=(build.candidate("e", workload="eu"), build.candidate("a", workload="any")),
        offers=(build.rental(), build.rental("own rent", site="own", usd_per_gpu_hour=5.0)))
    plan = optimise(scenario, gap=0.0).plan
    # Two nodes' worth each; only what must is run at the dear site.
    assert plan.running["own rent"].tolist() == [2] * 4
    assert plan.running["h100 on demand"].tolist() == [2] * 4
    assert shortfalls(plan) == ()


def test_a_fleet_under_stress():
    scenario = build.scenario(workloads=(build.workload(peak=10.0),),
                              candidates=(build.candidate(capacity_low=2.4, capacity_high=3.75),))
    plan = optimise(scenario, gap=0.0).plan
    calm = stress(plan, Doubt(), draws=1, seed=1)
    assert calm.short.shape == (4,)
    tested = stress(plan, Doubt(demand_cv=0.2), draws=2000, seed=3)
    # Four replicas carry 12: the median draw needs 10/12 of the fleet.
    assert np.median(tested.scale) == pytest.approx(10 / 12, rel=0.03)
    assert 0.1 < tested.short[0] < 0.4
    assert (stress(plan, Doubt(demand_cv=0.2), draws=2000, seed=3).scale == tested.scale).all()
    hosted = Plan(scenario=build.scenario(apis=(ApiOffer(
        id="api", workload="chat", usd_per_input_token=1.0, usd_per_output_token=1.0),)), api_share={"api": np.ones(4)})
    assert stress(hosted, Doubt(demand_cv=0.5), draws=10, seed=1).short.max() == 0.0
    with pytest.raises(InvalidQuantity, match="draws"):
        stress(plan, Doubt(), draws=10_000_000, seed=1)


def test_stress_of_two_workloads_takes_the_worse():
    scenario = build.scenario(workloads=(build.workload("a", peak=9.0), build.workload("b", peak=1.5)), candidates=(
        build.candidate("x", workload="a"), build.candidate("y", workload="b")))
    plan = next(w for w in ways(scenario) if w.kind == "rent").plan
    assert stress(plan, Doubt(), draws=3, seed=1).scale == pytest.approx([1.0] * 3)


def test_fleets_too_large_to_build_are_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 10)
    with pytest.raises(InvalidQuantity, match="variables"):
        optimise(build.scenario())


def test_absurdly_small_replicas_are_no_candidates():
    scenario = build.scenario(candidates=(build.candidate(), build.candidate("dust", gpus=1, capacity=1e-9)))
    assert next(w for w in ways(scenario) if w.kind == "rent").plan.gpus().max() == 16
    only = build.scenario(candidates=(build.candidate("dust", gpus=1, capacity=1e-9),))
    assert not any(w.works for w in ways(only))
    with pytest.raises(InvalidQuantity, match="counted"):
        replicas(1e9, 1e-9)


def test_a_giant_replica_still_counts_whole():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1.0, usd_per_output_token=1.0)
    scenario = build.scenario(workloads=(build.workload(peak=1.0, spare=1),), apis=(api,),
                              candidates=(build.candidate(capacity=1e6, gpus=8),))
    plan = optimise(scenario, gap=0.0).plan
    assert plan.running.get("h100 on demand", plan.acquired.get("h100 bought")).max() == 2
    assert shortfalls(plan) == ()


def test_free_budgets_of_nothing_are_conflicts():
    for limits, name in ((Limits(budget_usd=0.0), "budget"), (Limits(capital_usd=0.0), "capital budget")):
        answer = optimise(build.scenario(offers=(build.purchase(),), limits=limits))
        assert answer.conflict == (name, "demand of chat")


def test_the_cheaper_plan_wins():
    scenario = build.scenario()
    rent = Plan(scenario=scenario, running={"h100 on demand": np.array([2, 2, 2, 2])})
    more = Plan(scenario=scenario, running={"h100 on demand": np.array([3, 2, 2, 2])})
    assert cheaper(rent, more) is cheaper(more, rent) is rent
    assert cheaper(None, more) is cheaper(more, None) is more
