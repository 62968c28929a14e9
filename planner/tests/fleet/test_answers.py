from dataclasses import replace

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.fleet import changes
from planner.core.fleet.attribution import attribute, drivers
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.cost import ledger, requests
from planner.core.fleet.demand import Demand
from planner.core.fleet.economics import margins, unit_prices, utilization_by_hour
from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.payback import (
    book_value,
    break_even_month,
    break_even_utilization,
    cumulative_spending,
    net_spending,
)
from planner.core.fleet.power import Site
from planner.core.fleet.scenario import Limits
from planner.core.fleet.sensitivity import Assumption, Piece, price_crossover, tornado, two_way
from planner.core.fleet.uncertainty import Doubt, monte_carlo
from planner.core.fleet.ways import size_pool, ways
from planner.tests.fleet import build


def named(scenario, kind):
    return next(w for w in ways(scenario) if w.kind == kind)


def test_unit_prices_by_hand():
    # 4 GPUs at 2.50 an hour making 700 output tokens/s: 10 / (700 · 3600) · 1e6 = 3.968 USD per million.
    scenario = build.scenario(
        calendar=Calendar(periods=1), workloads=(build.workload(peak=1.0, input_tokens=1.0, output_tokens=700.0),),
        candidates=(build.candidate(capacity=1.0, prefill_gpu_s=0.0, decode_gpu_s=4.0),),
        offers=(build.rental(unit=4, usd_per_gpu_hour=2.5),))
    prices, = unit_prices(named(scenario, "rent").plan)
    assert prices.usd_per_million_output == pytest.approx(10 / (700 * 3600) * 1e6, rel=1e-12)
    assert prices.usd_per_million_input == 0.0
    idle = replace(scenario, workloads=(replace(scenario.workloads[0], demand=Demand(
        hourly=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))),))
    tenth, = unit_prices(named(idle, "rent").plan)
    assert tenth.usd_per_million_output == pytest.approx(10 * prices.usd_per_million_output, rel=1e-12)


def test_input_and_output_prices_share_the_cost():
    scenario = build.scenario(candidates=(build.candidate(prefill_gpu_s=1.0, decode_gpu_s=3.0),))
    plan = named(scenario, "rent").plan
    prices, = unit_prices(plan)
    count = float(requests(scenario, "chat").sum())
    paid = prices.usd_per_million_input * count * 1000 / 1e6 + prices.usd_per_million_output * count * 500 / 1e6
    assert paid == pytest.approx(prices.usd) == pytest.approx(ledger(plan).npv, rel=0.05)
    assert prices.usd_per_million_input * 1000 * 3 == pytest.approx(prices.usd_per_million_output * 500)
    assert prices.usd_per_request == pytest.approx(prices.usd / count)
    unsplit, = unit_prices(named(build.scenario(), "rent").plan)
    assert unsplit.usd_per_million_input is None


def test_workloads_split_a_shared_fleet():
    scenario = build.scenario(
        workloads=(build.workload("a", peak=9.0), build.workload("b", peak=3.0)),
        candidates=(build.candidate("x", workload="a"), build.candidate("y", workload="b")))
    plan = named(scenario, "rent").plan
    parts = unit_prices(plan)
    assert sum(p.usd for p in parts) == pytest.approx(sum(float(r.sum()) for r in ledger(plan).spending.values()))
    assert parts[0].usd == pytest.approx(3 * parts[1].usd)


def test_an_api_way_has_token_prices_and_no_joules():
    api = ApiOffer(id="api", workload="chat", usd_per_input_token=1e-6, usd_per_output_token=4e-6)
    scenario = build.scenario(apis=(api,))
    way = named(scenario, "api")
    prices, = unit_prices(way.plan)
    assert prices.usd_per_request == pytest.approx(1000e-6 + 500 * 4e-6)
    assert prices.joules_per_output_token is None
    assert prices.usd_per_million_output is None
    with pytest.raises(InvalidQuantity, match="no replicas"):
        utilization_by_hour(way.plan, "chat", 0)


