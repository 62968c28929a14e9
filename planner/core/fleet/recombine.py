"""The cheapest fleet put together from slices of many: what carries a slice is known, what to have over time is asked.

A search for fleets meets many units that carry a slice with whole replicas, most of them in fleets that are dear
elsewhere. Which of them go together, and on what terms, is a small programme of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from planner.core.fleet.highs import TOLERANCE
from planner.core.fleet.master import Master
from planner.core.fleet.patterns import Pattern
from planner.core.fleet.solver import solve
from planner.core.quantities.arrays import Array

MOST_PATTERNS = 100
"""[1] Of a slice, those first that differ least from the fleet's own."""
GAP = 1e-4
"""[1] At which a choice ends."""


def recombined(master: Master, found: Iterable[Pattern], x: Array, units: Array, *,
               time_limit_s: float) -> tuple[Array, dict[int, Pattern]] | None:
    """The cheapest fleet whose slices are all known.

    Parameters
    ----------
    master : Master
        The slices, and what units cost.
    found : iterable of Pattern
        Units that carry a slice, and the replicas they do it with.
    x : ndarray
        (column,) units of a fleet to begin at.
    units : ndarray
        (slice, pool) of that fleet; what is nearest to it is looked at first [1].
    time_limit_s : float
        [s].

    Returns
    -------
    tuple or None
        (column,) units, and the pattern of every slice by its number; None when none was found in time.
    """
    own = replace(master, patterns=[], seen=set())
    by_slice: list[list[Pattern]] = [[] for _ in units]
    for pattern in found:
        by_slice[pattern.moment].append(pattern)
    for moment, patterns in enumerate(by_slice):
        for pattern in _least(patterns, units[moment]):
            own.add(pattern)
    asked = own.program()
    first = asked.columns.count - len(own.patterns)
    start = np.zeros(asked.columns.count)
    start[:x.size] = x
    for moment, there in enumerate(units):
        enough = [n for n, p in enumerate(own.patterns) if p.moment == moment and (p.units <= there).all()]
        start[[first + n for n in enough[:1]]] = 1.0
    answer = solve(asked, asked.cost, gap=GAP, time_limit_s=time_limit_s, start=start)
    if answer.x is None or answer.x[own.base.columns.count:first].max(initial=0.0) > TOLERANCE:
        return None
    chosen = {own.patterns[n].moment: own.patterns[n] for n in np.flatnonzero(answer.x[first:] > 0.5)}
    x = answer.x[:x.size]
    return np.where(own.base.integer == 1, np.round(x), x), chosen


def _least(patterns: list[Pattern], units: Array) -> list[Pattern]:
    """Those that no other does with fewer units, nearest first."""
    kept: list[Pattern] = []
    for pattern in sorted(patterns, key=lambda p: float(np.abs(p.units - units).sum())):
        if any((other.units <= pattern.units).all() for other in kept):
            continue
        kept = [other for other in kept if not (pattern.units <= other.units).all()]
        kept.append(pattern)
        if len(kept) == MOST_PATTERNS:
            break
    return kept
