import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.labs.fusion import Operation, chained, fusion_report
from planner.core.labs.inputs import element_type
from planner.tests.labs.chips import BARE, H100

BF16 = element_type("bf16")
N = 8192 * 8192
CHAIN = chained([("rmsnorm", 5, ["x"], ["h"]), ("silu", 4, ["h"], ["s"]), ("mul", 1, ["s", "g"], ["t"]),
                 ("add", 1, ["t", "x"], ["y"])])
# name, FLOP and 16-bit tensors touched per element -> intensity, as the texts tabulate
TABLE = [("residual add", 1, 2, 1, 0.17), ("swiglu part", 6, 2, 1, 1.0), ("rmsnorm", 5, 1, 1, 1.25),
         ("softmax", 6, 1, 1, 1.5), ("layernorm", 9, 1, 1, 2.25), ("gelu tanh", 12, 1, 1, 3.0)]


@pytest.mark.parametrize(("name", "flop", "reads", "writes", "intensity"), TABLE)
def test_intensity_of_one_operation(name, flop, reads, writes, intensity):
    report = fusion_report(H100, BF16, N, chained([(name, flop, reads, writes)]))
    assert report.work / report.traffic == pytest.approx(intensity, abs=5e-3)
    assert report.work / report.time / 989e12 < 0.011


def test_ten_passes_become_three():
    # 134 MB a tensor: 1342 MB and 400.7 µs split, 402 MB and 120 µs fused, at 3.35 TB/s
    report = fusion_report(H100, BF16, N, CHAIN, [False] * 3)
    assert report.split_traffic == pytest.approx(1342e6, rel=1e-3)
    assert report.split_time == pytest.approx(400.7e-6, rel=1e-3)
    assert report.traffic == pytest.approx(402e6, rel=2e-3)
    assert report.time == pytest.approx(120e-6, rel=2e-3)
    assert report.kernels == 1
    assert report.groups[0].reads == ("x", "g")
    assert report.groups[0].writes == ("y",)


def test_a_norm_over_eight_sequences():
    # RMSNorm of (8, 8192, 8192): 2.15 GB, 0.64 ms
    report = fusion_report(H100, BF16, 8 * N, chained([("rmsnorm", 5, 1, 1)]))
    assert report.traffic == pytest.approx(2.15e9, rel=2e-3)
    assert report.time == pytest.approx(0.64e-3, rel=5e-3)


def test_fused_norm_swiglu_residual():
    # 12 FLOP over two external tensors is 3.0, over three 2.0
    two = chained([("norm", 5, ["x"], ["h"]), ("swiglu", 6, ["h"], ["s"]), ("residual", 1, ["s", "x"], ["y"])])
    three = chained([("norm", 5, ["x"], ["h"]), ("swiglu", 6, ["h", "g"], ["s"]), ("residual", 1, ["s", "x"], ["y"])])
    for chain, intensity in ((two, 3.0), (three, 2.0)):
        report = fusion_report(H100, BF16, N, chain, [False, False])
        assert report.work / report.traffic == pytest.approx(intensity, rel=1e-12)


def test_counts_share_the_side_inputs_of_the_chain():
    counted = chained([("rmsnorm", 5, 1, 1), ("silu", 4, 1, 1), ("mul", 1, 2, 1), ("add", 1, 2, 1)])
    assert counted[2] == Operation(name="mul", work=1.0, reads=("1.out0", "side0"), writes=("2.out0",))
    fused = fusion_report(H100, BF16, N, counted, [False] * 3)
    named = fusion_report(H100, BF16, N, CHAIN, [False] * 3)
    assert (fused.traffic, fused.split_traffic) == (named.traffic, named.split_traffic)


@given(cuts=st.lists(st.booleans(), min_size=3, max_size=3), where=st.integers(0, 2))
def test_fusing_never_raises_traffic_and_never_changes_work(cuts, where):
    cut = [*cuts]
    cut[where] = True
    fused = [*cuts]
    fused[where] = False
    split, joined = fusion_report(H100, BF16, N, CHAIN, cut), fusion_report(H100, BF16, N, CHAIN, fused)
    assert joined.traffic <= split.traffic
    assert joined.work == split.work == 11 * N
    assert joined.kernels == split.kernels - 1


def test_register_pressure_is_flagged():
    wide = chained([("sum", 8, [f"x{i}" for i in range(10)], ["y"])])
    report = fusion_report(H100, BF16, N, wide)
    assert report.groups[0].live_bytes == 11 * 256 * 8 * 4
    assert report.groups[0].spills
    assert not fusion_report(H100, BF16, N, CHAIN, [False] * 3).groups[0].spills


def test_a_chip_without_fp32_units_uses_the_types_own():
    assert fusion_report(BARE, BF16, N, CHAIN).time > 0


@pytest.mark.parametrize(("call", "pointer"), [
    (lambda: fusion_report(H100, BF16, 0, CHAIN), "/elements"),
    (lambda: fusion_report(H100, BF16, N, CHAIN, [True]), "/boundaries"),
    (lambda: chained([]), "/operations"), (lambda: chained([("x", -1, 1, 1)]), "/operations/0/flop"),
    (lambda: chained([("x", 1, -1, 1)]), "/operations/0/reads"), (lambda: chained([("x", 1, 0, 0)]), "/operations/0")])
def test_nonsense_is_refused_by_name(call, pointer):
    with pytest.raises(InvalidQuantity) as error:
        call()
    assert error.value.pointer == pointer


def test_an_operation_without_a_result_passes_the_chain_on():
    chain = chained([("read", 1, 1, 0), ("next", 1, 1, 1)])
    assert chain[1].reads == ("input",)
