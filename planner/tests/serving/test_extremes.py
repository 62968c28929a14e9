"""Steady states at the edges of what may be asked: never negative, never a floating-point fault."""

from __future__ import annotations

import random

import pytest

from planner.core.serving.lengths import RequestLengths
from planner.core.serving.objective import at_percentile
from planner.core.serving.policy import SGLANG, TENSORRT_LLM, VLLM, PrefillOrder, SchedulerPolicy, ServingLimits
from planner.core.serving.steady_state import solve_closed, solve_open
from planner.tests.serving.steps import large, small

POLICIES = (VLLM, SGLANG, TENSORRT_LLM, SchedulerPolicy(poll_steps=30, order=PrefillOrder.PREFILL_FIRST))


@pytest.mark.parametrize("seed", range(4))
def test_any_question_has_an_answer(seed):
    rng = random.Random(seed)  # noqa: S311 - not cryptography

    def decades(low: float, high: float) -> float:
        return 10.0 ** rng.uniform(low, high)

    for _ in range(250):
        lengths = RequestLengths(
            input_tokens=decades(0, 8), output_tokens=decades(0, 8), input_cv=rng.choice([0, 0, decades(-2, 1)]),
            output_cv=rng.choice([0, 0, decades(-2, 1)]), prefix_cache_hit=rng.choice([0, 1, rng.random()]),
            context_tokens=rng.choice([None, None, decades(0, 9)]))
        limits = ServingLimits(
            kv_capacity_tokens=decades(0, 12), max_num_seqs=rng.choice([1, 256, 10**6]),
            token_budget=rng.choice([1, 64, 8192, 10**8]), data_parallel=float(rng.choice([1, 1, 8, 4096])),
            pipeline_parallel=float(rng.choice([1, 1, 4])))
        table = rng.choice([large(), small()])
        steps = rng.choice([table, table.plain()])
        if rng.random() < 0.5:
            s = solve_open(steps, lengths, rng.choice(POLICIES), limits, decades(-7, 7), rng.choice([1.0, 0.5, 5.0]))
            assert min(at_percentile(s.latency, 0.99)) >= 0
        else:
            s = solve_closed(steps, lengths, rng.choice(POLICIES), limits, decades(0, 7))
        for name in ("ttft_mean", "ttft_p99", "tpot_mean", "tpot_p99", "itl_mean", "itl_p99", "e2e_mean", "e2e_p95"):
            assert float(getattr(s.latency, name)) >= 0, (lengths, limits)
        for name in ("request_rate", "batch", "utilization", "output_tokens_per_s", "max_request_rate"):
            assert 0 <= float(getattr(s, name)) < float("inf"), (lengths, limits)
