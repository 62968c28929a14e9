"""All-reduce between real processes, and what happens when one fails."""

import pytest

from planner.calibration.kernels import collective
from planner.core.errors import AdapterError


def test_a_ring_moves_twice_the_message_less_one_share():
    assert collective.ask(1000, 4).traffic == 1500.0
    assert collective.ask(1000, 2).traffic == 1000.0


@pytest.mark.slow
def test_two_processes_add_up():
    rows = collective.all_reduce_timings("cpu", 2, sizes=(4096, 65536))
    assert [size for size, _ in rows] == [4096, 65536]
    assert all(timing.seconds > 0 and timing.samples == 15 for _, timing in rows)


@pytest.mark.slow
def test_a_group_that_cannot_form_is_one_sentence():
    with pytest.raises(AdapterError, match="did not finish"):
        collective.all_reduce_timings("cuda", 2, sizes=(4096,))
