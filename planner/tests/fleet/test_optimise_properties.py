import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from planner.core.fleet import changes
from planner.core.fleet import optimise as module
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.cost import ledger
from planner.core.fleet.decomposition import decompose
from planner.core.fleet.highs import SOLVED
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.offers import CAPITAL_PARTS, RUNNING_PARTS
from planner.core.fleet.optimise import INFEASIBLE, OPTIMAL, optimise
from planner.core.fleet.power import Site
from planner.core.fleet.program import STRUCTURE, program
from planner.core.fleet.scenario import Limits
from planner.core.fleet.solver import solve
from planner.core.fleet.ways import ways
from planner.tests.fleet import build


def best(scenario):
    answer = optimise(scenario, gap=0.0)
    return math.inf if answer.status == INFEASIBLE else answer.npv


@pytest.mark.parametrize("block", range(4))
def test_more_demand_never_costs_less(block):
    for seed in range(block * 10, block * 10 + 10):
        scenario = build.random_scenario(seed)
        costs = [best(changes.scale_demand(scenario, factor)) for factor in (0.7, 1.0, 1.1, 1.6)]
        assert all(b >= a * (1 - 1e-6) for a, b in itertools.pairwise(costs)), (seed, costs)


def test_adding_a_sku_never_raises_the_optimum():
    for seed in range(30):
        scenario = build.random_scenario(seed)
        more = replace(scenario, offers=(*scenario.offers, build.rental("new", sku="c", unit=2, usd_per_gpu_hour=2.0)),
                       candidates=(*scenario.candidates, *(build.candidate(f"{w.id} c", workload=w.id, sku="c", gpus=2,
                                                                           capacity=2.5) for w in scenario.workloads)))
        assert best(more) <= best(scenario) * (1 + 1e-6), seed


def test_doubling_every_price_doubles_the_optimum():
    parts = frozenset(CAPITAL_PARTS) | frozenset(RUNNING_PARTS)
    for seed in range(20):
        scenario = replace(build.random_scenario(seed), limits=Limits())
        once, twice = best(scenario), best(changes.scale_parts(scenario, 2.0, parts))
        assert twice == (math.inf if math.isinf(once) else pytest.approx(2 * once, rel=1e-6))


def test_no_plain_way_beats_the_optimum():
    for seed in range(40):
        scenario = build.random_scenario(seed)
        optimum = best(scenario)
        for way in ways(scenario):
            if way.works:
                assert way.npv >= optimum * (1 - 1e-6), (seed, way.id)


def test_owning_the_base_is_exact_for_one_sku():
    rng = np.random.default_rng(5)
    for _ in range(15):
        scenario = build.scenario(
            calendar=Calendar(periods=5, months_per_period=6, discount_rate=0.1),
            workloads=(build.workload(peak=float(rng.uniform(2, 30)), growth=float(rng.uniform(-0.05, 0.06))),),
            offers=(build.rental(usd_per_gpu_hour=float(rng.uniform(1, 3))),
                    build.purchase(card=float(rng.uniform(20_000, 60_000)), term=10, first_period=1)))
        own = next(w for w in ways(scenario) if w.kind == "own_base")
        assert own.npv == pytest.approx(best(scenario), rel=1e-6)


def test_a_conflict_is_minimal():
    found = 0
    for seed in range(120):
        scenario = build.random_scenario(seed)
        answer = optimise(scenario)
        if answer.status != INFEASIBLE:
            continue
        found += 1
        asked = program(scenario)

        def possible(names, asked=asked):
            return solve(asked, np.zeros_like(asked.cost), gap=0.0, time_limit_s=5.0, names=names).status == SOLVED

        assert not possible(answer.conflict), seed
        for name in answer.conflict:
            assert possible([n for n in answer.conflict if n != name]), (seed, name)
    assert found >= 5


def test_conflicts_are_named_in_plain_words():
    scenario = build.scenario(sites=(Site(id="cloud"), Site(id="own", power_cap_w=6_000.0)),
                              offers=(build.purchase(),))
    assert optimise(scenario).conflict == ("power of own", "demand of chat")
    scenario = build.scenario(offers=(build.purchase(first_period=2),))
    assert optimise(scenario).conflict == ("lead time of h100 bought", "demand of chat")
    scenario = build.scenario(limits=Limits(budget_usd=1000.0))
    assert optimise(scenario).conflict == ("budget", "demand of chat")
    scenario = build.scenario(sites=(Site(id="cloud"), Site(id="own", rack_cap=1)),
                              offers=(build.purchase(units_per_rack=1),))
    assert optimise(scenario).conflict == ("racks of own", "demand of chat")


