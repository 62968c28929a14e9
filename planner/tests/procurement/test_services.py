"""Procurement services in process: prices, demand in people's units, measured replicas, ranges, refusals."""

import copy
from datetime import date

import pytest

from planner.bootstrap import Planner
from planner.cli.scenario_input import complete
from planner.config import settings
from planner.core.errors import InvalidQuantity, MissingFact
from planner.services.procurement.money import dollars, finite, to_cent, unit_price
from planner.services.procurement.ranges import check_ranges

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nowhere/none.sqlite3"}))
MEASURED = [{"sku": "h100", "gpus": 4, "max_request_rate": 3.0, "low": 2.4, "high": 3.75}]
BASE = {"currency": "USD", "horizon_months": 6, "catalog_prices": False,
        "workloads": [{"id": "chat", "input_tokens": 1000, "output_tokens": 500, "measured": MEASURED,
                       "demand": {"request_rate": 10}}],
        "prices": [{"sku": "h100", "kind": "on_demand", "price_per_gpu_hour": 2.0, "date": "2026-11",
                    "source": "list"}]}


def asked(workload=None, **parts):
    document = copy.deepcopy(BASE) | parts
    document["workloads"][0] |= workload or {}
    return complete(document)


def answer(workload=None, **parts):
    return PLANNER.procurements.answer(asked(workload, **parts))


def test_a_measured_replica_needs_no_model():
    found = answer()
    # 10 · 1.2 / 3 = 4 replicas of 4 GPUs: two nodes at 16 USD an hour for six months.
    assert found["plan"]["total_usd"] == pytest.approx(2 * 16 * 730.5 * 6)
    assert found["plan"]["replicas"][0]["load_interval_90"] == [2.4, 3.75]
    assert found["plan"]["replicas"][0]["ttft_s"] is None
    assert found["missing"] == []
    assert found["uncertainty"]["gpus_p90"] > 16


def test_doubling_every_price_doubles_the_answer():
    dear = copy.deepcopy(BASE["prices"])
    dear[0]["price_per_gpu_hour"] *= 2
    assert answer(prices=dear)["plan"]["total_usd"] == 2 * answer()["plan"]["total_usd"]


def test_spot_is_derated_and_its_availability_is_an_assumption():
    spot = {"sku": "h100", "kind": "spot", "price_per_gpu_hour": 0.8, "interruption": 0.2, "date": "2026-11",
            "source": "list"}
    found = answer(prices=[*BASE["prices"], spot])
    assert found["best"] == "h100-sxm-80gb spot"
    assert found["plan"]["gpus"]["peak"] == 24
    names = [b["assumption"] for b in found["sensitivity"]["tornado"]]
    assert "availability of h100-sxm-80gb spot" in names


def test_ranges_can_be_set():
    found = answer(ranges={"demand": [0.5, 2.0]})
    bar = next(b for b in found["sensitivity"]["tornado"] if b["assumption"] == "demand")
    assert (bar["low"], bar["high"]) == (0.5, 2.0)
    for bad in ({"weather": [0, 1]}, {"demand": [2, 1]}):
        with pytest.raises(InvalidQuantity):
            check_ranges(bad)


def test_users_who_send_requests_are_a_rate():
    found = answer({"demand": {"users": 1800, "requests_per_user_hour": 6, "weekly_shape": [1, 1, 1, 1, 1, 0.2, 0.2]}})
    asked_of = found["plan"]["workloads"][0]
    assert asked_of["unit"] == "request/s"
    assert asked_of["peak_first"] == 3.0
    assert any("1800 users sending 6 requests" in line for line in found["assumptions"])
    assert found["plan"]["utilization_by_hour"][0]["peak"] > found["plan"]["utilization_by_hour"][0]["mean"]


def test_an_in_flight_share_moves_in_the_tornado():
    document = complete({"currency": "USD", "horizon_months": 1, "candidates": {"skus": ["h100"]}, "workloads": [
        {"model": "llama-3.1-8b", "input_tokens": 1000, "output_tokens": 500, "demand": {"users": 20_000}}]})
    found = PLANNER.procurements.answer(document)
    bar = next(b for b in found["sensitivity"]["tornado"] if b["assumption"] == "in-flight share of users")
    assert (bar["low"], bar["high"]) == (0.5, 1.0)
    assert "garagegeekblog" in bar["source"]
    share = found["plan"]["workloads"][0]["in_flight_share"]
    assert (share["in_flight_low"], share["in_flight"], share["in_flight_high"]) == (1000, 2000, 2000)


def test_everything_through_an_api_has_no_doubt_about_gpus():
    api = {"id": "api", "workload": "chat", "price_per_million_input": 0.001, "price_per_million_output": 0.001}
    found = answer(apis=[api])
    assert found["best"] == "api"
    assert found["uncertainty"] is None
    assert found["plan"]["gpus"]["peak"] == 0
    fleet = PLANNER.fleets.answer(asked(apis=[api]))
    assert fleet["uncertainty"] is None
    free = answer(apis=[api | {"price_per_million_input": 0, "price_per_million_output": 0}])
    assert free["break_even"]["against_api"] == []


def test_the_optimisers_fleet_is_stressed():
    found = PLANNER.fleets.answer(asked(uncertainty={"demand_cv": 0.3}))["uncertainty"]
    assert found["scale_p50"] < found["scale_p90"]
    assert 0 < found["shortfall_probability_by_period"][0] < 1


