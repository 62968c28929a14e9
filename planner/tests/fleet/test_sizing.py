import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.errors import InvalidQuantity
from planner.core.fleet.power import energy, joules_per_token, kilowatt_hours, meter_power, unit_power
from planner.core.fleet.sizing import (
    CHAT_SHARE,
    in_flight_of_users,
    rate_of_in_flight,
    rate_of_users,
    replicas,
    required,
    slot,
)


def test_five_hundred_users_are_twenty_five_to_fifty_in_flight():
    # The 5-10 % rule of the cited guide applied to its own example of 500 users.
    assert in_flight_of_users(500, CHAT_SHARE.low) == pytest.approx(25)
    assert in_flight_of_users(500, CHAT_SHARE.high) == pytest.approx(50)
    assert CHAT_SHARE.low <= CHAT_SHARE.value <= CHAT_SHARE.high
    assert "garagegeekblog" in CHAT_SHARE.source


def test_rates_of_people_and_of_requests_in_flight():
    assert rate_of_users(1800, 6) == pytest.approx(3.0)
    assert rate_of_in_flight(50, 25.0) == pytest.approx(2.0)


def test_replicas_with_headroom_and_spares():
    assert replicas(10.0, 3.0) == 4
    assert replicas(9.0, 3.0) == 3
    assert replicas(9.0 * (1 + 1e-12), 3.0) == 3
    assert replicas(9.0, 3.0, headroom=0.2) == 4
    assert replicas(9.0, 3.0, headroom=0.2, spare=2) == 6
    assert replicas(0.0, 3.0, spare=2) == 0
    assert replicas(np.array([3.0, 6.0]), np.array([[3.0], [1.5]])).tolist() == [[1, 2], [2, 4]]


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e3), st.floats(0, 1), st.integers(0, 3))
def test_the_fleet_still_carries_the_load_when_spares_are_lost(load, capacity, headroom, spare):
    count = int(replicas(load, capacity, headroom, spare))
    need = float(required(load, headroom))
    assert (count - spare) * capacity >= need * (1 - 1e-8)
    assert (count - spare - 1) * capacity < need


@pytest.mark.parametrize(("gpus", "unit", "taken"), [
    (1, 8, 1), (2, 8, 2), (3, 8, 4), (6, 8, 8), (8, 8, 8), (9, 8, 16), (16, 8, 16), (3, 1, 3), (5, 12, 12), (3, 9, 3),
    (4, 72, 4), (8, 72, 8), (16, 72, 24)])
def test_slots_follow_the_unit_divisors(gpus, unit, taken):
    assert slot(gpus, unit) == taken


@given(st.integers(1, 16), st.lists(st.integers(1, 16), min_size=1, max_size=12))
def test_slots_pack_into_the_units_their_sum_asks_for(unit, sizes):
    slots = sorted((slot(min(g, unit), unit) for g in sizes), reverse=True)
    free = [unit] * -(-sum(slots) // unit)
    for size in slots:
        place = next(i for i, room in enumerate(free) if room >= size)
        free[place] -= size
    assert min(free) >= 0


def test_power_and_energy():
    watts = unit_power(8, 700.0, 4600.0)
    assert watts == 10_200.0
    assert meter_power(watts, 1.3) == pytest.approx(13_260.0)
    assert kilowatt_hours(energy(watts, 3600.0, 1.3, 0.5)) == pytest.approx(6.63)
    assert joules_per_token(3.6e6, 1e6) == pytest.approx(3.6)


@pytest.mark.parametrize("call", [
    lambda: in_flight_of_users(100, 1.2), lambda: in_flight_of_users(0, 0.1), lambda: rate_of_users(10, -1),
    lambda: rate_of_in_flight(10, 0), lambda: replicas(-1.0, 1.0), lambda: replicas(1.0, 0.0),
    lambda: replicas(1.0, 1.0, spare=-1), lambda: required(1.0, -0.1), lambda: slot(0, 8), lambda: unit_power(8, 0.0),
    lambda: meter_power(100.0, 0.9), lambda: energy(1.0, 1.0, 1.0, 1.5), lambda: joules_per_token(1.0, 0.0)])
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidQuantity):
        call()
