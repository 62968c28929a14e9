"""A slowed profile slows every kernel by exactly its factor, whatever numbers a curve has."""

from __future__ import annotations

from dataclasses import fields

import pytest

from planner.core.execution.own_runs import slowed
from planner.core.hardware.efficiency.all_to_all import AllToAllCurve, all_to_all_time
from planner.core.hardware.efficiency.attention import (
    DecodeCurve,
    PromptCurve,
    at_heads,
    decode_attention_time,
    prompt_attention_time,
)
from planner.core.hardware.efficiency.collective import AllReduceCurve, GatherCurve, all_reduce_time, gather_time
from planner.core.hardware.efficiency.gemm import GemmCurve, gemm_time
from planner.core.hardware.efficiency.linear import RecurrentCurve, recurrent_decode_time, recurrent_prompt_time
from planner.core.hardware.efficiency.moe import MoeCurve, MoeLoad, moe_time
from planner.core.hardware.efficiency.pointwise import PointwiseCurve, pointwise_time
from planner.tests.build import profile

PEAK, BETA, LINK = 1e15, 4e12, 4e11
LOAD = MoeLoad(work=1e12, weight_traffic=1e9, stream_traffic=1e8, distinct=90.0, local_experts=128.0,
               gathered_traffic=1e8, row_work=1e10, masked_work=1e11)
# Every number of a curve is there, so that one which does not scale shows.
CURVES = {
    "gemm": GemmCurve(launch=3e-6, serial=5e-7, memory=0.8, compute=0.7, quantise=2.0, per_token=2e-8, store=1.5),
    "moe": MoeCurve(launch=2e-5, per_local_expert=1e-7, per_active_expert=1e-7, memory=0.8, compute=0.6, streaming=0.5,
                    gathered=2.0, padding=9.0, masked=0.3),
    "decode": DecodeCurve(launch=1e-5, growth=1e-6, memory=0.8, compute=0.6, per_sequence=1e-8, serial=1e-10,
                          passes=15.0, partial_tile=1.5),
    "prompt": PromptCurve(launch=2e-5, memory=0.4, compute=0.6),
    "recurrent": RecurrentCurve(launch=4e-6, memory=0.8, prompt_launch=2e-5, scan=1e-6, prompt_memory=0.4, compute=0.4),
    "all_to_all": AllToAllCurve(launch=2e-5, link=0.5, per_token=1e-8),
    "all_reduce": AllReduceCurve(one_shot=4e-6, two_shot=1e-5, per_doubling=1e-6, link=0.6, four=1.2, eight=1.4,
                                 ring=2e-5, ring_per_doubling=4e-6, ring_link=0.7, staging=0.3, hand_over=1e6),
    "gather": GatherCurve(launch=4e-6, per_doubling=2e-6, link=0.5),
    "pointwise": PointwiseCurve(memory=0.7, layer_passes=8.0, logit_passes=3.0),
}
TIMES = {
    "gemm": lambda c: gemm_time(c, work=1e11, traffic=1e8, tokens=64.0, inputs=8192.0, peak=PEAK, bandwidth=BETA),
    "moe": lambda c: moe_time(c, LOAD, peak=PEAK, bandwidth=BETA),
    "decode": lambda c: decode_attention_time(at_heads(c, 32.0), work=1e11, cache_traffic=1e9, io_traffic=1e8,
                                              context=9000.0, batch=64.0, peak=PEAK, bandwidth=BETA),
    "prompt": lambda c: prompt_attention_time(c, work=1e12, traffic=1e8, peak=PEAK, bandwidth=BETA),
    "recurrent": lambda c: recurrent_decode_time(c, traffic=1e8, bandwidth=BETA) + recurrent_prompt_time(
        c, work=1e11, traffic=1e8, longest=4096.0, peak=PEAK, bandwidth=BETA),
    "all_to_all": lambda c: all_to_all_time(c, volume=1e7, tokens=128.0, ranks=8.0, link_rate=LINK),
    "all_reduce": lambda c: all_reduce_time(c, message=1e5, ranks=8.0, link_rate=LINK) + all_reduce_time(
        c, message=1e8, ranks=8.0, link_rate=LINK),
    "gather": lambda c: gather_time(c, total=1e7, ranks=8.0, link_rate=LINK),
    "pointwise": lambda c: pointwise_time(c, traffic=1e8, bandwidth=BETA),
}


@pytest.mark.parametrize("kind", CURVES)
def test_every_number_of_a_curve_scales_its_kernel_once(kind: str) -> None:
    curve = CURVES[kind]
    single = kind in {"all_reduce", "gather", "pointwise"}
    base = profile()
    made = slowed(type(base)(**{f.name: getattr(base, f.name) for f in fields(base)}
                             | {kind: curve if single else {"x": curve}}), 1.25)
    slow = getattr(made, kind) if single else getattr(made, kind)["x"]
    assert float(TIMES[kind](slow)) == pytest.approx(1.25 * float(TIMES[kind](curve)), rel=1e-12)
