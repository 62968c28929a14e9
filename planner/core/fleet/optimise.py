"""The cheapest fleet: a mixed-integer choice with a stated gap, a lower bound, and the reason when there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.core.fleet.columns import Columns
from planner.core.fleet.cost import ledger
from planner.core.fleet.plan import Plan
from planner.core.fleet.program import STRUCTURE, Program, program
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

OPTIMAL, INFEASIBLE, LIMIT = "optimal", "infeasible", "time_limit"
_STATUS = {0: OPTIMAL, 1: LIMIT, 2: INFEASIBLE}
"""scipy.optimize.milp status codes (3 unbounded and 4 numerical trouble count as a limit: nothing is proven)."""
CONFLICT_TIME_S = 1.0
"""[s] per feasibility test of the conflict filter; a test that runs out counts as feasible, so the set stays sound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """The cheapest plan found and how far it can be from the best."""

    status: str
    """optimal (within the asked gap) | time_limit | infeasible."""
    plan: Plan | None
    npv: float | None
    """Present value of the plan [USD]."""
    lower_bound: float | None
    """No plan costs less [USD]."""
    gap: float | None
    """(npv - lower bound) / npv [1]."""
    conflict: tuple[str, ...] = ()
    """A minimal set of constraints no plan can keep together: drop any one and the rest can be kept."""


def optimise(scenario: Scenario, *, gap: float = 1e-4, time_limit_s: float = 8.0) -> Solution:
    """The cheapest fleet of a scenario by present value.

    Parameters
    ----------
    scenario : Scenario
        The question.
    gap : float
        Stop when the plan is proven within this fraction of the best [1].
    time_limit_s : float
        Stop after this long with the best plan so far [s].

    Returns
    -------
    Solution
        Plan and bound, or the conflicting constraints.

    Notes
    -----
    Deterministic unless the time limit strikes: HiGHS runs on one thread with a fixed seed.

    References
    ----------
    Huangfu and Hall, Parallelizing the dual revised simplex method, Math. Prog. Comp. 10, 2018 (HiGHS),
    doi:10.1007/s12532-017-0130-5.
    """
    asked = program(scenario)
    answer = _milp(asked, asked.cost, gap=gap, time_limit_s=time_limit_s)
    status = _STATUS.get(int(answer.status), LIMIT)
    if status == INFEASIBLE:
        return Solution(status=status, plan=None, npv=None, lower_bound=None, gap=None, conflict=conflict(asked))
    bound = None if answer.mip_dual_bound is None else float(answer.mip_dual_bound)
    if answer.x is None:
        return Solution(status=LIMIT, plan=None, npv=None, lower_bound=bound, gap=None)
    plan = _plan(asked, np.round(answer.x[: asked.columns.count], 9))
    npv = ledger(plan).npv
    bound = npv if bound is None else min(bound, npv)
    return Solution(status=status, plan=plan, npv=npv, lower_bound=bound,
                    gap=(npv - bound) / npv if npv > 0 else 0.0)


def _constraint(asked: Program, names: Iterable[str] | None) -> LinearConstraint:
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - scipy costs a second to import
    from scipy.sparse import csr_array  # noqa: PLC0415 - scipy costs a second to import

    rows = asked.rows
    matrix = csr_array((rows.value, (rows.row, rows.column)), shape=(len(rows.name), asked.columns.count))
    lower, upper = np.array(rows.lower), np.array(rows.upper)
    if names is not None:
        kept = set(names) | {STRUCTURE}
        off = np.array([name not in kept for name in rows.name], dtype=bool)
        lower[off], upper[off] = -np.inf, np.inf
    return LinearConstraint(matrix, lower, upper)


def _milp(asked: Program, cost: Array, *, gap: float, time_limit_s: float, names: Iterable[str] | None = None,
          relaxed: bool = False) -> Any:  # noqa: ANN401 - scipy's OptimizeResult carries no types
    from scipy.optimize import Bounds, milp  # noqa: PLC0415 - scipy costs a second to import

    integer = np.zeros_like(asked.integer) if relaxed else asked.integer
    upper = asked.upper if names is None else np.where(asked.integer == 1, np.inf, asked.upper)
    return milp(cost, integrality=integer, bounds=Bounds(np.zeros(upper.size), upper),
                constraints=_constraint(asked, names), options={"mip_rel_gap": gap, "time_limit": time_limit_s})


