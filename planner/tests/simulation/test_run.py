"""Whole runs: determinism, conservation, Little's law, monotony, protocols, routers, pools."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice, pairwise

import pytest

from planner.core.errors import InvalidQuantity
from planner.core.serving.policy import SGLANG, TENSORRT_LLM, VLLM, ServingLimits
from planner.core.simulation.arrivals import JobFactory, Mix, Record, open_stream
from planner.core.simulation.cluster import Pool, run_by_load
from planner.core.simulation.disaggregated import Transfer, simulate_disaggregated
from planner.core.simulation.engine import Replica
from planner.core.simulation.laws import Empirical, Fixed, LogNormal, Uniform, law_of
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.routing import LeastLoaded, PrefixCache
from planner.core.simulation.run import simulate_benchmark, simulate_closed, simulate_open, simulate_trace
from planner.core.simulation.settings import rank_settings
from planner.core.simulation.system import Measure, System
from planner.tests.serving.steps import large

LIMITS = ServingLimits(kv_capacity_tokens=400_000, max_num_seqs=128)
MIX = Mix(input_law=law_of(600, 0.5), output_law=law_of(200, 0.5))
MEASURE = Measure(requests=1500)


def system(**fields) -> System:
    return System(**{"table": large(), "policy": VLLM, "limits": LIMITS, **fields})


def test_a_seed_is_a_run_and_another_seed_another():
    first, second = (simulate_open(system(), MIX, 8.0, 1.0, MEASURE) for _ in range(2))
    assert first == second
    assert simulate_open(system(), MIX, 8.0, 1.0, replace(MEASURE, seed=1)).ttft != first.ttft


@pytest.mark.parametrize("policy", [VLLM, SGLANG, TENSORRT_LLM])
def test_every_token_is_accounted_for_and_littles_law_holds(policy):
    records = [Record(time=i / 9.0, input_tokens=300 + i % 700, output_tokens=1 + i % 150) for i in range(3000)]
    run = simulate_trace(system(policy=policy), iter(records), Measure())
    assert run.finished == run.requests == 3000
    assert run.output_tokens_per_s * run.duration == pytest.approx(sum(r.output_tokens for r in records))
    assert run.input_tokens_per_s * run.duration == pytest.approx(sum(r.input_tokens for r in records))
    assert run.gaps == sum(r.output_tokens - 1 for r in records)
    assert run.mean_in_system == pytest.approx(run.finished / run.duration * run.e2e.mean, rel=1e-6)


def test_latency_grows_with_the_rate():
    runs = [simulate_open(system(), MIX, rate, 1.0, MEASURE) for rate in (2.0, 5.0, 8.0, 11.0)]
    for lower, higher in pairwise(runs):
        assert lower.ttft.mean < higher.ttft.mean
        assert lower.itl_mean < higher.itl_mean
    assert [r.unstable for r in runs] == [False] * 4


def test_an_overload_is_called_one():
    run = simulate_open(system(), MIX, 60.0, 1.0, MEASURE)
    assert run.unstable
    assert run.request_rate < 40.0


def test_bursts_and_even_gaps_bracket_poisson():
    even, poisson, bursty = (simulate_open(system(), MIX, 10.0, cv, MEASURE).ttft.mean for cv in (0.0, 1.0, 3.0))
    assert even < poisson < bursty


def test_closed_loop_keeps_its_users_in_flight():
    run = simulate_closed(system(), MIX, 32, MEASURE)
    assert run.mean_in_system == pytest.approx(32, rel=0.01)


def test_a_benchmark_bursts_and_drains():
    steady = simulate_closed(system(), MIX, 32, MEASURE)
    burst = simulate_benchmark(system(), MIX, 32, Measure(requests=320))
    assert burst.requests == burst.finished == 320
    assert burst.ttft.mean > 1.5 * steady.ttft.mean
    assert burst.output_tokens_per_s < steady.output_tokens_per_s


def test_users_over_several_replicas_are_users_of_one_each():
    one = simulate_closed(system(), MIX, 16, MEASURE)
    four = simulate_closed(system(replicas=4), MIX, 64, replace(MEASURE, requests=6000))
    assert four.ttft.mean == pytest.approx(one.ttft.mean, rel=0.1)
    assert four.request_rate == pytest.approx(4 * one.request_rate, rel=0.05)


def test_the_least_loaded_router_evens_out_batches():
    """Taking turns spaces prompts better; counting requests keeps the answers' batches even."""
    dealt, balanced = (simulate_open(system(replicas=4, router=router), MIX, 50.0, 1.0, Measure(requests=8000))
                       for router in ("round_robin", "least_loaded"))
    assert balanced.tpot.p99 < dealt.tpot.p99
    assert balanced.finished >= 8000