def test_break_even_is_the_last_crossing():
    scenario = build.scenario(calendar=Calendar(periods=36))
    own, rent = named(scenario, "buy").plan, named(scenario, "rent").plan
    month = break_even_month(own, rent)
    # 2 nodes: 600,000 paid against (2.00 - 0.20) · 16 · 730.5 saved a month.
    assert month == pytest.approx(600_000 / (1.8 * 16 * 730.5))
    assert break_even_month(rent, own) is None
    assert break_even_month(rent, rent) == 0.0
    growing = replace(scenario, workloads=(build.workload(peak=10.0, growth=0.03),))
    late = break_even_month(named(growing, "buy").plan, named(growing, "rent").plan)
    assert late is None or late >= month
    spent = cumulative_spending(own)
    assert spent[0].tolist() == [0.0, 600_000.0]


def test_a_purchase_exactly_at_the_crossing_counts_from_its_period():
    scenario = build.scenario(calendar=Calendar(periods=3), offers=(build.rental(), build.purchase(running={})))
    rent = replace(named(scenario, "rent").plan, running={"h100 on demand": np.array([30, 0, 0])})
    own = replace(named(scenario, "buy").plan, acquired={"h100 bought": np.array([1, 0, 0])})
    month = break_even_month(own, rent)
    assert month == pytest.approx(300_000 / (30 * 2.0 * 8 * 730.5))


def test_break_even_utilisation_against_an_api():
    # 10 USD/h against 2 requests/s at 0.005 USD: 36 USD/h at full use.
    assert break_even_utilization(10 / 3600, 2.0, 0.005) == pytest.approx(10 / 36)


def test_what_breaks_first():
    scenario = build.scenario(
        sites=(Site(id="cloud"), Site(id="own", power_cap_w=12_000.0)), limits=Limits(gpus=64, budget_usd=1e7),
        offers=(build.purchase(supply_total=5),))
    found = {m.limit: m.factor for m in margins(named(scenario, "buy").plan)}
    assert found["capacity for chat"] == pytest.approx(1.2)
    assert found["power of own"] == pytest.approx(12_000 / 11_200)
    assert found["max_gpus"] == 4.0
    assert found["supply of h100 bought"] == 2.5
    assert min(found, key=found.get) == "power of own"


def test_utilisation_by_hour():
    scenario = build.scenario(workloads=(replace(build.workload(), demand=Demand(hourly=np.array([10.0, 5.0]))),))
    plan = named(scenario, "rent").plan
    assert utilization_by_hour(plan, "chat", 0) == pytest.approx([10 / 12, 5 / 12])


def test_attribution_adds_up_and_finds_the_cause():
    scenario = build.scenario()
    before = named(scenario, "rent").plan
    dearer = named(changes.scale_parts(scenario, 1.5, frozenset({"rent"})), "rent").plan
    parts = attribute(before, dearer)
    assert sum(parts.values()) == pytest.approx(drivers(dearer).usd - drivers(before).usd)
    assert parts["price"] == pytest.approx(sum(parts.values()))
    slower = named(changes.scale_capacity(scenario, 0.5), "buy").plan
    parts = attribute(before, slower)
    assert sum(parts.values()) == pytest.approx(drivers(slower).usd - drivers(before).usd)
    assert parts["performance"] > 0
    assert parts["power"] == pytest.approx(drivers(slower).energy_usd)
    assert attribute(before, before) == pytest.approx(dict.fromkeys(parts, 0.0))


def rent_of(scenario):
    return next(w for w in ways(scenario, only=["h100 on demand"])).npv