def conflict(asked: Program) -> tuple[str, ...]:
    """A minimal set of named constraints that cannot all be kept.

    Parameters
    ----------
    asked : Program
        An infeasible programme.

    Returns
    -------
    tuple of str
        Names; without any one of them the others can be kept.

    References
    ----------
    Chinneck and Dravnieks, Locating minimal infeasible constraint sets in linear programs, ORSA J. Computing 3(2),
    1991, doi:10.1287/ijoc.3.2.157 (the deletion filter).
    """
    names = [n for n in dict.fromkeys(asked.rows.name) if n != STRUCTURE]
    names.sort(key=lambda n: n.startswith("demand"))
    zero = np.zeros_like(asked.cost)

    def impossible(kept: list[str], *, relaxed: bool) -> bool:
        answer = _milp(asked, zero, gap=0.0, time_limit_s=CONFLICT_TIME_S, names=kept, relaxed=relaxed)
        return int(answer.status) == 2

    relaxed = impossible(names, relaxed=True)
    for name in list(names):
        rest = [n for n in names if n != name]
        if impossible(rest, relaxed=relaxed):
            names = rest
    return tuple(names)


def _plan(asked: Program, x: Array) -> Plan:
    place = asked.columns

    def counts(first: int, size: int) -> Any:  # noqa: ANN401 - an integer array
        return np.round(x[first:first + size]).astype(np.int64)

    replicas = {(pair.candidate.id, pair.pool): counts(place.replica(i, 0), place.slices)
                for i, pair in enumerate(place.pairs)}
    running = {o.id: counts(place.rental(i, 0), place.slices) for i, o in enumerate(place.rentals)}
    acquired = {o.id: counts(place.start(i, 0), place.periods) for i, o in enumerate(place.commitments)}
    shares = {api.id: np.clip(x[place.api(i, 0):place.api(i, 0) + place.slices], 0.0, 1.0)
              for i, api in enumerate(asked.scenario.apis)}
    plan = Plan(scenario=asked.scenario, acquired={k: v for k, v in acquired.items() if v.any()},
                running={k: v for k, v in running.items() if v.any()},
                replicas={k: v for k, v in replicas.items() if v.any()},
                api_share={k: v for k, v in shares.items() if v.any()})
    return _trimmed(plan, place)


def _trimmed(plan: Plan, place: Columns) -> Plan:
    """The plan without replicas no demand needs (they cost nothing, so a solver may leave some)."""
    kept = {key: count.copy() for key, count in plan.replicas.items()}
    for w, workload in enumerate(plan.scenario.workloads):
        mine = [p for p in place.pairs if p.workload == w and (p.candidate.id, p.pool) in kept]
        if not mine:
            continue
        largest = np.max([np.where(kept[p.candidate.id, p.pool] > 0, p.capacity, 0.0) for p in mine], axis=0)
        hosted = sum((plan.api_share[a.id] for a in plan.scenario.apis
                      if a.workload == workload.id and a.id in plan.api_share), start=np.zeros(place.slices))
        need = required(plan.scenario.moments.peak[w], workload.headroom) * (1 - hosted) + workload.spare * largest
        spare_load = np.sum([p.capacity * kept[p.candidate.id, p.pool] for p in mine], axis=0) - need
        firm_only = workload.spot_share < 1.0
        for pair in sorted(mine, key=lambda p: (-p.slot, p.candidate.id)):
            if firm_only and plan.scenario.pools[pair.pool].firm:
                continue
            key = pair.candidate.id, pair.pool
            drop = np.minimum(kept[key], np.floor(np.maximum(spare_load, 0.0) / pair.capacity).astype(np.int64))
            kept[key] = kept[key] - drop
            spare_load = spare_load - drop * pair.capacity
    return replace(plan, replicas={key: count for key, count in kept.items() if count.any()})
