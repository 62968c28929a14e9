"""Sizes procurement is asked to keep, and the work they take; its seconds are figures of benchmarks/run.py."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from planner.bootstrap import Planner
from planner.cli.scenario_input import complete
from planner.config import settings
from planner.core.fleet import changes
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.optimise import optimise
from planner.core.fleet.sensitivity import Assumption, tornado
from planner.core.fleet.ways import ways
from planner.tests.effort import lines
from planner.tests.fleet import build


def large(periods, months):
    """Three models on eight SKUs with six layouts each, every SKU to rent, reserve or buy."""
    rng = np.random.default_rng(11)
    loads = tuple(build.workload(f"w{i}", peak=float(rng.uniform(20, 60)), growth=0.03, headroom=0.2) for i in range(3))
    candidates, offers = [], []
    for s in range(8):
        price, speed = 1.0 + 0.5 * s, (1.0 + 0.5 * s) * float(rng.uniform(0.8, 1.2))
        offers += [build.rental(f"s{s} rent", sku=f"s{s}", usd_per_gpu_hour=price),
                   build.reservation(f"s{s} reserve", sku=f"s{s}", usd_per_gpu_hour=0.65 * price, term=12 // months),
                   build.purchase(f"s{s} buy", sku=f"s{s}", card=9_000 * price, term=60 // months)]
        for load in loads:
            for gpus in (1, 2, 4):
                for weights, gain in (("bf16", 1.0), ("fp8", 1.6)):
                    candidates.append(build.candidate(
                        f"{load.id} s{s} {gpus} {weights}", workload=load.id, sku=f"s{s}", gpus=gpus,
                        capacity=speed * gain * gpus**0.95))
    return build.scenario(calendar=Calendar(periods=periods, months_per_period=months, discount_rate=0.08),
                          workloads=loads, candidates=tuple(candidates), offers=tuple(offers))


CARDS = {"h100": (25_000, 1.9), "h200": (31_000, 2.4), "b200": (42_000, 3.7), "mi300x": (16_000, 1.7),
         "l40s": (8_500, 1.0)}
"""Card price [USD] and reserved rent [USD per GPU-hour]: planning figures."""
LOADS = (("llama-3.3-70b", 12.0, 3000, 500), ("qwen3-32b", 20.0, 2000, 400), ("llama-3.1-8b", 80.0, 1000, 200))
"""Model, requests per second, prompt and answer tokens."""


@pytest.mark.slow
def test_twelve_quarters_of_three_models_on_eight_skus():
    prices = [{"sku": "mi300x", "kind": "on_demand", "price_per_gpu_hour": 2.4}]
    for sku, (card, rent) in CARDS.items():
        prices += [{"sku": sku, "kind": "purchase", "site": "own", "card_price": card, "server_price": 60_000,
                    "life_months": 60, "residual_fraction": 0.1},
                   {"sku": sku, "kind": "reserved", "price_per_gpu_hour": rent, "term_months": 12}]
    document = complete({
        "currency": "USD", "horizon_months": 36, "months_per_period": 3, "cost_of_capital": 0.08, "prices": prices,
        "workloads": [{"id": model, "model": model, "input_tokens": prompt, "output_tokens": answer,
                       "slo": {"ttft_s": 2.0, "tpot_s": 0.05},
                       "demand": {"request_rate": rate, "growth_per_month": 0.03}}
                      for model, rate, prompt, answer in LOADS],
        "candidates": {"skus": [*CARDS, "a100-sxm-80gb", "l4", "gh200-96gb"], "weights": ["bf16", "fp8"],
                       "tensor_parallel": [1, 2, 4]}})
    planner = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nowhere/none.sqlite3"}))
    scenario = planner.fleets.reader.read(document, planner.fleets.today(), "default").scenario
    assert columns(scenario).count < 800  # solved whole, in seconds; the limit is for machines many times slower
    answer = optimise(scenario, gap=0.01, time_limit_s=60.0)
    assert answer.gap <= 0.01
    assert shortfalls(answer.plan) == ()
    assert answer.npv == pytest.approx(ledger(answer.plan).npv)


def test_four_times_the_months_are_hardly_more_work():
    scenario = large(36, 1)
    found = ways(scenario)
    assert len([w for w in found if w.works]) >= 24
    assert lines(lambda: ways(scenario)) < 1.5 * lines(lambda: ways(large(9, 1)))
    assert lines(lambda: ways(scenario)) < 15_000 * len(found)


def test_a_whatif_of_three_years_is_not_three_of_one():
    def asked(months):
        prices = [{"sku": "h200", "kind": "purchase", "site": "own", "card_price": 31_000, "server_price": 60_000,
                   "life_months": 60, "residual_fraction": 0.1}]
        return complete({
            "currency": "USD", "horizon_months": months, "cost_of_capital": 0.08, "prices": prices,
            "workloads": [{"id": "chat", "model": "llama-3.3-70b", "input_tokens": 3000, "output_tokens": 500,
                           "slo": {"ttft_s": 2.0, "tpot_s": 0.05}, "spare_replicas": 1,
                           "demand": {"request_rate": 8, "growth_per_month": 0.03, "peak_to_mean": 1.5}}],
            "candidates": {"skus": ["h100", "h200"]},
            "sites": [{"id": "own", "power_price_per_kwh": 0.1, "pue": 1.3, "power_cap_kw": 300}]})

    planner = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nowhere/none.sqlite3"}))
    assert planner.procurements.answer(asked(36))["best"] is not None  # models and chips have been read
    one, three = (lines(partial(planner.procurements.answer, asked(months))) for months in (12, 36))
    assert three < 2.5 * one
    assert three < 900_000


def test_twenty_assumptions_are_forty_ledgers():
    scenario = large(36, 1)
    best = next(w for w in ways(scenario) if w.works)

    asked = []

    def cost(changed):
        asked.append(changed)
        return ways(changed, only=[best.id])[0].npv

    moved = [Assumption(name=str(n), unit="×", base=1.0, low=0.8, high=1.2, change=changes.scale_demand)
             for n in range(20)]
    bars = tornado(scenario, moved, cost)
    assert (len(bars), len(asked)) == (20, 40)
    assert lines(lambda: cost(changes.scale_demand(scenario, 1.2))) < 0.2 * lines(lambda: ways(scenario))
    assert bars[0].at_low < bars[0].at_high


def test_prices_alone_never_cut_the_demand_again():
    scenario = large(36, 1)
    dear = changes.scale_parts(scenario, 2.0, frozenset({"rent"}))
    assert dear.moments is scenario.moments
    assert replace(scenario, blocks=1).moments is scenario.moments