def test_prices_of_one_kind_keep_names_apart():
    found = answer(prices=[*BASE["prices"], BASE["prices"][0] | {"price_per_gpu_hour": 3.0}])
    assert [o["id"] for o in found["options"]] == ["h100-sxm-80gb on_demand", "h100-sxm-80gb on_demand (2)"]


def test_currencies_are_converted_at_a_dated_rate():
    rate = {"EUR": {"usd": 1.25, "date": "2026-11", "source": "bank"}}
    found = answer(currency="EUR", exchange=rate)
    assert found["plan"]["total_usd"] == 1.25 * answer()["plan"]["total_usd"]
    assert found["prices"][0]["currency"] == "EUR"
    assert found["currency_note"] == ("The scenario states money in EUR; every sum of this answer is in USD, at "
                                      "1 EUR = 1.25 USD (2026-11, bank).")
    assert answer()["currency_note"] is None
    assert PLANNER.fleets.answer(asked(currency="EUR", exchange=rate))["currency_note"] == found["currency_note"]
    assert "GBP" in answer(exchange={"GBP": rate["EUR"]}, prices=[BASE["prices"][0] | {"currency": "GBP"}])[
        "currency_note"]
    with pytest.raises(MissingFact, match="EUR"):
        answer(currency="EUR")


def test_power_and_owners_costs_reach_the_plan():
    buy = {"sku": "h100", "kind": "purchase", "site": "own", "card_price": 25_000, "server_price": 50_000,
           "life_months": 48, "server_power_w": 4600, "support_fraction_per_year": 0.05, "date": "2026-11",
           "staff_price_per_gpu_month": 50, "source": "list", "network_price_per_gpu": 1000}
    site = {"id": "own", "power_price_per_kwh": 0.2, "pue": 1.5, "carbon_kg_per_kwh": 0.4,
            "colocation_price_per_kw_month": 100}
    plan = answer(prices=[buy], sites=[site], power_fraction=0.8)["plan"]
    parts = plan["parts_usd"]
    assert parts["energy"] == pytest.approx(2 * 10.2 * 1.5 * 0.8 * 0.2 * 730.5 * 6, rel=1e-6)
    assert parts["colocation"] == pytest.approx(2 * 10.2 * 100 * 6)
    assert parts["staff"] == pytest.approx(16 * 50 * 6)
    assert parts["support"] == pytest.approx(2 * 258_000 * 0.05 / 2)
    assert parts["network"] == 16_000
    assert plan["power"]["carbon_kg"] == pytest.approx(0.4 * plan["power"]["energy_kwh"], rel=1e-3)
    assert plan["power"]["sites"][0]["peak_kw"] == pytest.approx(2 * 10.2 * 1.5, rel=1e-3)


@pytest.mark.parametrize(("workload", "parts", "error"), [
    ({"demand": {"in_flight": 5}}, {}, MissingFact), ({"measured": [MEASURED[0] | {"max_request_rate": None}]}, {},
                                                     InvalidQuantity),
    ({}, {"workloads": [BASE["workloads"][0]] * 2}, InvalidQuantity),
    ({}, {"ranges": {"weather": [0.0, 1.0]}}, InvalidQuantity),
    ({}, {"prices": [{"sku": "tpu-v5e", "kind": "owned", "units": 1, "site": "own"}]}, MissingFact),
    ({"measured": [], "model": "llama-3.1-8b"}, {"candidates": {"skus": [
        "h100", "h200", "b200", "l4", "l40s", "a100-sxm-80gb"]}, "workloads": [
            BASE["workloads"][0] | {"id": f"w{n}"} for n in range(32)]}, InvalidQuantity)])
def test_questions_that_cannot_be_answered(workload, parts, error):
    with pytest.raises(error):
        answer(workload, **parts)


def test_a_sku_without_a_power_limit_warns_when_rented():
    price = BASE["prices"][0] | {"sku": "tpu-v5e"}
    found = answer({"measured": [MEASURED[0] | {"sku": "tpu-v5e"}]}, prices=[price])
    assert any("no published power limit" in line for line in found["warnings"])
    assert found["plan"]["unit_prices"][0]["joules_per_output_token"] is None


def test_a_measurement_above_the_model_is_doubted():
    found = answer({"model": "llama-3.3-70b", "measured": [MEASURED[0] | {"max_request_rate": 500.0, "low": None,
                                                                        "high": None}]})
    assert any("at most" in line and "measured" in line for line in found["warnings"])


def test_ranges_skip_models_that_are_refused():
    document = complete({"currency": "USD", "workloads": [{"demand": {"users": 100}}], "candidates": {
        "skus": ["a100-sxm-80gb"], "weights": ["fp8"]}})
    found = PLANNER.procurements.answer(document)
    assert found["range"]["gpus_low"] is None
    assert found["range"]["usd_per_month_low"] is None


def test_prices_are_aged_against_the_day_of_the_question():
    old = [BASE["prices"][0] | {"date": "2025"}]
    assert any("is from 2025" in w for w in answer(prices=old, as_of="2026-11-29")["warnings"])
    assert not any("is from" in w for w in answer(prices=old, as_of="2025-12-01")["warnings"])
    assert PLANNER.procurements.today() >= date(2026, 1, 1)


def test_money_is_stated_alike_everywhere():
    assert dollars(123_456) == 1234.56
    assert to_cent(1.005) in {1.0, 1.01}
    assert to_cent(float("inf")) is None
    assert unit_price(0.000123456) == 0.0001235
    assert unit_price(123_456.0) == 123_500.0
    assert unit_price(0.0) == 0.0
    assert unit_price(float("nan")) is None
    assert finite(None) is None
