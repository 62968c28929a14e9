r"""Large fleets slice by slice: Dantzig-Wolfe over the patterns of each slice, which bounds far closer than rounding.

Units link the slices, replicas do not. The master chooses one pattern per slice and the units that cover it; each slice
answers with its cheapest pattern at the master's prices. Any prices give a lower bound:

.. math:: LB = master + \sum_s \min(0, cheapest_s - \sigma_s)
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.clock import Clock
from planner.core.fleet.columns import Columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.cover import cover_prices
from planner.core.fleet.patterns import Pattern, SliceProgram, slice_programs
from planner.core.fleet.plan import Counts, Plan
from planner.core.fleet.program import Program, frame, there
from planner.core.fleet.readout import trimmed, units_of
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.solver import duals, solve
from planner.core.fleet.ways import size_pool
from planner.core.quantities.arrays import Array

ARTIFICIAL = 100.0
"""[1] Price of a missing unit over the dearest real one: high enough to leave, low enough not to drown the prices."""
CONVEX, LINK = "pattern", "link"
WORKERS = 2
"""[1] Slices solved at once."""
LEAST_SLICE_S = 0.02
"""[s] Even an overdue slice gets this long; it is what presolve and one heuristic take."""


@dataclass(slots=True, kw_only=True)
class Master:
    """The restricted master: units, patterns found so far, and missing units at a high price."""

    scenario: Scenario
    base: Program
    """Costs and rows of units alone."""
    slices: list[SliceProgram]
    patterns: list[Pattern] = field(default_factory=list)
    seen: set[tuple[float, ...]] = field(default_factory=set)

    @property
    def links(self) -> int:
        """Rows per slice that tie patterns to units: pools, then APIs [1]."""
        return len(self.scenario.pools) + len(self.scenario.apis)

    def add(self, pattern: Pattern | None) -> bool:
        """Add a pattern not seen before.

        Parameters
        ----------
        pattern : Pattern or None
            What a slice answered.

        Returns
        -------
        bool
            Whether it was new.
        """
        if pattern is None or pattern.key in self.seen:
            return False
        self.seen.add(pattern.key)
        self.patterns.append(pattern)
        return True

    def program(self) -> Program:
        """The master as a programme.

        Returns
        -------
        Program
            Columns: units and API shares, missing units, patterns.
        """
        place, moments, pools = self.base.columns, self.scenario.moments.period, self.scenario.pools
        missing, first = place.count, place.count + self.links * moments.size
        rows = self.base.rows.copy()
        mine: list[list[int]] = [[] for _ in moments]
        for k, pattern in enumerate(self.patterns):
            mine[pattern.moment].append(k)
        for s, period in enumerate(moments):
            for p, pool in enumerate(pools):
                units = [(c, -v) for o in pool.offers for c, v in there(place, o, s, int(period))]
                rows.add(LINK, [*((first + k, float(self.patterns[k].units[p])) for k in mine[s]), *units,
                                (missing + s * self.links + p, -1.0)], upper=0.0)
            for a in range(len(self.scenario.apis)):
                rows.add(LINK, [*((first + k, float(self.patterns[k].shares[a])) for k in mine[s]),
                                (place.api(a, s), -1.0), (missing + s * self.links + len(pools) + a, -1.0)], upper=0.0)
            rows.add(CONVEX, [(first + k, 1.0) for k in mine[s]], lower=1.0, upper=1.0)
        extra, dear = self.links * moments.size, ARTIFICIAL * max(float(self.base.cost.max(initial=0.0)), 1.0)
        found = len(self.patterns)
        return Program(scenario=self.scenario, columns=replace(place, extra=extra + found),
                       cost=np.concatenate([self.base.cost, np.full(extra, dear), np.zeros(found)]),
                       upper=np.concatenate([self.base.upper, np.full(extra, np.inf), np.ones(found)]),
                       integer=np.concatenate([self.base.integer, np.zeros(extra, dtype=np.int64),
                                               np.ones(found, dtype=np.int64)]), rows=rows)

    def prices(self) -> tuple[float, Array, Array]:
        """Value, link prices and pattern prices of the relaxed master.

        Returns
        -------
        tuple
            Value [USD], (slice, link) [USD], (slice,) [USD].
        """
        asked = self.program()
        value, marginals = duals(asked)
        names = np.array(asked.rows.name)
        link = np.maximum(-marginals[names == LINK], 0.0).reshape(self.scenario.moments.period.size, self.links)
        return value, link, marginals[names == CONVEX]


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
    First every slice is priced with ``cover_prices``, whose sum of optima is a bound that is tight when demand only
    grows; then, from the largest slice down, with no more units than a larger slice has, which gives patterns that
    commitments cover without waste. Only if that leaves a gap do the master's own prices ask for more patterns.

    References
    ----------
    Dantzig and Wolfe, Decomposition principle for linear programs, Operations Research 8(1), 1960,
    doi:10.1287/opre.8.1.101; Lasdon, Optimization theory for large systems, 1970, §3.7 (the bound).
    """
    clock, scenario = Clock(time_limit_s), asked.scenario
    base = frame(scenario, replace(asked.columns, pairs=(), marked=()))
    master = Master(scenario=scenario, base=base, slices=slice_programs(scenario))
    prices, shares = cover_prices(scenario), _share_prices(base, scenario)
    first = _price_all(master, prices, shares, gap=0.3 * gap, budget_s=clock.left(0.7))
    chosen = [pattern for pattern, _ in first if pattern is not None]
    if len(chosen) < len(first):
        return None, None
    for pattern in chosen:
        master.add(pattern)
    bound = sum(max(least, 0.0) for _, least in first)
    _add_single_pools(master)
    _nest(master, chosen, prices, shares, clock, gap)
    plan = _choose(master, asked.columns, gap=gap / 4, time_limit_s=max(clock.left(0.9), 0.2))
    if plan is None or ledger(plan).npv - bound > gap * abs(bound):
        bound = max(bound, _refine(master, clock, gap))
        plan = _choose(master, asked.columns, gap=gap / 4, time_limit_s=max(clock.left(1.0), 0.2))
    return plan, bound


