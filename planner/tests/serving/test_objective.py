"""Objectives, frontiers, drafts, prefixes and pools."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.serving.disaggregation import PoolKind, evaluate, prefill_capacity, search
from planner.core.serving.frontier import pareto
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.objective import Objective, at_percentile, largest, largest_rate, meets, operate, replicas_for
from planner.core.serving.percentiles import lognormal_quantile, normal_quantile
from planner.core.serving.policy import SGLANG, VLLM, ServingLimits
from planner.core.serving.prefix import hit_over_replicas, prefix_effect
from planner.core.serving.speculation import Speculation, accepted_tokens, speculation_curve
from planner.core.serving.steady_state import VALID_LOAD
from planner.tests.serving.steps import large, small

LENGTHS = RequestLengths(input_tokens=1000.0, output_tokens=300.0, input_cv=0.5, output_cv=0.5)
LIMITS = ServingLimits(kv_capacity_tokens=400_000.0)


@pytest.mark.parametrize(("objective", "binding"), [
    (Objective(ttft=0.25), "ttft"), (Objective(tpot=0.03), "tpot"), (Objective(ttft=10.0, tpot=10.0), None)])
def test_the_largest_rate_just_keeps_the_objective(objective, binding):
    best = largest_rate(large(), LENGTHS, VLLM, LIMITS, objective)
    assert meets(best, objective)
    if binding:
        assert getattr(best, binding) == pytest.approx(getattr(objective, binding), rel=1e-3)
        assert not meets(operate(large(), LENGTHS, VLLM, LIMITS, best.rate * 1.01, 0.95), objective)
    else:
        assert best.rate == pytest.approx(VALID_LOAD * float(best.steady.max_request_rate))


def test_an_objective_out_of_reach_leaves_no_rate():
    best = largest_rate(large(), LENGTHS, VLLM, LIMITS, Objective(tpot=1e-3))
    assert best.rate == 0.0
    assert best.tpot > 1e-3


def test_percentiles_lie_on_the_known_ones():
    latency = operate(large(), LENGTHS, VLLM, LIMITS, 3.0, 0.95).steady.latency
    assert at_percentile(latency, 0.95)[0] == pytest.approx(float(latency.ttft_p95), rel=1e-3)
    assert at_percentile(latency, 0.99)[0] == pytest.approx(float(latency.ttft_p99), rel=2e-3)
    assert at_percentile(latency, 0.5)[1] == pytest.approx(float(latency.tpot_p50), rel=1e-3)
    saturated = operate(large(), LENGTHS, VLLM, LIMITS, 100.0, 0.95)
    assert math.isinf(saturated.ttft)
    assert not meets(saturated, Objective())


@pytest.mark.parametrize("fields", [{"ttft": 0.0}, {"tpot": math.nan}, {"percentile": 0.3}, {"percentile": 1.0}])
def test_objectives_without_meaning_are_refused(fields):
    with pytest.raises(InvalidQuantity):
        Objective(**fields)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 99.0))
def test_bisection_finds_the_edge(edge):
    found = largest(lambda x: x <= edge, 0.0, 100.0)
    assert found <= edge
    assert found == pytest.approx(edge, abs=1e-3)
    assert largest(lambda _: True, 0.0, 100.0) == 100.0


@settings(max_examples=200, deadline=None)
@given(st.floats(0.001, 1e4), st.floats(0.001, 1e3))
def test_replicas_carry_the_demand_and_one_fewer_does_not(demand, each):
    count = replicas_for(demand, each)
    assert count * each >= demand * (1 - 1e-6)
    assert count == 1 or (count - 1) * each < demand
    assert replicas_for(3 * each, each) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40))
def test_pareto_marks_what_nothing_beats(points):
    x, y = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    marks = pareto(x, y)
    for i in range(x.size):
        beaten = any(x[j] >= x[i] and y[j] >= y[i] and (x[j] > x[i] or y[j] > y[i]) for j in range(x.size))
        twin = any(x[j] == x[i] and y[j] == y[i] for j in range(i))
        assert marks[i] == (not beaten and not twin)


def test_pareto_leaves_out_what_is_not_a_number():
    assert pareto(np.array([1.0, np.nan, 0.5]), np.array([1.0, 9.0, 2.0])).tolist() == [True, False, True]


def test_accepted_tokens_are_a_geometric_sum():
    """Leviathan et al. 2023, eq. 1: α = 0.8, γ = 5 gives (1 - 0.8⁶)/0.2 = 3.689."""
    assert float(accepted_tokens(0.8, 5)) == pytest.approx(3.68928)
    assert float(accepted_tokens(1.0, 5)) == 6.0
    assert float(accepted_tokens(0.0, 5)) == 1.0
    with pytest.raises(InvalidQuantity):
        accepted_tokens(1.2, 3)


def test_a_draft_pays_until_compute_binds():
    draft = Speculation(draft_tokens=3, accepted=2.5, draft_time_s=1e-3)
    curve = speculation_curve(large(), LENGTHS, VLLM, LIMITS, draft, np.arange(1.0, 1500.0, 7.0))
    assert curve.speed_up[0] > 1.5
    assert curve.break_even_batch is not None
    assert 20 < curve.break_even_batch < 1500
    assert np.interp(curve.break_even_batch, curve.batch, curve.speed_up) == pytest.approx(1.0, abs=0.01)
    few = speculation_curve(large(), LENGTHS, VLLM, LIMITS, draft, np.array([1.0, 2.0]))
    assert math.isinf(few.break_even_batch)
    bad = Speculation(draft_tokens=3, accepted=1.0, draft_time_s=5e-3)
    assert speculation_curve(large(), LENGTHS, VLLM, LIMITS, bad, np.array([1.0, 2.0])).break_even_batch is None
    with pytest.raises(InvalidQuantity):
        Speculation(draft_tokens=2, accepted=3.5, draft_time_s=0.0)


def test_prefix_hits_save_time_and_raise_the_rate():
    effect = prefix_effect(large(), LENGTHS, VLLM, LIMITS, 4.0, 0.8)
    assert effect.ttft_after < 0.7 * effect.ttft_before
    assert effect.max_rate_after > effect.max_rate_before


def test_hits_thin_out_over_replicas():
    assert hit_over_replicas(0.6, 1, 3.0) == 0.6
    assert hit_over_replicas(0.6, 4, 1.0) == pytest.approx(0.15)
    assert hit_over_replicas(0.6, 4, 8.0) < hit_over_replicas(0.6, 2, 8.0) < 0.6


def pool(table=None, policy=VLLM, gpus=1):
    return PoolKind(table=table or large(), policy=policy, limits=LIMITS, gpus=gpus)


def test_ratios_are_all_tried_and_unstable_ones_marked():
    lengths = RequestLengths(input_tokens=6000.0, output_tokens=300.0)
    ratios = search(pool(), pool(), 4, lengths, 3.0, 0.01)
    assert sorted((r.prefill_replicas, r.decode_replicas) for r in ratios) == [(1, 3), (2, 2), (3, 1)]
    assert ratios[0].stable
    assert [r.stable for r in ratios] == sorted((r.stable for r in ratios), reverse=True)
    starved = next(r for r in ratios if r.prefill_replicas == 1)
    assert not starved.stable
    assert starved.prefill_load > 1.0
    assert math.isinf(starved.ttft_p95)


def test_a_pool_of_answers_can_be_the_one_that_starves():
    lengths = RequestLengths(input_tokens=50.0, output_tokens=2000.0)
    found = evaluate(pool(small()), pool(), (2, 1), lengths, 6.0, 0.0)
    assert not found.stable
    assert found.prefill_load < 1.0
    assert math.isinf(found.tpot_mean)


def test_prompts_longer_than_a_step_take_several():
    time, capacity = prefill_capacity(pool(policy=SGLANG), replace(LENGTHS, input_tokens=20_000.0))
    short, _ = prefill_capacity(pool(policy=SGLANG), replace(LENGTHS, input_tokens=2000.0))
    assert time > 10 * short * 0.95
    assert capacity == pytest.approx(1.0 / time)


def test_quantiles():
    """Standard normal: z(0.975) = 1.95996, z(0.01) = -2.32635."""
    assert normal_quantile(np.array([0.975, 0.5, 0.01])) == pytest.approx([1.95996, 0.0, -2.32635], abs=5e-4)
    assert lognormal_quantile(np.array(2.0), np.array(0.0), 1.6) == 2.0
