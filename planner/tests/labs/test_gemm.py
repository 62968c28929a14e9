import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.labs import gemm as g
from planner.core.labs.inputs import element_type
from planner.tests.labs.chips import BARE, H100, H100_SHEET

BF16 = element_type("bf16")
SIZE = st.integers(1, 20000)


@pytest.mark.parametrize(("m", "intensity"), [(32768, 3641), (512, 455), (64, 63), (1, 1.0)])
def test_shape_table_of_a_projection(m, intensity):
    # d = 8192, bf16: I = 2Md/[s(2M+d)]
    d = 8192
    value = g.gemm_work(m, d, d) / g.gemm_traffic_compulsory(m, d, d, 2.0)
    assert float(value) == pytest.approx(intensity, rel=6e-3)
    assert float(value) == pytest.approx(2 * m * d / (2 * (2 * m + d)), rel=1e-12)


def test_square_products():
    # bf16 n/3: 1365 at 4096, the ridge of 989/3.35 at n = 886
    ridge = 989 / 3.35
    n = np.arange(800, 900)
    intensity = g.gemm_work(n, n, n) / g.gemm_traffic_compulsory(n, n, n, 2.0)
    assert float(intensity[0]) == pytest.approx(800 / 3)
    assert int(n[np.argmax(intensity >= ridge)]) == 886
    large = g.gemm_work(4096, 4096, 4096) / g.gemm_traffic_compulsory(4096, 4096, 4096, 2.0)
    assert float(large) == pytest.approx(1365, abs=0.5)


def test_tiled_intensity_tends_to_the_tile_over_the_element():
    n = 2**16
    for tile, wanted in ((128, 64), (256, 128)):
        value = g.gemm_work(n, n, n) / g.gemm_traffic_tiled(n, n, n, tile, tile, 2.0)
        assert float(value) == pytest.approx(wanted, rel=3e-3)
    report = g.gemm_report(H100, BF16, n, n, n, tile=(590, 590))
    assert report.limits.square_tile_for_ridge == pytest.approx(590, abs=1)
    assert report.limits.accumulator_bytes == pytest.approx(1.39e6, rel=2e-3)
    assert report.limits.fits is False


def test_four_thousand_cubed_is_bound_by_l2():
    report = g.gemm_report(H100_SHEET, BF16, 4096, 4096, 4096, tile=(256, 128))
    assert report.levels == pytest.approx({"shared_memory": 32.0, "l2": 85.33, "memory": 1365.3}, rel=1e-4)
    assert report.binding.bound == "l2"
    assert report.binding.fraction_of_peak == pytest.approx(0.776, abs=2e-3)
    assert report.limits.fits is None


def test_wave_quantisation():
    waves = g.tile_waves(140, 132)
    assert (waves.waves, waves.last_wave_fraction) == (2, pytest.approx(0.06, abs=1e-3))
    assert waves.efficiency == pytest.approx(140 / 264)
    assert g.tile_waves(264, 132).last_wave_fraction == 1.0
    assert g.gemm_report(BARE, BF16, 8, 8, 8).waves is None


@given(m=SIZE, n=SIZE, k=SIZE, tm=st.integers(1, 512), tn=st.integers(1, 512), a=st.floats(0, 1))
def test_modelled_traffic_lies_between_compulsory_and_tiled(m, n, k, tm, tn, a):
    report = g.gemm_report(H100, BF16, m, n, k, tile=(tm, tn), absorption=a)
    assert report.compulsory <= report.modelled * (1 + 1e-12)
    assert report.modelled <= report.tiled * (1 + 1e-12)
    assert report.corridor_time[1] <= report.time * (1 + 1e-12)
    assert report.time <= report.corridor_time[0] * (1 + 1e-12)
    assert report.fraction_of_peak == pytest.approx(report.work / report.time / 989e12, rel=1e-9)
    assert report.work == 2.0 * m * n * k


def test_absorption_spans_the_corridor():
    none, full = (g.gemm_report(H100, BF16, 4096, 4096, 4096, absorption=a) for a in (0.0, 1.0))
    assert none.modelled == none.tiled
    assert full.modelled == full.compulsory
    assert (none.bound, full.bound) == ("memory", "compute")


def test_grid_equals_points():
    m = np.array([[1], [333], [4096]])
    n = np.array([[7, 512]])
    grid = g.gemm_traffic_tiled(m, n, 1000, 128, 64, 2.0)
    for i in range(3):
        for j in range(2):
            point = float(g.gemm_traffic_tiled(int(m[i, 0]), int(n[0, j]), 1000, 128, 64, 2.0))
            assert grid[i, j] == pytest.approx(point, rel=1e-12)


@pytest.mark.parametrize(("change", "pointer"), [
    ({"m": 0}, "/m"), ({"n": 1.5}, "/n"), ({"k": float("inf")}, "/k"), ({"k": float("nan")}, "/k"),
    ({"tile": (0, 128)}, "/tile/0"), ({"tile": (128,)}, "/tile"), ({"absorption": 1.2}, "/l2_absorption"),
    ({"m": 10**400}, "/m")])
def test_nonsense_is_refused_by_name(change, pointer):
    with pytest.raises(InvalidQuantity) as error:
        g.gemm_report(H100, BF16, **({"m": 8, "n": 8, "k": 8} | change))
    assert error.value.pointer == pointer
