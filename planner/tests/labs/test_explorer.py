import pytest

from planner.core.errors import InvalidQuantity, MissingFact, UnsupportedFormat
from planner.core.labs.explorer import binding, explore_intensity, explore_kernel, roofs
from planner.core.labs.inputs import boundary, element_type
from planner.tests.labs.chips import BARE, H100, H100_SHEET

BF16 = element_type("bf16")


def test_interconnect_and_on_chip_ridges_of_an_h100():
    # π = 989.4 TFLOP/s over each boundary's rate, rounded in the texts
    ridges = {roof.boundary.name: roof.ridge for roof in roofs(H100_SHEET, BF16)}
    assert ridges == pytest.approx({"registers": 3.298, "shared_memory": 32.98, "l2": 109.93, "memory": 295.34,
                                    "scale_up": 2198.7, "host": 15459.4, "network": 19788.0}, rel=1e-4)
    assert [roof.boundary.estimate for roof in roofs(H100_SHEET, BF16)] == [True] * 3 + [False] * 4


@pytest.mark.parametrize(("dtype", "peak"), [("fp8", 1979e12), ("bf16", 989e12), ("tf32", 495e12), ("fp32", 67e12),
                                             ("fp32_no_fma", 33e12), ("sfu", 3.9e12)])
def test_the_ceiling_follows_the_instruction_mix(dtype, peak):
    assert explore_intensity(H100, element_type(dtype), 1e6).attainable == peak


def test_decode_attains_three_teraflops_and_a_third_of_a_percent():
    point = explore_intensity(H100, BF16, 1.0)
    assert point.attainable == pytest.approx(3.35e12)
    assert point.fraction_of_peak == pytest.approx(1 / 295.2, rel=1e-3)
    assert (point.bound, point.time) == ("memory", None)


def test_a_kernel_overlapped_and_serial():
    W, Q = 989e12 * 1e-3, 3.35e12 * 1e-3  # both a millisecond: the ridge
    full = explore_kernel(H100, BF16, W, Q)
    none = explore_kernel(H100, BF16, W, Q, overlap="none")
    assert full.time == pytest.approx(1e-3)
    assert none.time == pytest.approx(2e-3)
    assert full.attainable == pytest.approx(2 * none.attainable)
    assert full.intensity == pytest.approx(full.ridge)


def test_a_boundary_is_named_in_the_verdict():
    point = explore_kernel(H100, BF16, 1e12, 1e10, at="nvlink")
    assert (point.boundary.name, point.bound) == ("scale_up", "scale_up")
    assert explore_kernel(H100, BF16, 1e12, 1e10).bound == "memory"
    assert explore_kernel(H100, BF16, 1e15, 1e10, at="smem").bound == "compute"


def test_one_kernel_three_verdicts():
    # 4096³ bf16 with 256×128 tiles: L2 85 against 110, shared memory 32 against 33, memory 1365 against 295
    bound = binding(H100_SHEET, BF16, {"shared_memory": 32.0, "l2": 85.33, "memory": 1365.3})
    assert (bound.bound, bound.fraction_of_peak) == ("l2", pytest.approx(0.776, abs=1e-3))
    assert binding(H100_SHEET, BF16, {"memory": 1365.3}).bound == "compute"


def test_nonsense_is_refused_by_name():
    for call, pointer in (
            (lambda: explore_intensity(H100, BF16, -1.0), "/intensity_flop_per_byte"),
            (lambda: explore_intensity(H100, BF16, float("nan")), "/intensity_flop_per_byte"),
            (lambda: explore_kernel(H100, BF16, 1.0, 0.0), "/bytes"),
            (lambda: explore_kernel(H100, BF16, -1.0, 1.0), "/flop"),
            (lambda: explore_kernel(H100, BF16, 1.0, 10 ** 400), "/bytes"),
            (lambda: explore_kernel(H100, BF16, 1.0, 1.0, overlap="half"), "/overlap"),
            (lambda: boundary(H100, "moon"), "/boundary")):
        with pytest.raises(InvalidQuantity) as error:
            call()
        assert error.value.pointer == pointer
    with pytest.raises(UnsupportedFormat, match="bf17"):
        element_type("bf17")
    with pytest.raises(MissingFact, match="network"):
        boundary(BARE, "nic")
    with pytest.raises(MissingFact, match="fp8"):
        explore_intensity(BARE, element_type("fp8"), 1.0)
