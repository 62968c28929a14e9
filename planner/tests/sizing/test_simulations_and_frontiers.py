"""Simulations, frontiers and what-ifs of catalogued configurations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.core.errors import InvalidQuantity, MissingFact
from planner.services.frontier.reading import frontier_question
from planner.services.plan.question import Deployment
from planner.services.plan.reading import question_of
from planner.services.simulation.question import law_from, simulation_question
from planner.tests.sizing.test_sizing import PLANNER

PLAN = {"model": "llama-3.1-8b", "sku": "h100-sxm-80gb", "deployment": {"tensor_parallel": 1},
        "workload": {"input_tokens": 500.0, "output_tokens": 100.0, "request_rate": 8.0}}
CLOSED = {**PLAN, "workload": {"input_tokens": 500.0, "output_tokens": 100.0, "concurrency": 16.0}}


def simulate(**fields):
    return PLANNER.simulations.answer(simulation_question({"plan": PLAN, "requests": 600, **fields}))


def test_a_simulation_agrees_with_its_closed_form():
    found = simulate(requests=3000)
    assert found["ttft_s"]["mean"] == pytest.approx(found["closed_form"]["ttft_s"], rel=0.15)
    assert found["itl_s"]["mean"] == pytest.approx(found["closed_form"]["itl_s"], rel=0.1)
    assert found["verdict"].startswith("Stable")
    assert found["series"]["time_s"] == sorted(found["series"]["time_s"])


def test_overload_is_answered_with_the_rate_it_could_take():
    heavy = {**PLAN, "workload": {**PLAN["workload"], "request_rate": 900.0}}
    found = simulate(plan=heavy, requests=3000)
    assert found["verdict"].startswith("Overloaded")
    assert f"{found['closed_form']['max_request_rate']:.3g}" in found["verdict"]
    near = {**PLAN, "workload": {**PLAN["workload"], "request_rate": 0.93 * found["closed_form"]["max_request_rate"]}}
    assert simulate(plan=near)["verdict"].startswith(("Near", "Overloaded"))


def test_benchmarks_traces_laws_and_replicas():
    assert simulate(plan=CLOSED, mode="benchmark", requests=160)["finished"] == 160
    assert simulate(plan=CLOSED)["requests"] == 600
    trace = "time,input,output\n" + "\n".join(f"{i / 8},{400 + i},{50}" for i in range(300))
    assert simulate(mode="trace", trace=trace)["finished"] == 300
    found = simulate(replicas=2, router="least_loaded", input_law={"kind": "uniform", "low": 100.0, "high": 900.0},
                     output_law={"kind": "empirical", "points": [1.0, 200.0], "cumulative": [0.0, 1.0]})
    assert found["requests"] == 600


def test_simulations_that_make_no_sense_are_refused():
    for fields in ({"mode": "benchmark"}, {"mode": "trace"}, {"requests": 10_000_000},
                   {"input_law": {"kind": "fixed"}}, {"plan": {**PLAN, "model": "llama-3.1-405b"}}):
        with pytest.raises(InvalidQuantity):
            simulate(**fields)
    assert law_from({"kind": "lognormal", "mean": 10.0, "cv": 1.0}, "x").mean == 10.0
    assert law_from({"kind": "fixed", "tokens": 10.0}, "x").tokens == 10.0


def frontier(**fields):
    return PLANNER.frontiers.answer(frontier_question({
        "model": "llama-3.1-8b", "skus": ["h100-sxm-80gb"],
        "workload": {"input_tokens": 1000.0, "output_tokens": 500.0}, **fields}))


def test_a_frontier_trades_speed_for_throughput():
    found = frontier()
    best = sorted((p for p in found["points"] if p["pareto"]), key=lambda p: p["tokens_per_s_per_user"])
    assert len(best) > 4
    rates = [p["output_tokens_per_s_per_gpu"] for p in best]
    assert rates == sorted(rates, reverse=True)
    assert len(best) < len(found["points"])


def test_a_frontier_keeps_to_its_layouts_and_prices():
    layout = {"tensor_parallel": 2, "pipeline_parallel": 1, "data_parallel": 1, "expert_parallel": 1}
    found = frontier(layouts=[layout], concurrency=[4, 32], formats=["fp8"], usd_per_gpu_hour={"h100-sxm-80gb": 2.0})
    assert {p["concurrency"] for p in found["points"]} == {4.0, 32.0}
    assert {p["deployment"]["tensor_parallel"] for p in found["points"]} == {2}
    assert all(p["usd_per_million_output_tokens"] > 0 for p in found["points"])


def test_pools_drafts_and_prefixes():
    question = question_of(PLAN)
    pools = PLANNER.whatifs.disaggregation(question, 40.0, 4, None, (None, 0.0))
    assert [r["prefill_replicas"] for r in pools["ratios"]]
    assert pools["transfer_s"] > 0
    assert pools["colocated"]["stable"]
    wide = PLANNER.whatifs.disaggregation(question, 40.0, 4, Deployment(tensor_parallel=2), (1e11, 0.001))
    assert all(r["gpus"] <= 4 for r in wide["ratios"])
    draft = PLANNER.whatifs.speculation(question, 3, 0.7, None, 0.05)
    assert draft["accepted_tokens"] == pytest.approx((1 - 0.7**4) / 0.3)
    assert draft["speed_up"][0] > 1.3
    assert draft["verdict"]
    assert PLANNER.whatifs.speculation(question, 3, None, 1.0, 1.0)["break_even_batch"] is None
    rows = PLANNER.whatifs.prefix(question, [0.5, 0.9], 4, 2.0)["rows"]
    assert rows[1]["ttft_after"] < rows[0]["ttft_after"] < rows[0]["ttft_before"]
    assert rows[1]["hit_without_prefix_routing"] < 0.9


def test_what_ifs_without_an_answer_are_refused():
    question = question_of(PLAN)
    with pytest.raises(InvalidQuantity):
        PLANNER.whatifs.speculation(question, 3, None, None, 0.0)
    with pytest.raises(InvalidQuantity):
        PLANNER.whatifs.prefix(question_of(CLOSED), [0.5], 1, 1.0)
    with pytest.raises(InvalidQuantity):
        PLANNER.whatifs.disaggregation(question, 1.0, 1, None, (None, 0.0))
    with pytest.raises(InvalidQuantity):
        PLANNER.whatifs.disaggregation(replace(question, model="llama-3.1-405b"), 1.0, 8, None, (None, 0.0))
    with pytest.raises(MissingFact):
        PLANNER.whatifs.disaggregation(replace(question, sku="l40s-48gb"), 1.0, 4, None, (None, 0.0))


def test_a_simulation_that_would_never_end_is_refused():
    endless = {**PLAN, "deployment": {"tensor_parallel": 1, "max_num_batched_tokens": 1}}
    with pytest.raises(InvalidQuantity, match="too long"):
        simulate(plan=endless, requests=1_000_000)
