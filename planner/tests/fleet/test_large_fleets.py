"""Fleets of 3 models × 8 SKUs × 6 near-tied layouts × 12 quarters: too large to try everything, so bounded."""

from dataclasses import replace

import numpy as np
import pytest

from planner.core.fleet import changes, decomposition
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.decomposition import decompose
from planner.core.fleet.divisible import divisible
from planner.core.fleet.offers import CAPITAL_PARTS, RUNNING_PARTS
from planner.core.fleet.optimise import optimise
from planner.core.fleet.program import program
from planner.core.fleet.solver import solve
from planner.tests.fleet import build

LAYOUTS = (1, 2, 4, 8, 16, 4)


def large(seed, *, bought=True, skus=8, models=3, periods=12, load=120.0):
    rng = np.random.default_rng(seed)
    loads = tuple(build.workload(f"w{m}", peak=load * float(rng.uniform(0.5, 1.5)), growth=0.02) for m in range(models))
    candidates, offers = [], []
    for sku in range(skus):
        price = float(rng.uniform(1, 5))
        offers.append(build.rental(f"s{sku} rent", sku=f"s{sku}", usd_per_gpu_hour=price, join_units=4))
        if bought:
            offers += [build.reservation(f"s{sku} reserve", sku=f"s{sku}", usd_per_gpu_hour=0.65 * price, term=4,
                                         join_units=4),
                       build.purchase(f"s{sku} buy", sku=f"s{sku}", card=12_000 * price, term=16, join_units=4)]
        candidates += [build.candidate(f"w{m} s{sku} {n}", workload=f"w{m}", sku=f"s{sku}", gpus=g,
                                       capacity=float(price * g * rng.uniform(0.45, 0.5)))
                       for m in range(models) for n, g in enumerate(LAYOUTS)]
    return build.scenario(calendar=Calendar(periods=periods, months_per_period=3, discount_rate=0.08), workloads=loads,
                          candidates=tuple(candidates), offers=tuple(offers))


def test_offers_that_compete_over_time_are_found_by_whole_units_first():
    scenario = large(3, skus=3, models=2, periods=6, load=20.0)
    plan, bound = decompose(program(scenario), gap=0.01, time_limit_s=5.0)
    assert shortfalls(plan) == ()
    assert 0 < bound <= ledger(plan).npv
    assert ledger(plan).npv <= 1.25 * bound


def test_fleets_too_late_to_search_still_have_a_bound():
    plan, bound = decompose(program(large(4, skus=4, periods=6)), gap=1e-4, time_limit_s=0.05)
    assert bound > 0
    assert plan is None or shortfalls(plan) == ()


def test_fleets_too_large_for_matrices_are_searched_as_they_are(monkeypatch):
    monkeypatch.setattr(decomposition, "MOST_ENTRIES", 0)
    plan, bound = decompose(program(large(3, skus=3, models=2, periods=6, load=20.0)), gap=0.01, time_limit_s=4.0)
    assert shortfalls(plan) == ()
    assert 0 < bound <= ledger(plan).npv


def test_what_whole_replicas_lack_is_added_and_offers_that_run_out_are_kept_to():
    scenario = large(2, skus=3, models=2, periods=6, load=12.0)
    scenario = replace(scenario, workloads=tuple(replace(w, spare=1) for w in scenario.workloads),
                       offers=tuple(replace(o, supply_per_period=1) if "reserve" in o.id else o
                                    for o in scenario.offers))
    for limit, enough in ((0.4, False), (6.0, True)):
        plan, bound = decompose(program(scenario), gap=1e-4, time_limit_s=limit)
        assert bound > 0
        assert plan is not None or not enough  # a busy machine may find none in so short a time, and then says so
        if plan is not None:
            assert shortfalls(plan) == ()
            assert bound <= ledger(plan).npv


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bought", [False, True])
def test_large_fleets_are_proven_close(seed, bought):
    scenario = large(seed, bought=bought)
    found = optimise(scenario, gap=0.01, time_limit_s=30.0)
    assert shortfalls(found.plan) == ()
    assert found.lower_bound <= found.npv
    assert found.gap <= (0.03 if bought else 0.02)
    relaxed = divisible(scenario, columns(scenario))
    assert found.lower_bound >= solve(relaxed, relaxed.cost, gap=0.0, time_limit_s=9.0, relaxed=True).value * (1 - 1e-6)


@pytest.mark.slow
def test_bounds_and_costs_of_related_fleets_never_cross():
    given = large(7)
    base = optimise(given, gap=0.01, time_limit_s=9.0)
    more = replace(given, offers=(*given.offers, build.rental("new", sku="new", usd_per_gpu_hour=1.5)),
                   candidates=(*given.candidates, *(build.candidate(f"{w.id} new", workload=w.id, sku="new", gpus=2,
                                                                    capacity=1.6) for w in given.workloads)))
    assert optimise(more, gap=0.01, time_limit_s=9.0).lower_bound <= base.npv
    grown = optimise(changes.scale_demand(given, 1.2), gap=0.01, time_limit_s=9.0)
    assert base.lower_bound <= grown.npv
    dear = optimise(changes.scale_parts(given, 2.0, frozenset(CAPITAL_PARTS) | frozenset(RUNNING_PARTS)), gap=0.01,
                    time_limit_s=9.0)
    assert dear.lower_bound <= 2 * base.npv * (1 + 1e-9)
    assert dear.npv >= 2 * base.lower_bound * (1 - 1e-9)
