"""Timing logic against a scripted clock: warm-up, when to stop, which samples count."""

import pytest

from planner.calibration.timing import Patience, Timing, measure, median_interval


def run_of(timer, **patience):
    return measure(timer.sampler(lambda _: None, 3), Patience(**patience), timer.clock)


def test_the_median_and_its_interval_are_order_statistics():
    assert median_interval([1.0, 2.0, 3.0]) == (2.0, 1.0, 3.0)
    middle, low, high = median_interval(list(range(100)))
    assert (middle, low, high) == (49.5, 40, 60)  # 50 ± 0.98·√100


def test_warm_ups_are_run_and_not_counted(fake_timer):
    timer = fake_timer(seconds=lambda i: 9.0 if i < 2 else 1e-3)
    timing = run_of(timer, warmups=2, samples_min=7)
    assert timing.seconds == 1e-3
    assert timer.taken == timing.samples + 2


def test_a_steady_kernel_stops_early_and_a_scattered_one_goes_on(fake_timer):
    steady = run_of(fake_timer(), samples_min=7, samples_max=100)
    assert steady.samples == 8
    assert steady.spread == 0
    scattered = run_of(fake_timer(seconds=lambda i: 1e-3 * (1 + i % 5)), samples_min=7, samples_max=100,
                       seconds_max=9.0)
    assert scattered.samples == 100
    assert scattered.spread > 0.02


def test_time_is_bounded(fake_timer):
    timing = run_of(fake_timer(seconds=lambda i: 0.1 * (1 + i % 3)), warmups=0, samples_min=5, seconds_max=1.0)
    assert timing.samples <= 7


def test_disturbed_samples_do_not_count_while_there_are_enough_others(fake_timer):
    timing = run_of(fake_timer(seconds=lambda i: 5e-3 if i % 2 else 1e-3, disturbed=lambda i: i % 2 == 1), warmups=0)
    assert timing.seconds == timing.high == 1e-3
    assert timing.usable
    assert timing.disturbed == pytest.approx(0.5)


def test_a_kernel_that_is_never_left_alone_is_unusable_and_waited_for_longer(fake_timer):
    timing = run_of(fake_timer(seconds=lambda _: 0.1, disturbed=lambda _: True), warmups=0, seconds_max=0.5,
                    seconds_disturbed=2.0)
    assert not timing.usable
    assert timing.disturbed == 1.0
    assert timing.samples in (20, 21)


def test_spread_is_half_the_interval_over_the_median():
    timing = Timing(seconds=2.0, low=1.0, high=4.0, samples=9, disturbed=0.0)
    assert timing.spread == 0.75
