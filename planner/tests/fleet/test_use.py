"""How busy a plan is over a week."""

from dataclasses import replace

import numpy as np
import pytest

from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand
from planner.core.fleet.economics import utilization_by_hour, week_of_use
from planner.tests.fleet import build
from planner.tests.fleet.test_answers import named


def used(hourly, *, growth=0.0, months=1, **demand):
    workload = replace(build.workload(), demand=Demand(hourly=np.array(hourly), growth=growth, **demand))
    scenario = build.scenario(workloads=(workload,), calendar=Calendar(periods=1, months_per_period=months))
    plan = named(scenario, "rent").plan
    return week_of_use(plan, "chat", 0), utilization_by_hour(plan, "chat", 0)


def test_a_week_of_use_repeats_a_shorter_pattern_and_takes_the_busiest_month():
    flat, _ = used([10.0], months=3)
    assert flat == pytest.approx(np.full(168, flat[0]))
    day = np.arange(1.0, 25.0)
    week, whole = used(day, growth=0.1, months=3)
    assert week.shape == (168,)
    assert week[:24] == pytest.approx(whole[48:])
    assert week[24:48] == pytest.approx(week[:24])
    shrinking, whole = used(day, growth=-0.1, months=3)
    assert shrinking[:24] == pytest.approx(whole[:24])


@pytest.mark.parametrize(("peak", "start"), [(3, 0), (170, 168), (729, 730 - 168)])
def test_a_week_of_a_longer_load_is_that_of_its_busiest_hour(peak, start):
    load = np.ones(730)
    load[peak] = 9.0
    for covers in (False, True):
        week, whole = used(load, covers_horizon=covers)
        assert week == pytest.approx(whole[start:start + 168])
        assert week.max() == whole.max()