def test_tornado_puts_what_matters_first():
    scenario = build.scenario()
    bars = tornado(scenario, (
        Assumption(name="price", unit="1", base=1.0, low=0.8, high=1.2,
                   change=lambda s, f: changes.scale_parts(s, f, frozenset({"rent"}))),
        Assumption(name="growth", unit="1/month", base=0.0, low=0.0, high=0.3, change=changes.set_growth),
        Assumption(name="residual", unit="1", base=0.1, low=0.0, high=0.4, change=changes.set_residual),
        Assumption(name="headroom", unit="1", base=0.0, low=0.0, high=0.1, change=changes.set_headroom),
        Assumption(name="discount", unit="1/year", base=0.08, low=0.0, high=0.2, change=changes.set_discount)), rent_of)
    assert bars[0].assumption.name == "growth"
    assert bars[-1].swing == 0.0
    assert {b.assumption.name: b for b in bars}["price"].at_high == pytest.approx(1.2 * rent_of(scenario))


def test_two_way_tables_agree_with_single_questions():
    scenario = build.scenario()
    price = Assumption(name="price", unit="1", base=1, low=0, high=2,
                       change=lambda s, f: changes.scale_parts(s, f, frozenset({"rent"})))
    demand = Assumption(name="demand", unit="1", base=1, low=0, high=2, change=changes.scale_demand)
    table = two_way(scenario, (price, [1.0, 2.0]), (demand, [0.5, 1.0, 2.0]), rent_of)
    assert table.shape == (2, 3)
    assert table[1] == pytest.approx(2 * table[0])
    assert table[0, 1] == pytest.approx(rent_of(scenario))


def test_the_price_crossover_is_exact():
    pieces = [Piece(constant=0.0, slope=10.0), Piece(constant=30.0, slope=4.0), Piece(constant=60.0, slope=1.0)]

    def at(price):
        return min(pieces, key=lambda p: p.constant + p.slope * price)

    assert price_crossover(at, 46.0, 100.0) == 4.6
    assert price_crossover(at, 62.0, 100.0) == 8.0
    assert price_crossover(at, 20.0, 100.0) == 2.0
    assert price_crossover(at, 20.0, 0.01) == 2.0
    assert price_crossover(at, 75.0, 1.0) == 15.0
    assert price_crossover(lambda _: Piece(constant=50.0, slope=1.0), 40.0, 1.0) is None
    assert price_crossover(lambda _: Piece(constant=50.0, slope=0.0), 60.0, 1.0) is None


def sized(scenario):
    return size_pool(scenario, 0)


@pytest.mark.parametrize("kind", ["rent", "buy", "own_base"])
def test_no_doubt_reproduces_the_plan(kind):
    scenario = build.scenario(workloads=(build.workload(growth=0.05),))
    way = named(scenario, kind)
    draws = monte_carlo(way.plan, sized(scenario), Doubt(), draws=5, seed=1)
    assert draws.npv == pytest.approx(way.npv)
    assert draws.quantile(0.5)[0] == way.plan.gpus().max()
    assert draws.short.tolist() == [0.0] * 4


@pytest.mark.parametrize("kind", ["rent", "buy", "own_base"])
def test_doubt_widens_and_repeats(kind):
    scenario = build.scenario(workloads=(build.workload(peak=100.0),),
                              candidates=(build.candidate(capacity_low=2.4, capacity_high=3.75),))
    way = named(scenario, kind)
    doubt = Doubt(demand_cv=0.3, growth_sd=0.02)
    first = monte_carlo(way.plan, sized(scenario), doubt, draws=400, seed=7)
    again = monte_carlo(way.plan, sized(scenario), doubt, draws=400, seed=7)
    assert (first.npv == again.npv).all()
    assert first.quantile(0.9)[0] > first.quantile(0.5)[0]
    assert first.quantile(0.9)[1] > first.quantile(0.5)[1]
    assert 0.2 < first.short[0] < 0.8
    assert (monte_carlo(way.plan, sized(scenario), doubt, draws=400, seed=8).npv != first.npv).any()


