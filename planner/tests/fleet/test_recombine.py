from dataclasses import replace

import numpy as np
import pytest

from planner.core.fleet.checks import shortfalls
from planner.core.fleet.columns import columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import rents
from planner.core.fleet.master import Master
from planner.core.fleet.patterns import Pattern, slice_programs
from planner.core.fleet.program import frame
from planner.core.fleet.readout import trimmed, units_of
from planner.core.fleet.recombine import recombined
from planner.tests.fleet.test_large_fleets import large


def fleet(scenario):
    place = columns(scenario)
    base = frame(scenario, replace(place, pairs=(), marked=()))
    return place, Master(scenario=scenario, base=base, slices=slice_programs(scenario))


def priced(master, prices):
    """Every slice's cheapest rented units at one price for each pool."""
    _, most = rents(master.scenario)
    found = [one.cheapest(np.array(prices), np.zeros(0), gap=0.0, time_limit_s=5.0, at_most=most[one.moment])[0]
             for one in master.slices]
    assert None not in found
    return found


@pytest.mark.parametrize("seed", range(3))
def test_slices_of_two_fleets_make_one_no_dearer_than_either(seed):
    scenario = large(seed, skus=3, models=2, periods=4, load=15.0)
    place, master = fleet(scenario)
    pools, nothing = len(scenario.pools), np.zeros(master.base.columns.count)
    rng, costs, all_met = np.random.default_rng(seed), [], []
    for _ in range(2):
        met = priced(master, rng.uniform(0.5, 2.0, size=pools))
        x, chosen = recombined(master, met, nothing, np.array([p.units for p in met]), time_limit_s=5.0)
        assert all(chosen[p.moment] is p for p in met)
        costs.append(float(master.base.cost @ x))
        all_met += met
    x, chosen = recombined(master, all_met, nothing, np.zeros((place.slices, pools)), time_limit_s=5.0)
    assert master.base.cost @ x <= min(costs) * (1 + 1e-4)
    replicas = {}
    for s, pattern in chosen.items():
        for name, count in pattern.replicas.items():
            replicas.setdefault(name, np.zeros(place.slices, dtype=np.int64))[s] = count
    plan = trimmed(units_of(master.base, x), place, replicas)
    assert shortfalls(plan) == ()
    assert ledger(plan).npv == pytest.approx(float(master.base.cost @ x))


def test_units_that_fewer_replace_are_left_out_and_a_slice_without_any_has_no_fleet():
    scenario = large(0, skus=3, models=2, periods=4, load=15.0)
    place, master = fleet(scenario)
    met = priced(master, np.ones(len(scenario.pools)))
    more = [Pattern(moment=p.moment, units=p.units + 1.0, shares=p.shares, replicas=p.replicas) for p in met]
    units, nothing = np.array([p.units for p in more]), np.zeros(master.base.columns.count)
    _, chosen = recombined(master, [*more, *met], nothing, units, time_limit_s=5.0)
    assert all(chosen[p.moment] is p for p in met)
    assert recombined(master, met[1:], nothing, np.zeros((place.slices, len(scenario.pools))), time_limit_s=5.0) is None