def test_an_api_takes_what_hardware_is_too_dear_for():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1e-9, usd_per_output_token=1e-9)
    answer = optimise(build.scenario(apis=(api,)), gap=0.0)
    assert answer.plan.api_share["api"] == pytest.approx(1.0)
    assert answer.plan.running == {}
    dear = replace(api, usd_per_input_token=1.0)
    assert optimise(build.scenario(apis=(dear,)), gap=0.0).plan.api_share == {}


def test_spares_and_headroom_are_kept_by_the_plan():
    scenario = build.scenario(workloads=(build.workload(spare=2, headroom=0.25),))
    plan = optimise(scenario, gap=0.0).plan
    assert (plan.capacity("chat") - 2 * 3.0 >= 12.5).all()
    assert shortfalls(plan) == ()


def medium(seed):
    rng = np.random.default_rng(seed)
    loads = tuple(build.workload(f"w{i}", peak=float(rng.uniform(5, 40)), growth=0.04, headroom=0.1) for i in range(2))
    candidates, offers = [], []
    for sku in "abc":
        price = float(rng.uniform(1, 4))
        offers += [build.rental(f"{sku} rent", sku=sku, usd_per_gpu_hour=price),
                   build.reservation(f"{sku} reserve", sku=sku, usd_per_gpu_hour=0.6 * price, term=3),
                   build.purchase(f"{sku} buy", sku=sku, card=9_000 * price, term=12)]
        candidates += [build.candidate(f"{w.id} {sku} {g}", workload=w.id, sku=sku, gpus=g,
                                       capacity=float(g**rng.uniform(0.85, 1.1) * rng.uniform(0.5, 2)))
                       for w in loads for g in (1, 2, 4, 8)]
    return build.scenario(calendar=Calendar(periods=4, months_per_period=3, discount_rate=0.08), workloads=loads,
                          candidates=tuple(candidates), offers=tuple(offers))


@pytest.mark.parametrize("seed", range(4))
def test_slice_by_slice_agrees_with_the_whole(seed, monkeypatch):
    scenario = medium(seed)
    monkeypatch.setattr(module, "WHOLE_AT_MOST", 10**9)
    whole = optimise(scenario, gap=1e-3, time_limit_s=20.0)
    plan, bound = decompose(program(scenario), gap=5e-3, time_limit_s=8.0)
    assert shortfalls(plan) == ()
    assert bound <= whole.npv * (1 + 1e-6)
    assert ledger(plan).npv >= whole.lower_bound * (1 - 1e-6)
    assert ledger(plan).npv <= whole.npv * 1.01


def test_large_programmes_are_solved_in_slices_and_say_their_gap():
    scenario = medium(9)
    scenario = replace(scenario, calendar=Calendar(periods=8, months_per_period=3, discount_rate=0.08))
    assert program(scenario).columns.count > module.WHOLE_AT_MOST / 2
    answer = optimise(scenario, gap=0.02, time_limit_s=6.0)
    assert answer.plan is not None
    assert answer.lower_bound <= answer.npv
    assert answer.gap == pytest.approx((answer.npv - answer.lower_bound) / answer.npv)
    assert shortfalls(answer.plan) == ()


def test_slices_cope_with_supply_limits_and_apis(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", 0)
    scenario = medium(3)
    capped = replace(scenario, offers=tuple(replace(o, supply_total=1) if "rent" not in o.id else o
                                            for o in scenario.offers),
                     apis=(ApiOffer(id="api", workload="w0", usd_per_input_token=1e-7, usd_per_output_token=1e-7),))
    answer = optimise(capped, gap=0.02, time_limit_s=6.0)
    assert shortfalls(answer.plan) == ()
    assert answer.lower_bound <= answer.npv


def test_infeasible_large_programmes_name_the_conflict(monkeypatch):
    monkeypatch.setattr(module, "WHOLE_AT_MOST", 0)
    answer = optimise(build.scenario(limits=Limits(gpus=8)), time_limit_s=4.0)
    assert answer.status == INFEASIBLE
    assert answer.conflict == ("max_gpus", "demand of chat")


def test_no_time_is_said_not_hidden():
    answer = optimise(medium(1), gap=0.0, time_limit_s=1e-3)
    assert answer.status in {"time_limit", OPTIMAL}
    assert answer.plan is None or shortfalls(answer.plan) == ()


def test_the_programme_is_deterministic():
    first, second = optimise(medium(2), gap=0.02, time_limit_s=30.0), optimise(medium(2), gap=0.02, time_limit_s=30.0)
    assert first.npv == second.npv
    assert STRUCTURE in program(medium(2)).rows.name
