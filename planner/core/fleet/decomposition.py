"""Large fleets: slice by slice where slices tell what units are worth, else whole units first and replicas after.

Units link the slices, replicas do not. Where prices no offer undercuts bound closely, every slice answers with its
cheapest pattern at those prices, and the sum is the bound. Where offers compete over time they do not: then the
programme of whole units with divisible replicas bounds, and its fleets get whole replicas slice by slice.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.clock import Clock
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import cover_prices
from planner.core.fleet.divisible import ROOM, divisible
from planner.core.fleet.master import Master, add_single_pools, choose
from planner.core.fleet.patterns import Pattern, slice_programs
from planner.core.fleet.plan import Plan
from planner.core.fleet.program import Program, frame
from planner.core.fleet.projection import projection
from planner.core.fleet.refit import refitted
from planner.core.fleet.search import Search, cheaper
from planner.core.fleet.solver import duals, solve
from planner.core.quantities.arrays import Array

WORKERS = 2
"""[1] Slices solved at once."""
LEAST_SLICE_S = 0.02
"""[s] Even an overdue slice gets this long; it is what presolve and one heuristic take."""
ALONE = 0.8
"""[1] Part of the gap a slice may use up when nothing is bought, so that slices do not meet."""
BOUND_SHARE = 0.9
"""[1] Share of the time after which the search for a bound ends."""
LATEST_START = 0.8
"""[1] Share of the time after which whole units are no longer begun with."""
MOST_ENTRIES = 10_000_000
"""[1] Rows times columns up to which programmes are held as matrices; beyond, the relaxation is searched as it is."""


def decompose(asked: Program, *, gap: float, time_limit_s: float) -> tuple[Plan | None, float | None]:
    """A plan and a lower bound of a large programme.

    Parameters
    ----------
    asked : Program
        The whole programme.
    gap : float
        Relative gap to aim for [1].
    time_limit_s : float
        [s].

    Returns
    -------
    tuple
        The plan and the bound [USD]; None where none was found in time.

    Notes
    -----
    When the slices' own relaxations at ``cover_prices`` come within the gap of the relaxed programme, every slice is
    priced whole there, whose sum of optima is a bound that is tight when nothing is bought or demand only grows; then,
    from the largest slice down, with no more units than a larger slice has, which gives patterns that commitments cover
    without waste. Else, or if that leaves a gap, whole units with divisible replicas bound and ``search`` finds fleets.

    References
    ----------
    Dantzig and Wolfe, Decomposition principle for linear programs, Operations Research 8(1), 1960,
    doi:10.1287/opre.8.1.101; Lasdon, Optimization theory for large systems, 1970, §3.7 (the bound).
    """
    clock, scenario = Clock(time_limit_s), asked.scenario
    base = frame(scenario, replace(asked.columns, pairs=(), marked=()))
    master = Master(scenario=scenario, base=base, slices=slice_programs(scenario))
    prices, shares = cover_prices(scenario), master.share_prices()
    relaxed = divisible(scenario, asked.columns)
    least = solve(relaxed, relaxed.cost, gap=0.0, time_limit_s=max(clock.left(0.3), LEAST_SLICE_S), relaxed=True)
    plan, bound = None, 0.0 if least.bound is None else least.bound * (1.0 - ROOM)
    if least.value is None or _divisible_at(master, prices, shares) >= (1.0 - gap) * least.value:
        plan, below = _by_slices(master, asked, prices, shares, clock, gap)
        bound = max(bound, below)
    wide = plan is None or (_linked(asked) and ledger(plan).npv - bound > gap * abs(ledger(plan).npv))
    if least.x is not None and wide and clock.left(LATEST_START) > 0:
        other, below = _by_units(master, asked, relaxed, bound, clock, gap)
        bound = max(bound, below)
        plan = cheaper(plan, other)
    return plan, bound if bound > 0 else None


def _linked(asked: Program) -> bool:
    """Whether slices meet: something is bought or reserved, or there is one purse for all."""
    return bool(asked.columns.commitments) or asked.scenario.limits.budget_usd is not None


def _divisible_at(master: Master, prices: Array, shares: Array) -> float:
    """Cost of all slices at these prices with divisible units: in milliseconds, whether whole ones are worth asking."""
    return float(sum(one.relaxed(prices[s], shares[s]) for s, one in enumerate(master.slices)))


def _by_slices(master: Master, asked: Program, prices: Array, shares: Array, clock: Clock,
               gap: float) -> tuple[Plan | None, float]:
    """Every slice at prices no offer undercuts, then nested, then the terms on which its units are had."""
    linked = _linked(asked)
    first = _price_all(master, prices, shares, gap=(0.3 if linked else ALONE) * gap,
                       budget_s=clock.left(0.5 if linked else 0.9))
    chosen = [pattern for pattern, _ in first if pattern is not None]
    if len(chosen) < len(first):
        return None, 0.0
    for pattern in chosen:
        master.add(pattern)
    add_single_pools(master)
    if linked:
        _nest(master, chosen, prices, shares, clock, gap)
    plan = choose(master, asked.columns, gap=gap / 10, time_limit_s=max(clock.left(0.7), 0.2))
    busy = np.flatnonzero(asked.scenario.moments.peak.sum(axis=0) > 0)  # an idle slice's programme has a trace of load
    return plan, sum(max(first[s][1], 0.0) for s in busy)


def _by_units(master: Master, asked: Program, relaxed: Program, least: float, clock: Clock,
              gap: float) -> tuple[Plan | None, float]:
    """Whole units with divisible replicas: a search for the bound, and beside it one for fleets of whole replicas."""
    if len(relaxed.rows.name) * relaxed.columns.count > MOST_ENTRIES:
        found = solve(relaxed, relaxed.cost, gap=gap / 4, time_limit_s=max(clock.left(LATEST_START), LEAST_SLICE_S))
        plan = None if found.x is None else refitted(master, asked.columns, relaxed, np.asarray(found.x), clock)
        return plan, 0.0 if found.bound is None else float(found.bound)
    search = Search(master=master, place=asked.columns, relaxed=relaxed, least=least, clock=clock, gap=gap)
    with ThreadPoolExecutor(1) as pool:
        bound = pool.submit(bounded, relaxed, clock, gap, search.told)
        plan = search.best()
        above, x = bound.result()
    if plan is None and x is not None and clock.left(1.0) > 0:
        plan = refitted(master, asked.columns, projection(relaxed).asked, x, clock)
    return plan, above


def bounded(relaxed: Program, clock: Clock, gap: float, told: Callable[[float], bool]) -> tuple[float, Array | None]:
    """A bound of a relaxation with whole units, and the cheapest solution met.

    Parameters
    ----------
    relaxed : Program
        Whole units, divisible replicas.
    clock : Clock
        The time.
    gap : float
        Relative gap to aim for [1].
    told : callable
        Is told a bound [USD] and says whether it is good enough.

    Returns
    -------
    tuple
        The bound [USD], and (column,) units, or None when none were found.
    """
    own = projection(relaxed)
    if own.relax() is None:
        return 0.0, None
    least = 0.0
    with suppress(InvalidQuantity):  # no prices in time: a search bounds as well
        least = duals(own.asked)[0] * (1.0 - ROOM)
    if told(least):
        return least, None
    found = solve(own.asked, own.asked.cost, gap=gap / 4, time_limit_s=max(clock.left(BOUND_SHARE), LEAST_SLICE_S))
    return max(least, found.bound or 0.0), found.x


def _price_all(master: Master, prices: Array, shares: Array, *, gap: float,
               budget_s: float) -> list[tuple[Pattern | None, float]]:
    """Every slice's cheapest pattern and bound; HiGHS releases the interpreter, so slices run side by side."""
    clock, done = Clock(budget_s), itertools.count()

    def one(s: int) -> tuple[Pattern | None, float]:
        limit = max(WORKERS * clock.left(1.0) / max(len(master.slices) - next(done), 1), LEAST_SLICE_S)
        return master.slices[s].cheapest(prices[s], shares[s], gap=gap, time_limit_s=limit)

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, range(len(master.slices))))


def _nest(master: Master, chosen: list[Pattern], prices: Array, shares: Array, clock: Clock, gap: float) -> None:
    """Add, from the largest slice down, patterns with no more units than the next larger slice has."""
    peak = master.scenario.moments.peak
    order = sorted(range(len(chosen)), key=lambda s: (-float(peak[:, s].sum()), s))
    above = chosen[order[0]]
    for n, s in enumerate(order[1:], 1):
        inside = bool((chosen[s].units <= above.units).all())
        pattern: Pattern | None = chosen[s]
        if not inside and (peak[:, s] <= peak[:, above.moment]).all():
            limit = max(clock.left(0.85) / (len(order) - n), 0.03)
            pattern, _ = master.slices[s].cheapest(prices[s], shares[s], gap=gap / 10, time_limit_s=limit,
                                                   at_most=above.units)
            # The larger slice's own replicas always carry a smaller one.
            pattern = replace(above, moment=s) if pattern is None else pattern
        above = pattern if pattern is not None else chosen[s]
        master.add(above)
