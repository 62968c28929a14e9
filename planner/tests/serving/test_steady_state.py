"""Steady states: worked by hand, consistent with Little's law, monotone, equal on grids and at points, and refused."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields, replace

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import StepTable
from planner.core.serving.lengths import RequestLengths, mean_clipped, moments
from planner.core.serving.policy import (
    GENERIC,
    SGLANG,
    TENSORRT_LLM,
    VLLM,
    ServingLimits,
    default_max_num_seqs,
    default_token_budget,
)
from planner.core.serving.steady_state import VALID_LOAD, Limit, solve_closed, solve_open
from planner.tests.effort import lines
from planner.tests.serving.steps import NODES, large

LENGTHS = RequestLengths(input_tokens=1000.0, output_tokens=300.0)
LIMITS = ServingLimits(kv_capacity_tokens=400_000.0)


def flat(step: float, per_prompt_token: float) -> StepTable:
    """A step that costs ``step`` and so much per token beyond the first."""
    return StepTable(nodes=NODES, base=step + per_prompt_token * (NODES - 1.0), windows=np.array([np.inf]),
                     per_context_token=np.array([0.0]), per_pair=np.array(0.0), per_request=np.array(0.0),
                     prefill_extra=np.array(0.0))


def test_one_user_waits_for_nobody():
    """10 ms a step, 0.1 ms a prompt token: TTFT = 10 + 1000·0.1 ms, then 299 steps of 10 ms."""
    s = solve_closed(flat(0.010, 1e-4), LENGTHS, VLLM, LIMITS, 1.0)
    assert float(s.latency.ttft_mean) == pytest.approx(0.010 + 0.1, rel=1e-3)
    assert float(s.latency.tpot_mean) == pytest.approx(0.010, rel=1e-3)
    assert float(s.request_rate) == pytest.approx(1.0 / (0.11 + 299 * 0.010), rel=1e-3)
    assert float(s.batch) == 1.0


def test_many_users_share_steps_and_pay_for_each_others_prompts():
    """N requests take N·0.1 s of prompts and 299 steps of (10 + 0.1·(N-1)) ms in turn: rate = N / that, about."""
    users = 50.0
    s = solve_closed(flat(0.010, 1e-4), LENGTHS, VLLM, LIMITS, users)
    by_hand = users / (users * 0.1 + 299 * (0.010 + 1e-4 * (users - 1.0)))
    assert float(s.request_rate) == pytest.approx(by_hand, rel=0.03)


@pytest.mark.parametrize("policy", [VLLM, SGLANG, TENSORRT_LLM, GENERIC])
@pytest.mark.parametrize("users", [1.0, 7.0, 60.0, 300.0, 3000.0])
def test_users_are_requests_in_the_system(policy, users):
    s = solve_closed(large(), LENGTHS, policy, LIMITS, users)
    assert float(s.request_rate * s.latency.e2e_mean) == pytest.approx(users, rel=5e-3)


@pytest.mark.parametrize("policy", [VLLM, SGLANG, TENSORRT_LLM])
def test_grid_is_points(policy):
    rates = np.geomspace(0.01, 30.0, 9)
    grid = solve_open(large(), LENGTHS, policy, LIMITS, rates)
    for i, rate in enumerate(rates):
        point = solve_open(large(), LENGTHS, policy, LIMITS, float(rate))
        plain = solve_open(large().plain(), LENGTHS, policy, LIMITS, float(rate))
        for field in fields(grid):
            if field.name == "latency":
                continue
            on_grid, alone, bare = (np.asarray(getattr(s, field.name)) for s in (grid, point, plain))
            assert np.broadcast_to(on_grid, rates.shape)[i] == pytest.approx(float(alone), rel=1e-9)
            assert float(bare) == pytest.approx(float(alone), rel=1e-9)
        assert grid.latency.ttft_p95[i] == pytest.approx(float(point.latency.ttft_p95), rel=1e-9)


def test_latency_never_falls_with_load_and_throughput_never_either():
    rates = np.linspace(0.02, 0.99, 200) * float(solve_open(large(), LENGTHS, VLLM, LIMITS, 1.0).max_request_rate)
    s = solve_open(large(), LENGTHS, VLLM, LIMITS, rates)
    for name in ("ttft_mean", "itl_mean", "tpot_mean", "e2e_mean"):
        assert np.all(np.diff(getattr(s.latency, name)) > 0)
    users = solve_closed(large(), LENGTHS, VLLM, LIMITS, np.linspace(1.0, 1000.0, 300))
    assert np.all(np.diff(users.output_tokens_per_s) > -1e-6 * users.output_tokens_per_s[:-1])


def test_percentiles_are_ordered():
    s = solve_open(large(), replace(LENGTHS, input_cv=1.0, output_cv=0.7), VLLM, LIMITS, np.array([0.1, 1.0, 4.0]))
    for low, high in (("ttft_p50", "ttft_p95"), ("ttft_p95", "ttft_p99"), ("tpot_p50", "tpot_p95"),
                      ("tpot_p95", "tpot_p99"), ("e2e_mean", "e2e_p95"), ("itl_mean", "itl_p99")):
        assert np.all(getattr(s.latency, low) <= getattr(s.latency, high))


def test_saturation_is_said_and_unbounded():
    s = solve_open(large(), LENGTHS, VLLM, LIMITS, np.array([0.5, 0.9, 1.1]) * float(
        solve_open(large(), LENGTHS, VLLM, LIMITS, 1.0).max_request_rate))
    assert s.saturated.tolist() == [False, False, True]
    assert s.near_saturation.tolist() == [False, True, True]
    assert np.isinf(s.latency.ttft_mean[2])
    assert np.isfinite(s.latency.itl_mean).all()
    assert s.utilization[2] == 1.0
    assert VALID_LOAD == 0.85


def test_what_saturates_first_is_named():
    few_blocks = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, kv_capacity_tokens=20_000.0), 1.0)
    few_seats = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, max_num_seqs=8), 1.0)
    few_tokens = solve_closed(large(), replace(LENGTHS, input_tokens=8000.0, output_tokens=20.0), VLLM,
                              replace(LIMITS, kv_capacity_tokens=1e7), 1.0)
    assert [int(s.limit) for s in (few_blocks, few_seats, few_tokens)] == [
        Limit.KV_CAPACITY, Limit.MAX_NUM_SEQS, Limit.TOKEN_BUDGET]


def test_reserving_holds_fewer_requests_than_growing():
    tight = replace(LIMITS, kv_capacity_tokens=20_000.0)
    grown = solve_closed(large(), LENGTHS, VLLM, tight, 1.0)
    reserved = solve_closed(large(), LENGTHS, replace(VLLM, admission=TENSORRT_LLM.admission), tight, 1.0)
    assert float(reserved.running_capacity) < float(grown.running_capacity)


def test_waiting_users_wait_and_a_burst_waits_more():
    s = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, max_num_seqs=32), np.array([16.0, 64.0]))
    assert s.latency.ttft_mean[1] > 10 * s.latency.ttft_mean[0]
    assert np.all(s.ttft_benchmark > s.latency.ttft_mean)


def test_ranks_and_stages_share_the_load():
    one = solve_closed(large(), LENGTHS, VLLM, LIMITS, 16.0)
    ranks = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, kv_capacity_tokens=1.6e6, data_parallel=4), 64.0)
    assert float(ranks.rank_batch) == pytest.approx(float(one.rank_batch), rel=0.01)
    assert float(one.latency.itl_mean) < float(ranks.latency.itl_mean) < 2.5 * float(one.latency.itl_mean)
    few = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, data_parallel=4), 2.0)
    single = solve_closed(large(), LENGTHS, VLLM, LIMITS, 1.0)
    assert float(few.request_rate) == pytest.approx(2 * float(single.request_rate), rel=1e-6)


def test_bursts_lengthen_the_first_token():
    calm, bursty = (solve_open(large(), LENGTHS, VLLM, LIMITS, 5.0, cv) for cv in (1.0, 2.5))
    assert float(calm.latency.ttft_mean) < float(bursty.latency.ttft_mean)


def test_contexts_are_length_biased():
    even = moments(LENGTHS)
    exponential = moments(replace(LENGTHS, output_cv=1.0))
    assert float(even.context) == 1150.0
    assert float(exponential.context) == 1300.0
    assert float(moments(replace(LENGTHS, context_tokens=4096.0)).context) == 4096.0


def test_windows_clip_contexts():
    mean, half = np.array([1150.0, 1150.0, 1150.0]), np.array([150.0, 150.0, 150.0])
    contexts = np.linspace(1000.0, 1300.0, 100_001)
    for window in (900.0, 1100.0, 1250.0, 2000.0, np.inf):
        assert mean_clipped(mean, half, window)[0] == pytest.approx(np.minimum(contexts, window).mean(), rel=1e-6)


def test_cached_prompts_cost_less_and_never_nothing():
    none, most, everything = (solve_closed(large(), replace(LENGTHS, prefix_cache_hit=hit), VLLM, LIMITS, 1.0)
                              for hit in (0.0, 0.9, 1.0))
    assert float(everything.latency.ttft_mean) < float(most.latency.ttft_mean) < float(none.latency.ttft_mean)
    assert float(everything.latency.ttft_mean) > float(everything.t_decode) * 0.9


def test_answers_of_one_token_only_prefill():
    s = solve_open(large(), replace(LENGTHS, output_tokens=1.0), VLLM, LIMITS, 2.0)
    assert np.isfinite(float(s.latency.ttft_mean))
    assert float(s.latency.e2e_mean) == pytest.approx(float(s.latency.ttft_mean))


def test_windowed_caches_hold_more_requests():
    limits = replace(LIMITS, cache_windows=[np.inf, 128.0], cache_shares=[0.5, 0.5], cache_fixed_tokens=10.0)
    assert float(solve_closed(large(), LENGTHS, VLLM, limits, 1.0).running_capacity) == 256.0
    windowed, full = (solve_closed(large(), LENGTHS, VLLM, replace(some, max_num_seqs=10_000), 1.0)
                      for some in (limits, LIMITS))
    assert float(windowed.running_capacity) > 1.6 * float(full.running_capacity)


@pytest.mark.parametrize(("engine", "memory", "tokens", "seqs"), [
    ("vllm", 80e9, 8192, 1024), ("vllm", 48e9, 2048, 256), ("sglang", 24e9, 2048, 256), ("sglang", 48e9, 4096, 256),
    ("sglang", 80e9, 8192, 256), ("sglang", 192e9, 16384, 256), ("trtllm", 80e9, 8192, 2048),
    ("generic", 80e9, 8192, 256)])
def test_engines_pick_their_sizes(engine, memory, tokens, seqs):
    assert default_token_budget(engine, memory) == tokens
    assert default_max_num_seqs(engine, memory) == seqs


@pytest.mark.parametrize("change", [
    {"input_tokens": 0.0}, {"output_tokens": -1.0}, {"input_cv": -0.1}, {"prefix_cache_hit": 1.5},
    {"output_tokens": float("nan")}, {"context_tokens": -5.0}])
def test_nonsense_lengths_are_refused(change):
    with pytest.raises(InvalidQuantity):
        solve_closed(large(), replace(LENGTHS, **change), VLLM, LIMITS, 1.0)


@pytest.mark.parametrize("change", [{"kv_capacity_tokens": 0.0}, {"max_num_seqs": 0}, {"token_budget": -1}])
def test_nonsense_limits_are_refused(change):
    with pytest.raises(InvalidQuantity):
        solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, **change), 1.0)


def test_a_grid_is_solved_as_one_with_bounded_memory():
    """As many lines for 10^5 points as for 10^3, each of them a bounded number of array operations."""
    few, many = (np.linspace(0.01, 12.0, points) for points in (1_000, 100_000))
    assert lines(lambda: solve_open(large(), LENGTHS, VLLM, LIMITS, few)) < 15_000
    tracemalloc.start()
    solve_open(large(), LENGTHS, VLLM, LIMITS, many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 700 * many.size
    assert lines(lambda: solve_open(large(), LENGTHS, VLLM, LIMITS, many)) < 15_000


def test_places_of_states_bound_the_running_set_beside_the_tokens():
    free = solve_closed(large(), LENGTHS, VLLM, LIMITS, 1000.0)
    few = solve_closed(large(), LENGTHS, VLLM, replace(LIMITS, state_places=40.0), 1000.0)
    assert few.running_capacity == 40.0 < free.running_capacity
    assert few.limit == Limit.KV_CAPACITY
