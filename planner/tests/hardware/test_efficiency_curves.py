"""Efficiency curves: hand-worked times, bounds, monotonicity, linearity in context, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.hardware.efficiency.all_to_all import (
    AllToAllCurve,
    all_to_all_time,
    deduplicated_volume,
    naive_volume,
)
from planner.core.hardware.efficiency.attention import (
    DecodeCurve,
    PromptCurve,
    above_roofline,
    at_heads,
    decode_attention_time,
    decode_floor,
    prompt_attention_time,
    walking_attention_time,
)
from planner.core.hardware.efficiency.collective import (
    AllReduceCurve,
    GatherCurve,
    all_reduce_time,
    gather_time,
)
from planner.core.hardware.efficiency.gemm import GemmCurve, gemm_time
from planner.core.hardware.efficiency.knee import knee, stack
from planner.core.hardware.efficiency.linear import RecurrentCurve, recurrent_decode_time, recurrent_prompt_time
from planner.core.hardware.efficiency.pointwise import PointwiseCurve, pointwise_time
from planner.tests.build import profile

PEAK, BETA = 1e15, 4e12
GEMM = GemmCurve(launch=3e-6, serial=0.5e-6, memory=0.9, compute=0.7, quantise=2.0)
DECODE = DecodeCurve(launch=10e-6, growth=1e-6, memory=0.9, compute=0.5, per_sequence=1e-8)


def test_gemm_by_hand() -> None:
    # 8 x 4096 by 4096 x 4096 in fp8: Q = 16.8 MB, W = 0.268 GFLOP
    work, traffic = 2 * 8 * 4096 * 4096, 4096 * 4096 + 8 * 4096 + 2 * 8 * 4096
    floor, walk = 0.5 * 3e-6, 0.5 * 4 * 0.5e-6
    passes = 2 * 2.0 * 8 * 4096 / BETA
    arms = ((traffic / (0.9 * BETA)) ** 2 + (work / (0.7 * PEAK)) ** 2 + walk**2) ** 0.5
    got = gemm_time(GEMM, work=work, traffic=traffic, tokens=8, inputs=4096, peak=PEAK, bandwidth=BETA, floor_scale=0.5)
    assert float(got) == pytest.approx(floor + passes + arms, rel=1e-12)


@given(tokens=st.floats(1, 1e5), inputs=st.floats(64, 3e4), outputs=st.floats(64, 3e5))
def test_gemm_never_beats_the_roofline_and_grows(tokens: float, inputs: float, outputs: float) -> None:
    def time(m: float) -> float:
        return float(
            gemm_time(
                GEMM,
                work=2 * m * inputs * outputs,
                traffic=inputs * outputs + 2 * m * outputs,
                tokens=m,
                inputs=inputs,
                peak=PEAK,
                bandwidth=BETA,
            )
        )

    bound = max(2 * tokens * inputs * outputs / PEAK, inputs * outputs / BETA)
    assert time(tokens) >= bound
    assert time(2 * tokens) >= time(tokens)


@given(a=st.floats(1e-9, 1e3), b=st.floats(1e-9, 1e3), scale=st.floats(0.1, 10))
def test_knee_is_homogeneous_and_bounded(a: float, b: float, scale: float) -> None:
    assert float(knee(scale * a, scale * b)) == pytest.approx(scale * float(knee(a, b)), rel=1e-9)
    assert max(a, b) <= float(knee(a, b)) * (1 + 1e-12)
    assert float(knee(a, b)) <= 2**0.5 * max(a, b) * (1 + 1e-12)


def test_stacked_curves_equal_single_ones() -> None:
    other = GemmCurve(launch=1e-6, serial=0.0, memory=0.5, compute=0.4)
    both = stack([GEMM, other], 1)
    tokens = np.array([1.0, 64.0, 4096.0])
    grid = {
        "work": 2e9 * tokens,
        "traffic": 1e7 + 0 * tokens,
        "tokens": tokens,
        "inputs": 4096.0,
        "peak": PEAK,
        "bandwidth": BETA,
    }
    together = gemm_time(both, **grid)
    assert together.shape == (2, 3)
    for row, curve in enumerate((GEMM, other)):
        np.testing.assert_allclose(together[row], gemm_time(curve, **grid), rtol=1e-12)
    with pytest.raises(InvalidQuantity):
        stack([], 0)


def test_rowwise_quantisers_and_output_stores_by_hand() -> None:
    # 1024 x 512 by 512 x 2048: 30 us of rows and 1.5 passes over 2 x 1024 x 2048 output bytes beside the old terms
    case = {"work": 2.0 * 1024 * 512 * 2048, "traffic": 1e6, "tokens": 1024.0, "inputs": 512.0, "peak": PEAK,
            "bandwidth": BETA}  # fmt: skip
    rowwise = replace(GEMM, per_token=30e-6 / 1024, store=1.5)
    extra = float(gemm_time(rowwise, **case) - gemm_time(GEMM, **case))
    assert extra == pytest.approx(30e-6 + 1.5 * 2 * 1024 * 2048 / BETA, rel=1e-9)


@given(context=st.floats(2048, 2e5), batch=st.floats(1, 512))
def test_decode_attention_is_linear_in_context_but_for_its_floor(context: float, batch: float) -> None:
    def rest(c: float) -> float:
        time = decode_attention_time(
            DECODE,
            work=4e5 * c * batch,
            cache_traffic=4096 * c * batch,
            io_traffic=0.0,
            context=c,
            batch=batch,
            peak=PEAK,
            bandwidth=BETA,
        )
        return float(time - decode_floor(DECODE, context=c, batch=batch))

    assert rest(2 * context) == pytest.approx(2 * rest(context), rel=1e-9)


def test_decode_floor_grows_with_doublings_only_beyond_256() -> None:
    assert float(decode_floor(DECODE, context=100.0, batch=0.0)) == pytest.approx(10e-6)
    assert float(decode_floor(DECODE, context=8192.0, batch=10.0, floor_scale=0.5)) == pytest.approx(0.5 * 15e-6 + 1e-7)


def test_a_kernel_that_splits_no_sequence_walks_the_mean_context() -> None:
    walking = replace(DECODE, growth=0.0, serial=1e-7)
    assert float(decode_floor(walking, context=8192.0, batch=4.0, floor_scale=0.5)) == pytest.approx(
        5e-6 + 8192e-7 + 4e-8
    )


def test_prompt_attention_adds_its_arms() -> None:
    curve = PromptCurve(launch=17e-6, memory=0.4, compute=0.6)
    time = prompt_attention_time(curve, work=1e12, traffic=1e9, peak=PEAK, bandwidth=BETA)
    assert float(time) == pytest.approx(17e-6 + 1e9 / (0.4 * BETA) + 1e12 / (0.6 * PEAK))


def test_recurrent_times_by_hand() -> None:
    curve = RecurrentCurve(launch=4e-6, memory=0.8, prompt_launch=15e-6, scan=1e-6, prompt_memory=0.4, compute=0.1)
    assert float(recurrent_decode_time(curve, traffic=1e8, bandwidth=BETA)) == pytest.approx(4e-6 + 1e8 / (0.8 * BETA))
    prompt = recurrent_prompt_time(curve, work=1e11, traffic=1e8, longest=6400.0, peak=PEAK, bandwidth=BETA)
    assert float(prompt) == pytest.approx(15e-6 + 100e-6 + 1e8 / (0.4 * BETA) + 1e11 / (0.1 * PEAK))


def test_all_reduce_picks_the_faster_exchange() -> None:
    curve = AllReduceCurve(one_shot=4e-6, two_shot=10e-6, per_doubling=0.5e-6, link=0.6)
    small = all_reduce_time(curve, message=8192.0, ranks=8.0, link_rate=4.5e11)
    assert float(small) == pytest.approx(4e-6 + 1.5e-6 + 7 * 8192 / (0.6 * 4.5e11))
    large = all_reduce_time(curve, message=2e8, ranks=8.0, link_rate=4.5e11, scale=1.5)
    assert float(large) == pytest.approx(1.5 * (10e-6 + 1.5e-6 + 1.75 * 2e8 / (0.6 * 4.5e11)))
    assert float(all_reduce_time(curve, message=8192.0, ranks=1.0, link_rate=4.5e11)) == 0


def test_ranks_on_a_shared_bus_lose_rate_as_measured_at_four_and_eight() -> None:
    alone = AllReduceCurve(one_shot=0.0, two_shot=0.0, per_doubling=0.0, link=0.6)
    shared = replace(alone, four=2.0, eight=6.0)

    def loss(ranks: float) -> float:
        return float(
            all_reduce_time(shared, message=2e8, ranks=ranks, link_rate=4.5e11)
            / all_reduce_time(alone, message=2e8, ranks=ranks, link_rate=4.5e11)
        )

    assert [loss(r) for r in (2, 4, 8, 16)] == pytest.approx([1, 2, 6, 6])
    assert loss(2**2.5) == pytest.approx(12**0.5)  # geometric between four and eight


HANDING_OVER = AllReduceCurve(
    one_shot=4e-6, two_shot=10e-6, per_doubling=0.5e-6, link=0.6, hand_over=2.0**21, ring=25e-6,
    ring_per_doubling=4e-6, ring_link=0.8, staging=0.3,
)  # fmt: skip


def test_the_ring_takes_over_at_a_size_that_falls_with_the_root_of_the_ranks() -> None:
    def time(message: float) -> float:
        return float(all_reduce_time(HANDING_OVER, message=message, ranks=8.0, link_rate=4.5e11))

    assert time(2.0**20) == pytest.approx(11.5e-6 + 1.75 * 2.0**20 / (0.6 * 4.5e11))
    beyond = 2.0**20 * 1.001
    assert time(beyond) == pytest.approx(33e-6 + (0.3 + 1.75) * beyond / (0.8 * 4.5e11))


@given(
    message=st.floats(1, 1e10),
    more=st.floats(1, 10),
    ranks=st.sampled_from([2.0, 3.0, 4.0, 8.0, 16.0, 72.0]),
    ring=st.floats(1e-7, 1e-4),
)
def test_all_reduce_never_falls_when_the_message_grows(message: float, more: float, ranks: float, ring: float) -> None:
    curve = replace(HANDING_OVER, ring=ring, ring_per_doubling=0.0)
    times = all_reduce_time(curve, message=np.array([message, message * more]), ranks=ranks, link_rate=4.5e11)
    assert times[0] <= times[1] * (1 + 1e-12)


def test_gather_and_exchange_by_hand() -> None:
    gather = GatherCurve(launch=3e-6, per_doubling=2e-6, link=0.5)
    assert float(gather_time(gather, total=8e6, ranks=4.0, link_rate=4e11)) == pytest.approx(7e-6 + 0.75 * 8e6 / 2e11)
    exchange = AllToAllCurve(launch=12e-6, link=0.5, per_token=1e-8)
    assert float(all_to_all_time(exchange, volume=1e6, tokens=32.0, ranks=8.0, link_rate=4e11)) == pytest.approx(
        12e-6 + 1e6 / 2e11 + 3.2e-7
    )
    assert float(all_to_all_time(exchange, volume=1e6, tokens=32.0, ranks=1.0, link_rate=4e11)) == 0


def test_exchange_volumes() -> None:
    naive = naive_volume(tokens=10.0, row_bytes=100.0, experts_per_token=8.0, ranks=8.0)
    assert float(naive) == pytest.approx(10 * 100 * 8 * 7 / 8)
    once = deduplicated_volume(tokens=10.0, row_bytes=100.0, experts_per_token=8.0, ranks=8.0)
    assert float(once) == pytest.approx(10 * 100 * 7 * (1 - 0.875**8))
    assert float(once) < float(naive)


def test_pointwise_moves_bytes() -> None:
    curve = PointwiseCurve(memory=0.8, layer_passes=8.0, logit_passes=4.0)
    assert float(pointwise_time(curve, traffic=1e9, bandwidth=BETA)) == pytest.approx(1e9 / (0.8 * BETA))


def test_missing_curves_are_refused_by_name() -> None:
    found = profile()
    with pytest.raises(MissingFact, match="quantum"):
        found.decode_curve("quantum")
    with pytest.raises(MissingFact, match="quantum"):
        found.recurrent_curve("quantum")
    with pytest.raises(MissingFact):
        found.prompt_curve("quantum", "fp8")


LATENT = DecodeCurve(launch=10e-6, growth=1e-6, memory=0.8, compute=0.9, passes=3.0, partial_tile=1.5)


def latent_time(curve: DecodeCurve, heads: float, batch: float = 64, context: float = 16384) -> float:
    return float(decode_attention_time(
        at_heads(curve, heads), work=2 * batch * heads * context * 1088, cache_traffic=batch * context * 1152,
        io_traffic=2 * batch * heads * 1088, context=context, batch=batch, peak=PEAK, bandwidth=BETA))


def test_a_partly_filled_tile_lengthens_both_arms_and_nothing_else() -> None:
    for heads in (24.0, 32.0, 48.0):
        plain = latent_time(replace(LATENT, partial_tile=1.0), heads)
        queries = 3.0 * 2 * 64 * heads * 1088 / (0.8 * BETA)
        floor = 10e-6 + 1e-6 * 6
        assert latent_time(LATENT, heads) == pytest.approx(floor + queries + 1.5 * (plain - floor - queries))
    for heads in (1.0, 8.0, 16.0, 64.0, 128.0):
        assert latent_time(LATENT, heads) == latent_time(replace(LATENT, partial_tile=1.0), heads)


def test_an_eight_bit_product_is_no_faster_than_the_sixteen_bit_roofline() -> None:
    quick = replace(LATENT, compute=1.9)
    work, cache = 2 * 128 * 1088 / PEAK, 576 / BETA
    held = above_roofline(quick, work_time=work, cache_time=cache)
    assert held.compute < 1.9
    assert (work / held.compute) ** 2 + (cache / 0.8) ** 2 == pytest.approx(max(work, cache) ** 2)
    assert above_roofline(quick, work_time=0.5 * cache, cache_time=cache) is quick  # memory binds
    assert above_roofline(LATENT, work_time=work, cache_time=cache) is LATENT  # a share below 1 is slow enough


def test_walkers_hide_behind_a_large_batch() -> None:
    walker = replace(LATENT, serial=5e-8, launch=0.0, growth=0.0, partial_tile=1.0)

    def walking(batch: float) -> float:
        return float(walking_attention_time(
            walker, work=2 * batch * 16 * 4096 * 1088, cache_traffic=batch * 4096 * 1152, io_traffic=0.0,
            context=4096.0, peak=PEAK, bandwidth=BETA))

    alone = 5e-8 * 4096
    assert walking(1) == pytest.approx(alone, rel=0.01)
    assert walking(16) < 1.1 * alone  # sequences walk side by side
    large = 4096.0
    memory, compute = large * 4096 * 1152 / (0.8 * BETA), 2 * large * 16 * 4096 * 1088 / (0.9 * PEAK)
    assert walking(large) == pytest.approx((memory**2 + compute**2) ** 0.5, rel=0.001)


@given(batch=st.floats(1, 4096), context=st.floats(1, 1e6), heads=st.sampled_from([8.0, 32.0, 128.0]))
def test_latent_decode_grows_with_batch_and_context(batch: float, context: float, heads: float) -> None:
    here = latent_time(LATENT, heads, batch, context)
    assert latent_time(LATENT, heads, batch * 1.01, context) > here
    assert latent_time(LATENT, heads, batch, context * 1.01) >= here
