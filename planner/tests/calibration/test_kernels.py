"""Kernels against float64, what they ask of a device, and how buffers rotate."""

import dataclasses

import pytest
import torch

from planner.calibration.device import open_device
from planner.calibration.kernels import attention, gemm, pointwise, split_kv, stream
from planner.calibration.kernels.attention import Heads
from planner.calibration.kernels.bench import Bench, Runnable, WrongResultError, verify_result
from planner.calibration.kernels.gemm import Shape

GQA = Heads(query=8, cached=2, key_dim=32, value_dim=32)
MLA = Heads(query=8, cached=1, key_dim=40, value_dim=32, latent=True)


@pytest.fixture(scope="module", params=["fp32", "bf16", "fp16", "int8"])
def bench(request):
    device = dataclasses.replace(open_device("cpu"), cache_bytes=2.0**18, free_bytes=2.0**26)
    return Bench(device, request.param)


def test_slots_are_disjoint_and_pass_the_cache(bench):
    slots = bench.views((16, 64), (16,))
    size = slots[0][0].element_size()
    starts = sorted(t.data_ptr() for slot in slots for t in slot)
    assert len(set(starts)) == 2 * len(slots)
    assert len(slots) >= 2
    assert len(slots) == 64 or len(slots) * (1024 + 256) * size >= 4 * bench.device.cache_bytes
    assert bench.fits(10)
    assert not bench.fits(1e12)


def test_products_agree_with_float64(bench):
    for tokens in (1, 2, 17, 32):
        verify_result("gemm", gemm.case(tokens, Shape(name="s", outputs=96, inputs=64), bench.dtype).build(bench))


def test_a_product_costs_its_matrices():
    work, traffic = gemm.work_and_traffic(2, Shape(name="s", outputs=3, inputs=5), "bf16")
    assert work == 2 * 2 * 3 * 5
    assert traffic == 2 * (3 * 5 + 2 * 5 + 2 * 3)
    assert gemm.ask(1, Shape(name="s", outputs=3, inputs=5), "bf16").kernel == "gemv"


def test_streams_agree_with_float64(bench):
    if bench.dtype == "int8":
        pytest.skip("streams are timed in floating point")
    for case in stream.cases(bench.dtype, 1e5):
        verify_result(case.label, case.build(bench))
        assert case.ask.traffic == pytest.approx(stream.PASSES[case.implementation] * 1e5, rel=1e-3)


@pytest.mark.parametrize("heads", [GQA, MLA, Heads(query=4, cached=4, key_dim=32, value_dim=32)])
def test_every_way_to_decode_agrees_with_float64(bench, heads):
    if bench.dtype == "int8":
        pytest.skip("attention is timed in floating point")
    for way in attention.decoders("cpu", heads):
        case = attention.decode_case(heads, 3, 65, bench.dtype, way)
        verify_result(f"{way} {case.label}", case.build(bench))


def test_decode_asks_for_the_cache_once():
    ask = attention.decode_ask(GQA, 2, 100, "bf16")
    assert ask.traffic == 2 * 100 * 2 * (32 + 32) * 2
    assert ask.work == 2 * 2 * 100 * 8 * 64
    assert attention.decode_ask(MLA, 2, 100, "bf16").traffic == 2 * 100 * 40 * 2


def test_prompts_agree_with_float64(bench):
    if bench.dtype == "int8":
        pytest.skip("attention is timed in floating point")
    case = attention.prompt_case(GQA, 1, 33, bench.dtype)
    verify_result(case.label, case.build(bench))
    assert case.ask.work == 2 * (33 * 34 / 2) * 8 * 64


def test_pointwise_kernels_agree_with_float64(bench):
    if bench.dtype == "int8":
        pytest.skip("activations are floating point")
    for name in pointwise.KERNELS:
        case = pointwise.case(name, 5, 64, bench.dtype)
        verify_result(case.label, case.build(bench))


def test_sampling_agrees_with_float64(bench):
    if bench.dtype == "fp32":
        case = pointwise.sampling_case(3, 100)
        verify_result(case.label, case.build(bench))


def test_unwritten_output_never_passes_for_a_result(bench):
    out = bench.poisoned((4,), torch.float32)
    ready = Runnable(run=lambda _: out, rotations=1, check=lambda: (out, torch.ones(4)), tolerance=1.0)
    with pytest.raises(WrongResultError, match="differs from its float64 reference by nan"):
        verify_result("lazy", ready)


@pytest.mark.parametrize(("heads", "length", "processors"), [(8, 4096, 132), (2048, 8192, 132), (1, 65536, 132),
                                                            (1, 17, 132), (64, 300, 108)])
def test_splits_cover_the_cache_with_whole_blocks_and_none_empty(heads, length, processors):
    splits, chunk = split_kv.split_count(heads, length, processors)
    assert chunk % 64 == 0
    assert splits * chunk >= length
    assert (splits - 1) * chunk < length
    assert splits == 1 or chunk >= 256 or splits * 256 <= length + chunk


def test_the_triton_kernel_is_only_offered_where_it_can_run():
    assert split_kv.available() is False or torch.cuda.is_available()