def test_lazy_routing_chooses_as_if_every_replica_were_advanced():
    def chosen(advance):
        recorder = Recorder(0, 1500)
        settings = rank_settings(large(), VLLM, LIMITS)
        pool = Pool([Replica(settings, recorder) for _ in range(4)], LeastLoaded())
        choices = []
        send = pool.send

        def noting(job):
            choices.append(send(job))
            return choices[-1]

        pool.send = noting
        advance(pool, islice(open_stream(JobFactory(MIX, 0), 44.0, 1.0), 1500), recorder)
        return choices

    def every_one(pool, jobs, _):
        for job in jobs:
            for i, replica in enumerate(pool.replicas):
                replica.run(job.ready)
                pool.loads[i] = replica.load()
            pool.send(job)

    def lazily(pool, jobs, recorder):
        run_by_load(pool, jobs, recorder, lambda _: None)

    assert chosen(every_one) == chosen(lazily)


def test_sessions_find_their_prefix_where_the_router_sends_them():
    records = [Record(time=i / 12.0, input_tokens=400 + 200 * (i // 40 % 8), output_tokens=100, session=f"s{i % 40}")
               for i in range(2400)]
    blind, aware = (simulate_trace(system(replicas=4, router=router), iter(records), Measure())
                    for router in ("least_loaded", "prefix_aware"))
    assert aware.ttft.mean < blind.ttft.mean


def test_priorities_reorder_the_line():
    mix = replace(MIX, priorities=2)
    tight = ServingLimits(kv_capacity_tokens=400_000, max_num_seqs=8)
    by_priority = simulate_open(system(limits=tight, queue="priority"), mix, 4.0, 1.0, MEASURE)
    in_order = simulate_open(system(limits=tight), mix, 4.0, 1.0, MEASURE)
    assert by_priority.ttft.p50 < in_order.ttft.p50


def test_prefix_hits_shorten_the_first_token():
    cold = simulate_open(system(), MIX, 8.0, 1.0, MEASURE)
    warm = simulate_open(system(), replace(MIX, prefix_hit=0.8), 8.0, 1.0, MEASURE)
    assert warm.ttft.mean < 0.6 * cold.ttft.mean


def test_accepted_drafts_shorten_answers():
    drafted = replace(LIMITS, tokens_per_step=2.5, query_tokens=4.0, draft_time_s=1e-3)
    plain = simulate_open(system(), MIX, 2.0, 1.0, MEASURE)
    fast = simulate_open(system(limits=drafted), MIX, 2.0, 1.0, MEASURE)
    assert fast.tpot.mean < 0.6 * plain.tpot.mean


def test_window_and_state_layers_hold_less_cache():
    tight = ServingLimits(kv_capacity_tokens=20_000, max_num_seqs=128)
    windowed = replace(tight, cache_windows=[math.inf, 128.0], cache_shares=[0.25, 0.75])
    states = replace(tight, cache_windows=[128.0], cache_shares=[1.0], cache_fixed_tokens=64.0)
    full, part, fixed = (simulate_open(system(limits=limits), MIX, 9.0, 1.0, MEASURE)
                         for limits in (tight, windowed, states))
    assert full.ttft.p95 > part.ttft.p95
    assert full.preemptions > 0
    assert fixed.preemptions == 0


def test_states_in_a_pool_apart_seat_as_many_as_it_has_places_for():
    few = replace(LIMITS, state_places=64.0, data_parallel=2)
    assert rank_settings(large(), VLLM, few).max_seqs == 32
    assert rank_settings(large(), VLLM, LIMITS).max_seqs == LIMITS.max_num_seqs


def test_ranks_in_lockstep_wait_for_one_another():
    together = simulate_open(system(limits=replace(LIMITS, data_parallel=4)), MIX, 32.0, 1.0, MEASURE)
    alone = simulate_open(system(limits=replace(LIMITS, kv_capacity_tokens=100_000)), MIX, 8.0, 1.0, MEASURE)
    assert together.itl_mean > alone.itl_mean


def test_pools_apart_keep_prompts_out_of_answers():
    apart = simulate_disaggregated(
        system(replicas=2), system(replicas=2), Transfer(bytes_per_token=1e5, bandwidth=5e10, latency=1e-3), MIX, 20.0,
        MEASURE)
    together = simulate_open(system(replicas=4), MIX, 20.0, 1.0, MEASURE)
    assert apart.itl_p99 < together.itl_p99
    assert apart.requests == MEASURE.requests


def test_an_answer_of_one_token_ends_in_the_prefill_pool():
    mix = Mix(input_law=Fixed(tokens=500), output_law=Fixed(tokens=1))
    run = simulate_disaggregated(system(), system(), Transfer(bytes_per_token=1e5, bandwidth=5e10), mix, 5.0,
                                 Measure(requests=200))
    assert run.e2e.mean == pytest.approx(run.ttft.mean)


def test_progress_is_told():
    told = []
    simulate_open(system(replicas=2, router="least_loaded"), MIX, 12.0, 1.0,
                  Measure(requests=1500, progress=told.append))
    assert told[-1] == pytest.approx(1500, abs=5)


@pytest.mark.parametrize("law", [Uniform(low=100, high=300), LogNormal(mean=200, cv=1.0),
                                 Empirical(tokens=(1, 150, 400), cumulative=(0.0, 0.5, 1.0))])
def test_laws_of_lengths_run(law):
    run = simulate_open(system(), Mix(input_law=law, output_law=law), 4.0, 1.0, Measure(requests=300))
    assert run.requests == 300


@pytest.mark.parametrize(("act", "field"), [
    (lambda: simulate_open(system(), MIX, 0.0, 1.0, MEASURE), "request_rate"),
    (lambda: simulate_open(system(), MIX, math.nan, 1.0, MEASURE), "request_rate"),
    (lambda: simulate_open(system(router="random"), MIX, 1.0, 1.0, MEASURE), "router"),
    (lambda: simulate_open(system(), MIX, 1.0, 1.0, Measure(requests=0)), "requests"),
    (lambda: simulate_closed(system(), MIX, 0, MEASURE), "concurrency"),
    (lambda: simulate_disaggregated(system(), system(), Transfer(bytes_per_token=1, bandwidth=1), MIX, 0.0, MEASURE),
     "request_rate"),
    (lambda: simulate_open(system(limits=replace(LIMITS, kv_capacity_tokens=3)), MIX, 1.0, 1.0, MEASURE),
     "kv_capacity_tokens"),
    (lambda: Empirical(tokens=(1.0, 2.0), cumulative=(0.5, 0.4)), "cumulative/1"),
    (lambda: simulate_trace(system(limits=replace(LIMITS, kv_capacity_tokens=100)),
                            [Record(time=0, input_tokens=500, output_tokens=2)], MEASURE), "requests"),
])
def test_nonsense_is_refused_by_name(act, field):
    with pytest.raises(InvalidQuantity) as refusal:
        act()
    assert refusal.value.pointer == field


def test_goodput_counts_what_met_both_targets():
    run = simulate_open(system(), MIX, 9.0, 1.0, replace(MEASURE, ttft_target=0.08, tpot_target=0.02))
    loose = simulate_open(system(), MIX, 9.0, 1.0, replace(MEASURE, ttft_target=10.0, tpot_target=1.0))
    assert 0.0 < run.attainment < 1.0 == loose.attainment
    assert run.goodput == pytest.approx(run.attainment * run.request_rate)


def test_benchmarks_over_replicas_end_with_their_prompts():
    assert simulate_benchmark(system(replicas=2), MIX, 16, Measure(requests=100)).finished == 100


def test_steps_that_no_context_lengthens():
    flat = replace(large(), per_context_token=large().per_context_token * 0.0)
    run = simulate_open(system(table=flat), MIX, 6.0, 1.0, MEASURE)
    assert run.itl_mean < simulate_open(system(), MIX, 6.0, 1.0, MEASURE).itl_mean


def test_whole_prompts_wait_for_a_step_with_room():
    """Requests that were preempted twice over meet others half-way through the budget."""
    policy = replace(TENSORRT_LLM, admission=VLLM.admission)
    limits = replace(LIMITS, kv_capacity_tokens=6000, token_budget=700)
    run = simulate_open(system(policy=policy, limits=limits), MIX, 4.0, 1.0, MEASURE)
    assert run.requests == MEASURE.requests


def test_conversations_leave_the_cache_oldest_first():
    cache = PrefixCache(100)
    for name in ("a", "b", "c"):
        cache.store(name, 40)
    assert [cache.tokens(name) for name in ("a", "b", "c")] == [0, 40, 40]
    cache.store("b", 90)
    assert [cache.tokens(name) for name in ("b", "c")] == [90, 0]