def _price_all(master: Master, prices: Array, shares: Array, *, gap: float,
               budget_s: float) -> list[tuple[Pattern | None, float]]:
    """Every slice's cheapest pattern and bound; HiGHS releases the interpreter, so slices run side by side."""
    clock, done = Clock(budget_s), itertools.count()

    def one(s: int) -> tuple[Pattern | None, float]:
        limit = max(WORKERS * clock.left(1.0) / max(len(master.slices) - next(done), 1), LEAST_SLICE_S)
        return master.slices[s].cheapest(prices[s], shares[s], gap=gap, time_limit_s=limit)

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, range(len(master.slices))))


def _share_prices(base: Program, scenario: Scenario) -> Array:
    """(slice, api) present value of sending all requests of a slice to an API [USD]."""
    place, count = base.columns, scenario.moments.period.size
    prices = np.zeros((count, len(scenario.apis)))
    for a in range(len(scenario.apis)):
        prices[:, a] = base.cost[place.api(a, 0):place.api(a, 0) + count]
    return prices


def _add_single_pools(master: Master) -> None:
    """Add, for every slice, what each pool would need alone."""
    scenario = master.scenario
    for index in range(len(scenario.pools)):
        sized = size_pool(scenario, index)
        if isinstance(sized, str):
            continue
        for s in range(scenario.moments.period.size):
            units = np.zeros(len(scenario.pools))
            units[index] = sized.units[s]
            replicas = {(p.candidate.id, index): int(p.most[s]) for p in sized.chosen if p.most[s]}
            master.add(Pattern(moment=s, units=units, shares=np.zeros(len(scenario.apis)), replicas=replicas))


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


def _refine(master: Master, clock: Clock, gap: float) -> float:
    """Ask for patterns at the master's own prices until they no longer help; the best bound they prove."""
    best, pools = 0.0, len(master.scenario.pools)
    while clock.left(0.95) > 0:
        try:
            value, link, convex = master.prices()
        except InvalidQuantity:  # the solver gave up on extreme coefficients; what is proven so far still holds
            break
        answers = _price_all(master, link[:, :pools], link[:, pools:], gap=gap / 10, budget_s=clock.left(0.95))
        below = value + sum(min(0.0, least - float(s)) for (_, least), s in zip(answers, convex, strict=True))
        fresh = [pattern for pattern, _ in answers if master.add(pattern)]
        best = max(best, below)
        if not fresh or value - best <= 0.1 * gap * abs(value):
            break
    return best


def _choose(master: Master, place: Columns, *, gap: float, time_limit_s: float) -> Plan | None:
    """The best plan made of the patterns found."""
    asked = master.program()
    answer = solve(asked, asked.cost, gap=gap, time_limit_s=time_limit_s)
    base, moments = master.base.columns, master.scenario.moments.period.size
    if answer.x is None or np.asarray(answer.x)[base.count:base.count + master.links * moments].max(initial=0.0) > 1e-6:
        return None
    plan = units_of(replace(master.base, columns=base), np.asarray(answer.x))
    replicas: dict[tuple[str, int], Counts] = {}
    for value, pattern in zip(answer.x[base.count + master.links * moments:], master.patterns, strict=True):
        if value > 0.5:
            for key, count in pattern.replicas.items():
                replicas.setdefault(key, np.zeros(moments, dtype=np.int64))[pattern.moment] = count
    return trimmed(plan, place, replicas)
