from dataclasses import replace

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.fleet import changes
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.cost import CENTS, commitment_worth, ledger, rental_worth, site_energy, total_spent
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.offers import CAPITAL_PARTS, RUNNING_PARTS, Stamp
from planner.core.fleet.plan import Plan
from planner.core.fleet.power import Site
from planner.core.fleet.uncertainty import Doubt, monte_carlo, spread
from planner.core.fleet.ways import size_pool, ways
from planner.tests.fleet import build

ALL_PARTS = frozenset(CAPITAL_PARTS) | frozenset(RUNNING_PARTS)


def test_a_month_of_one_rented_node_by_hand():
    scenario = build.scenario(calendar=Calendar(periods=1), offers=(build.rental(usd_per_gpu_hour=2.5),))
    plan = Plan(scenario=scenario, running={"h100 on demand": np.array([3])})
    # 3 nodes · 8 GPUs · 730.5 hours · 2.50 USD.
    assert total_spent(plan) == pytest.approx(43_830.0)
    assert sum(line.cents for line in ledger(plan).lines()) == 4_383_000


def test_a_purchase_by_hand():
    offer = build.purchase(card=30_000.0, server=60_000.0, term=4, residual_fraction=0.2)
    scenario = build.scenario(calendar=Calendar(periods=2), offers=(offer,))
    # 300,000 paid; half its life is over when the horizon ends, so 1 - 0.8 · 0.5 = 60 % is left.
    assert offer.resale(0, scenario.calendar) == pytest.approx(180_000.0)
    energy = 0.2 * 8 * 730.5
    assert commitment_worth(offer, scenario) == pytest.approx([120_000 + 2 * energy, 60_000 + energy])
    plan = Plan(scenario=scenario, acquired={offer.id: np.array([1, 0])})
    assert ledger(plan).npv == pytest.approx(120_000 + 2 * energy)
    assert offer.book_fraction(np.array([0.0, 4.0, 9.0])) == pytest.approx([1.0, 0.2, 0.2])


def test_a_reservation_charges_what_lies_beyond_the_horizon():
    offer = build.reservation(term=3)
    scenario = build.scenario(calendar=Calendar(periods=2), offers=(offer,))
    monthly = 1.5 * 8 * 730.5
    assert commitment_worth(offer, scenario) == pytest.approx([3 * monthly, 3 * monthly])
    assert offer.resale(0, scenario.calendar) == 0.0
    assert offer.active(1, 4).tolist() == [0, 1, 1, 1]


def test_present_value_is_units_times_worth():
    for seed in range(25):
        scenario = build.random_scenario(seed)
        for way in ways(scenario):
            if way.plan is None:
                continue
            worth = 0.0
            for offer in scenario.offers:
                if offer.id in way.plan.acquired:
                    worth += float(commitment_worth(offer, scenario) @ way.plan.acquired[offer.id])
                if offer.id in way.plan.running:
                    worth += float(rental_worth(offer, scenario) @ way.plan.running[offer.id])
            assert way.npv == pytest.approx(worth, rel=1e-12)


def test_totals_equal_the_sum_of_their_parts_to_the_cent():
    for seed in range(40):
        for way in ways(build.random_scenario(seed)):
            if way.plan is None:
                continue
            book = ledger(way.plan)
            exact = sum(float(row.sum()) for row in book.spending.values()) - sum(book.resale.values())
            lines = book.lines()
            assert abs(sum(line.cents for line in lines) - exact * CENTS) <= 0.5 * len(lines) + 0.01
            assert all(line.cents for line in lines)


def test_doubling_every_price_doubles_every_cost():
    for seed in range(25):
        scenario = build.random_scenario(seed)
        scenario = replace(scenario, apis=(ApiOffer(id="api", workload="w0", usd_per_input_token=1e-6,
                                                    usd_per_output_token=3e-6),))
        twice = changes.scale_api(changes.scale_parts(scenario, 2.0, ALL_PARTS), 2.0)
        before = {w.id: w for w in ways(scenario)}
        for way in ways(twice):
            assert way.npv == (None if before[way.id].npv is None else pytest.approx(2 * before[way.id].npv, rel=1e-12))
            if way.plan is None:
                continue
            single, double = ledger(before[way.id].plan), ledger(way.plan)
            for key, row in single.spending.items():
                assert double.spending[key] == pytest.approx(2 * row, rel=1e-12)


def test_energy_counts_rented_and_owned_units():
    scenario = build.scenario(calendar=Calendar(periods=1), power_fraction=0.5, offers=(build.purchase(),),
                              sites=(Site(id="own", pue=1.5), Site(id="cloud")))
    plan = Plan(scenario=scenario, acquired={"h100 bought": np.array([2])})
    # 2 nodes · 5.6 kW · 1.5 · 730.5 h · half load.
    assert site_energy(plan)["own"][0] / 3.6e6 == pytest.approx(2 * 5.6 * 1.5 * 730.5 * 0.5)
    assert site_energy(plan)["cloud"][0] == 0.0


@pytest.mark.parametrize("call", [
    lambda: build.rental(usd_per_gpu_hour=-1.0), lambda: build.rental(availability=0.0), lambda: build.rental(unit=0),
    lambda: build.rental(first_period=-1), lambda: build.purchase(card=-1.0), lambda: build.purchase(term=0),
    lambda: build.purchase(residual_fraction=1.1), lambda: build.purchase(capital={"gold": 1.0}),
    lambda: replace(build.rental(), running={"gold": 1.0}),
    lambda: build.scenario(offers=(build.rental(), build.rental())), lambda: build.scenario(workloads=()),
    lambda: build.scenario(offers=(build.rental(site="nowhere"),)),
    lambda: build.scenario(candidates=(build.candidate(workload="nobody"),)),
    lambda: build.scenario(apis=(ApiOffer(id="a", workload="nobody", usd_per_input_token=1.0,
                                          usd_per_output_token=1.0),)),
    lambda: build.candidate(gpus=0), lambda: build.candidate(capacity=0.0), lambda: build.workload(headroom=-0.1),
    lambda: build.workload(spot_share=1.5), lambda: build.workload(rate_per_load=0.0)])
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidQuantity):
        call()


def test_a_stamp_names_its_currency():
    assert Stamp(date="2026-11", source="list price").currency == "USD"


def test_spot_capacity_counts_only_while_it_is_there():
    scenario = build.scenario(offers=(build.rental("spot", terms="spot", firm=False, availability=0.8),))
    # 10 / (3.0 · 0.8) = 4.2 replicas of 4 GPUs: three nodes instead of two.
    assert next(w for w in ways(scenario) if w.kind == "spot").plan.running["spot"].tolist() == [3] * 4


def test_a_lognormal_interval():
    assert spread(80.0, 100.0, 125.0) == pytest.approx(np.log(1.25) / 1.6448536269514722)
    assert spread(None, 1.0, None) == 0.0
    with pytest.raises(InvalidQuantity):
        spread(2.0, 1.0, 3.0)
    scenario = build.scenario()
    plan = next(w for w in ways(scenario) if w.kind == "rent").plan
    for doubt, draws in ((Doubt(), 0), (Doubt(demand_cv=-1), 1)):
        with pytest.raises(InvalidQuantity):
            monte_carlo(plan, size_pool(scenario, 0), doubt, draws=draws, seed=1)
