"""From a solver's numbers to a plan: whole counts, without replicas no demand needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from planner.core.fleet.columns import Columns
from planner.core.fleet.highs import TOLERANCE
from planner.core.fleet.plan import Counts, Plan
from planner.core.fleet.program import Program
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array

NEARLY = 1.1 * TOLERANCE
"""[1] Part of a load that the solver cannot tell from none; a tenth of it is for rounding."""


def whole(x: Array, first: int, size: int) -> Counts:
    """Counts of a run of columns.

    Parameters
    ----------
    x : ndarray
        (column,) values within the solver's tolerance of whole numbers.
    first : int
        First column.
    size : int
        Columns.

    Returns
    -------
    ndarray
        (size,) [1].
    """
    return np.round(x[first:first + size]).astype(np.int64)


def hosted_parts(x: Array) -> Array:
    """Parts of the requests that an API answers; one so close to all that the solver cannot tell is all.

    Parameters
    ----------
    x : ndarray
        (column,) within the solver's tolerance of zero to one.

    Returns
    -------
    ndarray
        (column,) [1].
    """
    return np.where(x > 1.0 - NEARLY, 1.0, np.clip(np.round(x, 9), 0.0, 1.0))


def units_of(asked: Program, x: Array) -> Plan:
    """The plan's units and API shares, without replicas.

    Parameters
    ----------
    asked : Program
        The programme.
    x : ndarray
        (column,) its solution.

    Returns
    -------
    Plan
        Rented and started units.
    """
    place = asked.columns
    running = {o.id: whole(x, place.rental(i, 0), place.slices) for i, o in enumerate(place.rentals)}
    acquired = {o.id: whole(x, place.start(i, 0), place.periods) for i, o in enumerate(place.commitments)}
    shares = {api.id: hosted_parts(x[place.api(i, 0):place.api(i, 0) + place.slices])
              for i, api in enumerate(asked.scenario.apis)}
    return Plan(scenario=asked.scenario, acquired={k: v for k, v in acquired.items() if v.any()},
                running={k: v for k, v in running.items() if v.any()},
                api_share={k: v for k, v in shares.items() if v.any()})


def plan_of(asked: Program, x: Array) -> Plan:
    """The plan a solution of the whole programme stands for.

    Parameters
    ----------
    asked : Program
        The programme.
    x : ndarray
        (column,) its solution.

    Returns
    -------
    Plan
        With the replicas it needs.
    """
    place = asked.columns
    replicas = {(pair.candidate.id, pair.pool): whole(x, place.replica(i, 0), place.slices)
                for i, pair in enumerate(place.pairs)}
    return trimmed(units_of(asked, x), place, {k: v for k, v in replicas.items() if v.any()})


def trimmed(plan: Plan, place: Columns, replicas: Mapping[tuple[str, int], Counts]) -> Plan:
    """The plan with these replicas, less those no demand needs (they cost nothing, so a solver may leave some).

    Parameters
    ----------
    plan : Plan
        Units and API shares.
    place : Columns
        The programme's variables.
    replicas : mapping
        (slice,) counts by candidate id and pool index.

    Returns
    -------
    Plan
        The same units with no more replicas than the load asks for.
    """
    kept = {key: count.copy() for key, count in replicas.items()}
    for w, workload in enumerate(plan.scenario.workloads):
        mine = [p for p in place.pairs if p.workload == w and (p.candidate.id, p.pool) in kept]
        if not mine:
            continue
        largest = np.max([np.where(kept[p.candidate.id, p.pool] > 0, p.capacity, 0.0) for p in mine], axis=0)
        hosted = sum((plan.api_share[a.id] for a in plan.scenario.apis
                      if a.workload == workload.id and a.id in plan.api_share), start=np.zeros(place.slices))
        need = required(plan.scenario.moments.peak[w], workload.headroom) * (1 - hosted) + workload.spare * largest
        surplus = np.sum([p.capacity * kept[p.candidate.id, p.pool] for p in mine], axis=0) - need
        for pair in sorted(mine, key=lambda p: (-p.slot, p.candidate.id)):
            if workload.spot_share < 1.0 and plan.scenario.pools[pair.pool].firm:
                continue
            key = pair.candidate.id, pair.pool
            drop = np.minimum(kept[key], np.floor(np.maximum(surplus, 0.0) / pair.capacity).astype(np.int64))
            kept[key] = kept[key] - drop
            surplus = surplus - drop * pair.capacity
    return replace(plan, replicas={key: count for key, count in kept.items() if count.any()})