def test_inventory_and_spot_are_used_before_rent():
    owned = replace(build.rental("old nodes", usd_per_gpu_hour=0.1, supply_total=1), terms="owned")
    scenario = build.scenario(offers=(owned, build.rental()))
    way = named(scenario, "rent")
    assert way.id == "old nodes + h100 on demand"
    assert way.plan.running["old nodes"].tolist() == [1] * 4
    draws = monte_carlo(way.plan, sized(scenario), Doubt(), draws=3, seed=1)
    assert draws.npv == pytest.approx(way.npv)
    alone = named(scenario, "inventory")
    assert not alone.works
    assert alone.broken


def test_a_sku_without_a_layout_says_so():
    scenario = build.scenario(offers=(build.rental(), build.rental("l4", sku="l4")))
    lost = next(w for w in ways(scenario) if w.sku == "l4")
    assert lost.plan is None
    assert "no layout" in lost.broken[0]


def test_reservations_renew_when_their_term_ends():
    scenario = build.scenario(calendar=Calendar(periods=6), offers=(build.rental(), build.reservation(term=2)))
    assert named(scenario, "reserve").plan.acquired["h100 reserved"].tolist() == [2, 0, 2, 0, 2, 0]
    assert named(scenario, "reserve_base").npv <= named(scenario, "rent").npv


def test_counting_book_value_buying_pays_sooner():
    scenario = build.scenario(calendar=Calendar(periods=36))
    own, rent = named(scenario, "buy").plan, named(scenario, "rent").plan
    # Straight line from 600,000 to 60,000 over 48 months: 11,250 a month are used up, plus energy.
    assert book_value(own)[1] == pytest.approx([588_750.0, 588_750.0])
    assert book_value(own)[0] == pytest.approx([0.0, 600_000.0])
    assert net_spending(own)[12, 0] == pytest.approx(12 * (11_250 + 0.2 * 16 * 730.5))
    assert book_value(rent).max() == 0.0
    assert break_even_month(own, rent, net_spending) < break_even_month(own, rent)


def test_cost_without_price_cannot_be_attributed():
    scenario = build.scenario(offers=(replace(build.rental(usd_per_gpu_hour=0.0), running={"energy": 1e-4}),
                                      build.rental("other")))
    free, paid = (w.plan for w in ways(scenario, only=["h100 on demand"]) + ways(scenario, only=["other"]))
    with pytest.raises(InvalidQuantity, match="nothing but energy"):
        attribute(free, paid)


def test_a_base_respects_the_power_and_racks_of_its_site():
    scenario = build.scenario(
        calendar=Calendar(periods=36), workloads=(build.workload(peak=40.0),),
        sites=(Site(id="cloud"), Site(id="own", power_cap_w=5 * 5_600.0, rack_cap=2)),
        offers=(build.rental(), build.purchase(units_per_rack=2)))
    way = named(scenario, "own_base")
    assert way.works
    assert way.plan.acquired["h100 bought"].sum() == 4
    assert way.plan.running["h100 on demand"].max() == 3
    assert not named(scenario, "buy").works


def test_broken_promises_are_named():
    scenario = build.scenario(
        limits=Limits(gpus=8, budget_usd=1_000.0, capital_usd=1_000.0),
        sites=(Site(id="cloud"), Site(id="own", power_cap_w=1_000.0, rack_cap=1)),
        offers=(build.purchase(supply_total=1, units_per_rack=1), build.rental(supply_total=1)))
    buy, rent = named(scenario, "buy"), named(scenario, "rent")
    assert set(buy.broken) == {"supply of h100 bought", "power of own", "racks of own", "max_gpus", "budget",
                               "capital budget"}
    assert set(rent.broken) == {"supply of h100 on demand", "max_gpus", "budget"}
    late = build.scenario(offers=(build.purchase(first_period=2),))
    assert named(late, "buy").broken == ("units of h100×8 @ any site",)
    early = replace(named(build.scenario(), "rent").plan, scenario=build.scenario(offers=(
        build.rental(first_period=1), build.purchase())))
    assert shortfalls(early) == ("lead time of h100 on demand",)
    spot = build.scenario(workloads=(build.workload(spot_share=0.5),),
                          offers=(build.rental("spot", terms="spot", firm=False),))
    assert named(spot, "spot").broken
