"""The master of the slices: which pattern carries each slice, and the terms on which its units are had."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from planner.core.fleet.columns import Columns
from planner.core.fleet.highs import TOLERANCE
from planner.core.fleet.patterns import Pattern, SliceProgram
from planner.core.fleet.plan import Counts, Plan
from planner.core.fleet.program import Program, there
from planner.core.fleet.readout import trimmed, units_of
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.solver import solve
from planner.core.fleet.ways import size_pool
from planner.core.quantities.arrays import Array

ARTIFICIAL = 100.0
"""[1] Price of a missing unit over the dearest real one: high enough to leave, low enough not to drown the prices."""
CONVEX, LINK = "pattern", "link"


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

    def share_prices(self) -> Array:
        """Present value of sending all requests of a slice to an API.

        Returns
        -------
        ndarray
            (slice, api) [USD].
        """
        place, count = self.base.columns, self.scenario.moments.period.size
        prices = np.zeros((count, len(self.scenario.apis)))
        for a in range(len(self.scenario.apis)):
            prices[:, a] = self.base.cost[place.api(a, 0):place.api(a, 0) + count]
        return prices

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


def add_single_pools(master: Master) -> None:
    """Add, for every slice, what each pool would need alone.

    Parameters
    ----------
    master : Master
        What to add to.
    """
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


def choose(master: Master, place: Columns, *, gap: float, time_limit_s: float) -> Plan | None:
    """The best plan made of the patterns found.

    Parameters
    ----------
    master : Master
        Its patterns.
    place : Columns
        The variables of the exact programme.
    gap : float
        Relative gap to stop at [1].
    time_limit_s : float
        [s].

    Returns
    -------
    Plan or None
        None when no plan is made of these patterns, or none was found in time.
    """
    asked = master.program()
    answer = solve(asked, asked.cost, gap=gap, time_limit_s=time_limit_s)
    base, moments = master.base.columns, master.scenario.moments.period.size
    if answer.x is None or answer.x[base.count:base.count + master.links * moments].max(initial=0.0) > TOLERANCE:
        return None
    plan = units_of(replace(master.base, columns=base), answer.x)
    replicas: dict[tuple[str, int], Counts] = {}
    for value, pattern in zip(answer.x[base.count + master.links * moments:], master.patterns, strict=True):
        if value > 0.5:
            for key, count in pattern.replicas.items():
                replicas.setdefault(key, np.zeros(moments, dtype=np.int64))[pattern.moment] = count
    return trimmed(plan, place, replicas)
