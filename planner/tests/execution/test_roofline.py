import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.execution import roofline as r

POSITIVE = st.floats(1e-3, 1e18)


def test_serial_time_is_exactly_twice_the_overlapped_at_the_ridge():
    pi, beta = 989.4e12, 3.35e12
    W, Q = 1e12, 1e12 / (pi / beta)
    assert r.time_serial(W, Q, pi, beta) == pytest.approx(2 * r.time_overlapped(W, Q, pi, beta), rel=1e-12)
    assert r.attainable_serial(pi / beta, pi, beta) == pytest.approx(pi / 2, rel=1e-12)


def test_bytes_in_flight_of_an_h100():
    # Little's law: 3.35 TB/s x 600 ns = 2.0 MB, 15 KB on each of 132 multiprocessors, about 120 lines of 128 B
    need = float(r.bytes_to_saturate(3.35e12, 600e-9))
    assert need == pytest.approx(2.01e6, rel=1e-12)
    assert need / 132 == pytest.approx(15.2e3, rel=5e-3)
    assert need / 132 / 128 == pytest.approx(119, abs=1)
    assert r.bandwidth_in_flight(3.35e12, need / 2, 600e-9) == pytest.approx(3.35e12 / 2)
    assert r.bandwidth_in_flight(3.35e12, need * 9, 600e-9) == 3.35e12


@given(W=POSITIVE, Q=POSITIVE, pi=POSITIVE, beta=POSITIVE)
def test_times_bound_each_other_and_rates_are_work_over_time(W, Q, pi, beta):
    fast, slow = float(r.time_overlapped(W, Q, pi, beta)), float(r.time_serial(W, Q, pi, beta))
    assert fast <= slow <= 2 * fast * (1 + 1e-12)
    assert float(r.attainable(W / Q, pi, beta)) == pytest.approx(W / fast, rel=1e-9)
    assert float(r.attainable_serial(W / Q, pi, beta)) == pytest.approx(W / slow, rel=1e-9)


@given(W=POSITIVE, Q=POSITIVE, scale=st.floats(1e-3, 1e3))
def test_time_is_homogeneous(W, Q, scale):
    one = float(r.time_overlapped(W, Q, 1e12, 1e9))
    assert float(r.time_overlapped(scale * W, scale * Q, 1e12, 1e9)) == pytest.approx(scale * one, rel=1e-12)


def test_a_grid_equals_its_points():
    W, Q = np.geomspace(1e6, 1e15, 7)[:, None], np.geomspace(1e3, 1e12, 5)[None, :]
    for function in (r.time_overlapped, r.time_serial):
        grid = function(W, Q, 1e15, 3e12)
        assert grid.shape == (7, 5)
        for i in range(7):
            for j in range(5):
                point = float(function(float(W[i, 0]), float(Q[0, j]), 1e15, 3e12))
                assert grid[i, j] == pytest.approx(point, rel=1e-12)


def test_the_tightest_boundary_binds_and_the_peak_where_none_does():
    rate, index = r.hierarchical(100.0, [10.0, 1.0], [np.array([5.0, 50.0, 50.0]), np.array([90.0, 200.0, 60.0])])
    assert rate.tolist() == [50.0, 100.0, 60.0]
    assert index.tolist() == [0, -1, 1]
