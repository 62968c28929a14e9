"""The fleet with whole units and divisible replicas: a relaxation without layouts, which bounds and shows what to have.

Only the replica that carries most per GPU of each workload and pool matters once replicas divide, so layouts vanish
however many there are; what is left to decide are units.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.columns import Columns, Pair
from planner.core.fleet.program import STRUCTURE, Program, demand_rows, frame, pool_rows, share, there
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import required
from planner.core.fleet.solver import duals
from planner.core.quantities.arrays import Array

NEGLIGIBLE = 1e-9
"""[USD] A price below it is nothing: what is left of the simplex method's own tolerance."""
ROOM = 1e-9
"""[1] Relative room left for rounding where a row is worked out from other rows, so that no plan is cut off."""


def divisible(scenario: Scenario, place: Columns) -> Program:
    """The scenario's programme with whole units and divisible replicas.

    Parameters
    ----------
    scenario : Scenario
        The question.
    place : Columns
        The variables of the exact programme.

    Returns
    -------
    Program
        A relaxation: every plan is a point of it at the same cost.

    Notes
    -----
    With c_i the part of a load that replica i carries and L the largest replica in use, k of which may fail, a plan
    keeps Σ c_i · x_i ≥ 1 + k · c_L. Since c_i ≤ c_L for every replica in use, Σ c_i / (1 + k · c_i) · x_i ≥ 1: what a
    replica is worth with its own spares, whichever is the largest. A GPU of a pool is worth what its best replica is.
    """
    mine: dict[tuple[int, int], list[Pair]] = {}
    for pair in place.pairs:
        mine.setdefault((pair.workload, pair.pool), []).append(pair)
    asked = frame(scenario, replace(place, pairs=tuple(pairs[0] for pairs in mine.values()), marked=()))
    demand_rows(scenario, asked.columns, asked.rows, _best(mine))
    pool_rows(scenario, asked.columns, asked.rows)
    _leave_room(asked)
    replicas = asked.columns.sizes[0]
    upper, integer = asked.upper.copy(), asked.integer.copy()
    upper[:replicas], integer[:replicas] = np.inf, 0
    asked = replace(asked, upper=upper, integer=integer)
    _add_aggregates(asked, _best(mine))
    return asked


def _best(mine: Mapping[tuple[int, int], list[Pair]]) -> Callable[[Pair, float, int], float]:
    """Part of a need that a replica's GPUs carry under the best replica of its workload and pool, its spares kept."""
    known: dict[tuple[int, int, float, int], float] = {}

    def carried(pair: Pair, need: float, spare: int) -> float:
        key = pair.workload, pair.pool, need, spare
        if key not in known:
            shares = [(share(p, need), p.slot) for p in mine[pair.workload, pair.pool]]
            known[key] = max(one / (1.0 + spare * one) / slot for one, slot in shares)
        return known[key] * pair.slot

    return carried


def _demand_at(asked: Program) -> list[tuple[int, int, int]]:
    """Row, workload and slice of every row on demand, in the order they were added."""
    scenario, names = asked.scenario, np.array(asked.rows.name)
    found = []
    for w, workload in enumerate(scenario.workloads):
        busy = np.flatnonzero(required(scenario.moments.peak[w], workload.headroom) > 0)
        rows = np.flatnonzero(names == f"demand of {workload.id}")
        found += [(int(r), w, int(s)) for r, s in zip(rows, busy, strict=True)]
    return found


def _leave_room(asked: Program) -> None:
    """Leave the room that the exact rows on spares leave."""
    for row, w, _ in _demand_at(asked):
        if asked.scenario.workloads[w].spare:
            asked.rows.lower[row] = 1.0 - ROOM


def _add_aggregates(asked: Program, carried: Callable[[Pair, float, int], float]) -> None:
    """Add one row per slice over all SKUs, which rounds better than many: demand weighed by its price.

    For any prices λ of load, units whose best use is worth g_p must carry its worth: Σ g_p · units_p ≥ Σ λ_w · load_w.
    """
    try:
        marginals = duals(asked)[1]
    except InvalidQuantity:  # nothing to weigh demand by; the programme is the same without these rows
        return
    scenario, place = asked.scenario, asked.columns
    weights: dict[int, list[tuple[int, float]]] = {}
    for row, w, s in _demand_at(asked):
        if marginals[row] > NEGLIGIBLE:
            weights.setdefault(s, []).append((w, float(marginals[row])))
    for s, weighed in weights.items():
        total = sum(price for _, price in weighed)
        price_of = {w: price / total for w, price in weighed}
        worth = _worth(asked, s, price_of, carried)
        entries = [(c, v * min(float(worth[p]) * pool.unit_gpus, 1.0)) for p, pool in enumerate(scenario.pools)
                   for offer in pool.offers for c, v in there(place, offer, s, int(scenario.moments.period[s]))]
        order = {w.id: n for n, w in enumerate(scenario.workloads)}
        entries += [(place.api(a, s), price_of.get(order[api.workload], 0.0)) for a, api in enumerate(scenario.apis)]
        asked.rows.add(STRUCTURE, entries, lower=1.0 - ROOM)


def _worth(asked: Program, moment: int, prices: Mapping[int, float],
           carried: Callable[[Pair, float, int], float]) -> Array:
    """(pool,) what a GPU is worth in a slice, at prices of each workload's demand [1]."""
    scenario = asked.scenario
    worth = np.zeros(len(scenario.pools))
    for pair in asked.columns.pairs:
        if pair.workload in prices:
            workload = scenario.workloads[pair.workload]
            need = float(required(scenario.moments.peak[pair.workload, moment], workload.headroom))
            one = prices[pair.workload] * carried(pair, need, workload.spare) / pair.slot
            worth[pair.pool] = max(worth[pair.pool], one)
    return worth
