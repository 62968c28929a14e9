"""Whole replicas on a fleet's units by the solver, slice by slice, with more rents where they do not fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from planner.core.fleet.clock import Clock
from planner.core.fleet.columns import Columns
from planner.core.fleet.cover import rents
from planner.core.fleet.master import Master, choose
from planner.core.fleet.patterns import Pattern
from planner.core.fleet.plan import Plan
from planner.core.fleet.program import Program
from planner.core.fleet.readout import units_of
from planner.core.quantities.arrays import Array

LATEST_SHARE = 0.95
"""[1] Share of the time after which all slices are fitted."""
LEAST_CHOICE_S = 0.2
"""[s] Even an overdue choice of terms gets this long: a fleet without terms is none."""
LEAST_S = 0.05
"""[s] Even an overdue slice gets this long; it is what presolve and one heuristic take."""
WORKERS = 2
"""[1] Slices fitted at once; they share the two cores with the bound."""
FIT_S = 0.5
"""[s] to fit whole replicas on the units of a slice; one that takes longer gets more units."""
FIT_GAP = 0.01
"""[1] Of a slice that rents more."""


def refitted(master: Master, place: Columns, asked: Program, x: Array, clock: Clock) -> Plan | None:
    """The fleet with whole replicas, on more units where they do not fit.

    Parameters
    ----------
    master : Master
        The slices.
    place : Columns
        Variables of the exact programme.
    asked : Program
        Whose columns units are.
    x : ndarray
        (column,) of a fleet of whole units.
    clock : Clock
        The time.

    Returns
    -------
    Plan or None
        None when none was found in time.
    """
    plan = units_of(asked, x)
    units = np.array([plan.pool_units(pool) for pool in master.scenario.pools])
    kept = replace(plan, running={})
    owned = np.array([kept.pool_units(pool) for pool in master.scenario.pools])
    with ThreadPoolExecutor(WORKERS) as pool:
        patterns = list(pool.map(lambda s: _pattern(master, s, units[:, s], owned[:, s], clock), range(place.slices)))
    own = replace(master, patterns=[], seen=set())
    for pattern in patterns:
        if pattern is None:
            return None
        own.add(pattern)
    return choose(own, place, gap=1e-4, time_limit_s=max(clock.left(1.0), LEAST_CHOICE_S))


def _pattern(master: Master, moment: int, units: Array, owned: Array, clock: Clock) -> Pattern | None:
    """Whole replicas on these units, else on what is owned and the cheapest rents."""
    one, (prices, most) = master.slices[moment], rents(master.scenario)
    shares = master.share_prices()[moment]
    limit = max(WORKERS * clock.left(LATEST_SHARE) / (len(master.slices) - moment), LEAST_S)
    pattern, _ = one.cheapest(np.zeros_like(units), shares, gap=FIT_GAP, time_limit_s=min(limit, FIT_S), at_most=units,
                              at_least=units)
    if pattern is None:
        pattern, _ = one.cheapest(prices[moment], shares, gap=FIT_GAP, time_limit_s=limit, at_least=owned,
                                  at_most=owned + most[moment])
    return pattern
