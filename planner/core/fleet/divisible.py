"""The fleet with whole units and divisible replicas: a relaxation without layouts, which bounds and shows what to have.

Only the replica that carries most per GPU of each workload and pool matters once replicas divide, so layouts vanish
however many there are; what is left to decide are units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.columns import Columns, Pair
from planner.core.fleet.program import MOST_SHARE, STRUCTURE, Program, demand_rows, frame, pool_rows, there
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import required
from planner.core.fleet.solver import duals

NEGLIGIBLE = 1e-9
"""[USD] A price below it is nothing: what is left of the simplex method's own tolerance."""
UNUSED = 1e-6
"""[1] A sum below it is none at all: HiGHS's own tolerance."""
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
    A replica that may fail is worth at least the smallest one of its workload, which every plan without an API must
    have in store; which replica is the largest in use is left open.
    """
    return _relaxation(scenario, place, _densest(scenario, place, [0] * len(scenario.workloads)))


def _relaxation(scenario: Scenario, place: Columns, chosen: tuple[Pair, ...]) -> Program:
    asked = frame(scenario, replace(place, pairs=chosen, marked=()))
    demand_rows(scenario, asked.columns, asked.rows)
    pool_rows(scenario, asked.columns, asked.rows)
    _store_spares(asked, place)
    replicas = asked.columns.sizes[0]
    upper, integer = asked.upper.copy(), asked.integer.copy()
    upper[:replicas], integer[:replicas] = np.inf, 0
    asked = replace(asked, upper=upper, integer=integer)
    _add_aggregates(asked)
    return asked


def spared(asked: Program, place: Columns) -> Program:
    """A programme like the relaxation, in which the densest replicas are those that may fail.

    Parameters
    ----------
    asked : Program
        The relaxation.
    place : Columns
        The variables of the exact programme.

    Returns
    -------
    Program
        No relaxation any more where a workload has spares, else the same.
    """
    scenario = asked.scenario
    hosted = {api.workload for api in scenario.apis}
    more = _relaxation(scenario, place, _densest(scenario, place, [w.spare for w in scenario.workloads]))
    for row, w, s in _demand_at(more):
        workload = scenario.workloads[w]
        mine = [p for p in more.columns.pairs if p.workload == w]
        if mine and workload.spare and workload.id not in hosted:
            need = float(required(scenario.moments.peak[w, s], workload.headroom))
            more.rows.lower[row] = 1.0 + workload.spare * float(np.mean([p.capacity for p in mine])) / need
    return more


def _densest(scenario: Scenario, place: Columns, spares: Sequence[int]) -> tuple[Pair, ...]:
    """The pair that carries most per GPU, of each workload and pool, when so many of its replicas may fail."""
    best: dict[tuple[int, int], tuple[float, Pair]] = {}
    for pair in place.pairs:
        workload = scenario.workloads[pair.workload]
        need = float(required(scenario.moments.peak[pair.workload].max(), workload.headroom))
        worth = pair.capacity / pair.slot / (1.0 + spares[pair.workload] * pair.capacity / max(need, pair.capacity))
        key = pair.workload, pair.pool
        if key not in best or worth > best[key][0]:
            best[key] = worth, pair
    return tuple(pair for _, pair in best.values())


def _demand_at(asked: Program) -> list[tuple[int, int, int]]:
    """Row, workload and slice of every row on demand, in the order they were added."""
    scenario, names = asked.scenario, np.array(asked.rows.name)
    found = []
    for w, workload in enumerate(scenario.workloads):
        busy = np.flatnonzero(required(scenario.moments.peak[w], workload.headroom) > 0)
        rows = np.flatnonzero(names == f"demand of {workload.id}")
        found += [(int(r), w, int(s)) for r, s in zip(rows, busy, strict=True)]
    return found


def _store_spares(asked: Program, place: Columns) -> None:
    """Raise demand by the smallest replicas that may fail, where no API could make replicas needless."""
    scenario = asked.scenario
    hosted = {api.workload for api in scenario.apis}
    for row, w, s in _demand_at(asked):
        workload = scenario.workloads[w]
        sizes = [p.capacity for p in place.pairs if p.workload == w]
        need = float(required(scenario.moments.peak[w, s], workload.headroom))
        if sizes and workload.id not in hosted and max(sizes) < MOST_SHARE * need:
            asked.rows.lower[row] = 1.0 + (1.0 - ROOM) * workload.spare * min(sizes) / need


def _add_aggregates(asked: Program) -> None:
    """Add one row per slice over all SKUs, which rounds better than many: demand weighed by its price.

    For any prices λ of load, units whose best use is worth g_p must carry its worth: Σ g_p · units_p ≥ Σ λ_w · load_w.
    """
    try:
        marginals = duals(asked)[1]
    except InvalidQuantity:  # nothing to weigh demand by; the programme is the same without these rows
        return
    scenario, place = asked.scenario, asked.columns
    weights: dict[int, list[tuple[int, float, float]]] = {}
    for row, w, s in _demand_at(asked):
        if marginals[row] > NEGLIGIBLE:
            weights.setdefault(s, []).append((w, float(marginals[row]), asked.rows.lower[row]))
    for s, weighed in weights.items():
        total = sum(price * least for _, price, least in weighed)
        price_of = {w: price / total for w, price, _ in weighed}
        worth = np.zeros(len(scenario.pools))
        for pair in place.pairs:
            need = float(required(scenario.moments.peak[pair.workload, s], scenario.workloads[pair.workload].headroom))
            share = min(pair.capacity / need, MOST_SHARE) / pair.slot if pair.workload in price_of else 0.0
            worth[pair.pool] = max(worth[pair.pool], price_of.get(pair.workload, 0.0) * share)
        entries = [(c, v * min(float(worth[p]) * pool.unit_gpus, 1.0)) for p, pool in enumerate(scenario.pools)
                   for offer in pool.offers for c, v in there(place, offer, s, int(scenario.moments.period[s]))]
        order = {w.id: n for n, w in enumerate(scenario.workloads)}
        entries += [(place.api(a, s), price_of.get(order[api.workload], 0.0)) for a, api in enumerate(scenario.apis)]
        asked.rows.add(STRUCTURE, entries, lower=1.0 - ROOM)
