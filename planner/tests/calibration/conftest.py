"""Doubles of the outside world for calibration tests: a clock and a device whose kernels take known times."""

import pytest

from planner.calibration.timing import Sample


class FakeClock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class FakeTimer:
    """Runs a kernel once for its result and reports times from a script, advancing the clock."""

    def __init__(self, clock, seconds=lambda _: 1e-3, disturbed=lambda _: False):
        self.clock, self.seconds, self.disturbed = clock, seconds, disturbed
        self.taken = 0

    def sampler(self, run, rotations):
        def sample():
            run(self.taken % rotations)
            seconds = self.seconds(self.taken)
            self.clock.now += seconds
            self.taken += 1
            return Sample(seconds=seconds, disturbed=self.disturbed(self.taken - 1))

        return sample


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def fake_timer(clock):
    return lambda **how: FakeTimer(clock, **how)
