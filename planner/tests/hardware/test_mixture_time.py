"""Fused expert kernels: hand-worked times, padding and masked pairs, monotonicity, popularity of experts."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.hardware.efficiency.moe import (
    MoeCurve,
    MoeLoad,
    moe_stream_bytes,
    moe_time,
    tile_work,
    touched_share,
)

PEAK, BETA = 1e15, 4e12
MOE = MoeCurve(
    launch=20e-6,
    per_local_expert=0.1e-6,
    per_active_expert=0.05e-6,
    memory=0.8,
    compute=0.5,
    streaming=0.5,
    gathered=0.5,
)


def test_mixture_by_hand() -> None:
    stream = moe_stream_bytes(tokens=16, pairs=128, hidden=1024, inner=512, activation_bytes=1)
    assert float(stream) == 128 * (1024 * 5 + 512 * 6) + 4 * 16 * 1024
    load = MoeLoad(
        work=6 * 128 * 1024 * 512,
        weight_traffic=64 * 3 * 1024 * 512,
        stream_traffic=stream,
        distinct=64,
        local_experts=256,
        gathered_traffic=1e6,
    )
    time = moe_time(MOE, load, peak=PEAK, bandwidth=BETA, floor_scale=1.0)
    weights = 64 * 3 * 1024 * 512 / (0.8 * BETA) + 0.05e-6 * 64
    expected = (
        20e-6
        + 25.6e-6
        + np.hypot(weights, 6 * 128 * 1024 * 512 / (0.5 * PEAK))
        + float(stream) / (0.5 * BETA)
        + 1e6 / (0.5 * BETA)
    )
    assert float(time) == pytest.approx(expected, rel=1e-12)


def test_padding_and_masked_work_join_the_arithmetic_by_hand() -> None:
    # 64 active of 128 experts, 64 tokens: a quarter of the large tile's 40 rows each, 640 rows beside 128 pairs
    pair = 6.0 * 1024 * 512
    row = tile_work(pair_work=pair, distinct=64.0, tokens=64.0, local_experts=128.0)
    assert float(row) == 16 * pair
    assert float(tile_work(pair_work=pair, distinct=64.0, tokens=1e4, local_experts=128.0)) == 64 * pair
    load = MoeLoad(
        work=128 * pair, row_work=row, masked_work=100 * pair, weight_traffic=0.0, stream_traffic=0.0, distinct=64.0,
        local_experts=128.0,
    )  # fmt: skip
    curve = replace(MOE, per_active_expert=0.0, padding=40.0, masked=0.5)
    padded = moe_time(curve, load, peak=PEAK, bandwidth=BETA)
    assert float(padded) == pytest.approx(20e-6 + 12.8e-6 + (128 + 640 + 50) * pair / (0.5 * PEAK), rel=1e-12)


@given(tokens=st.floats(0.1, 1e5), more=st.floats(1, 10), padding=st.floats(0, 128), masked=st.floats(0, 1))
def test_a_larger_batch_of_padded_tiles_is_never_faster(tokens: float, more: float, padding: float,
                                                        masked: float) -> None:  # fmt: skip
    curve = replace(MOE, padding=padding, masked=masked)

    def time(n: float) -> float:
        pair, distinct = 6.0 * 1024 * 512, 32 * -np.expm1(-n / 16)
        row = tile_work(pair_work=pair, distinct=distinct, tokens=n, local_experts=32.0)
        load = MoeLoad(work=n * pair, weight_traffic=distinct * 1e6, stream_traffic=n * 1e4, distinct=distinct,
                       local_experts=32.0, masked_work=n * pair, row_work=row)  # fmt: skip
        return float(moe_time(curve, load, peak=PEAK, bandwidth=BETA))

    assert time(tokens) <= time(tokens * more) * (1 + 1e-12)
    assert time(tokens) >= tokens * 6.0 * 1024 * 512 / PEAK


@given(shape=st.floats(0.3, 50), tokens=st.floats(0.1, 1e5))
def test_popular_experts_are_fewer(shape: float, tokens: float) -> None:
    experts, chosen = 256.0, 8.0
    uniform = min(experts * -np.expm1(tokens * np.log1p(-chosen / experts)), chosen * tokens)
    share = float(touched_share(shape, experts=experts, experts_per_token=chosen, tokens=tokens, uniform=uniform))
    assert 0 < share <= 1
    assert share * uniform >= min(chosen, chosen * tokens) * (1 - 1e-9)  # a token still has k experts


def test_popularity_by_hand_and_even_routing() -> None:
    # E = 100, k = 2, n = 50, a = 1: D = 100 (1 - 1/(1 + 1)) = 50 against 63.6 under even routing
    uniform = 100 * (1 - 0.98**50)
    share = touched_share(1.0, experts=100.0, experts_per_token=2.0, tokens=50.0, uniform=uniform)
    assert float(share) == pytest.approx(50 / uniform)
    assert float(touched_share(inf, experts=100.0, experts_per_token=2.0, tokens=50.0, uniform=uniform)) == 1
