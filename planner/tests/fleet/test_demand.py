import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand, cosine_day, hours_of_period, slices, weekly
from planner.core.quantities.units import HOURS_PER_MONTH


def test_a_week_has_its_peak_where_both_shapes_peak():
    load = weekly(12.0, np.arange(24) + 1, [1, 1, 1, 1, 1, 0.5, 0.5])
    assert load.shape == (168,)
    assert load.max() == 12.0
    assert load[23] == 12.0
    assert load[5 * 24 + 23] == 6.0


@pytest.mark.parametrize("ratio", [1.0, 1.4, 2.0])
def test_a_cosine_day_has_the_asked_peak_to_mean(ratio):
    day = cosine_day(ratio)
    assert day.max() / day.mean() == pytest.approx(ratio, rel=1e-12)
    assert day.argmax() == 14 if ratio > 1 else day.min() == day.max()
    assert day.min() >= 0


def test_growth_compounds_by_month_inside_a_quarter():
    demand, calendar = Demand(hourly=np.array([10.0]), growth=0.1), Calendar(periods=2, months_per_period=3)
    assert hours_of_period(demand, calendar, 1) == pytest.approx([10 * 1.1**3, 10 * 1.1**4, 10 * 1.1**5])
    cut = slices([demand], calendar)
    assert cut.peak[0] == pytest.approx([10 * 1.1**2, 10 * 1.1**5])
    assert cut.mean[0, 0] == pytest.approx(10 * (1 + 1.1 + 1.21) / 3)


def test_an_hourly_record_is_cut_by_period():
    hours = np.arange(2 * HOURS_PER_MONTH) + 1.0
    cut = slices([Demand(hourly=hours, covers_horizon=True)], Calendar(periods=2))
    assert cut.peak[0, 1] == hours.max()
    assert cut.peak[0, 0] == pytest.approx(HOURS_PER_MONTH, abs=1)
    with pytest.raises(InvalidQuantity, match="ends after"):
        slices([Demand(hourly=hours, covers_horizon=True)], Calendar(periods=3))


def test_blocks_keep_the_mean_and_rank_by_joint_load():
    rng = np.random.default_rng(1)
    demands = [Demand(hourly=rng.uniform(1, 9, 168)), Demand(hourly=rng.uniform(1, 9, 168))]
    one, four = slices(demands, Calendar(periods=2)), slices(demands, Calendar(periods=2), blocks=4)
    assert four.peak.shape == (2, 8)
    assert four.share.sum() == pytest.approx(2.0)
    assert (four.peak.max(axis=1) == one.peak.max(axis=1)).all()
    for w in range(2):
        assert four.share[:4] @ four.mean[w, :4] == pytest.approx(one.mean[w, 0])


@pytest.mark.parametrize("call", [
    lambda: Demand(hourly=np.zeros((2, 2))), lambda: Demand(hourly=np.zeros(3)), lambda: Demand(hourly=-np.ones(1)),
    lambda: Demand(hourly=np.array([1.0, np.nan])), lambda: Demand(hourly=np.array([1.0]), growth=-1.0),
    lambda: weekly(1.0, [1.0] * 23, [1.0] * 7), lambda: weekly(1.0, [0.0] * 24, [1.0] * 7), lambda: cosine_day(2.5),
    lambda: Calendar(periods=0), lambda: Calendar(periods=300), lambda: Calendar(periods=3, discount_rate=-0.1),
    lambda: slices([Demand(hourly=np.ones(3)), Demand(hourly=np.ones(4))], Calendar(periods=1), blocks=2),
    lambda: slices([Demand(hourly=np.ones(3))], Calendar(periods=1), blocks=5),
])
def test_nonsense_is_refused(call):
    with pytest.raises(InvalidQuantity):
        call()


def test_an_idle_hour_of_one_workload_does_not_break_the_ranking():
    demands = [Demand(hourly=np.array([0.0, 2.0])), Demand(hourly=np.array([3.0, 0.0]))]
    assert slices(demands, Calendar(periods=1), blocks=2).peak.shape == (2, 2)


def test_worth_falls_with_time():
    calendar = Calendar(periods=12, months_per_period=1, discount_rate=0.21)
    assert calendar.worth_at_end() == pytest.approx(1 / 1.21)
    assert calendar.worth_at_start()[0] == 1.0
    assert calendar.worth_in_middle()[0] == pytest.approx(1.21 ** (-0.5 / 12))
    assert calendar.period_s == pytest.approx(365.25 * 86400 / 12)
