"""The cheapest fleet: a mixed-integer choice with a stated gap, a lower bound, and the reason when there is none."""

from __future__ import annotations

import time
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.fleet.cost import ledger
from planner.core.fleet.decomposition import decompose
from planner.core.fleet.highs import IMPOSSIBLE
from planner.core.fleet.plan import Plan
from planner.core.fleet.program import Program, program
from planner.core.fleet.readout import plan_of
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.search import cheaper
from planner.core.fleet.solver import conflict, solve, warm_up
from planner.core.fleet.ways import ways

OPTIMAL, INFEASIBLE, LIMIT = "optimal", "infeasible", "time_limit"
WHOLE_FIRST, WHOLE_SHARE = 700, 0.45
"""Variables up to which the whole programme is tried first, and the share of the time it gets: HiGHS solves one of 560
variables in 3 s, for which slices and exchanges take 13; at 770 they take 1.4 s and the whole programme minutes."""
WORTH_WHOLE = 0.3
"""[1] Share of the time that must be left to improve a fleet by the whole programme, which overruns a short limit."""
WHOLE_AT_MOST = 300
"""Variables up to which the whole programme is solved in one go (measured: seconds above, milliseconds below)."""

SLICE_S = 0.015
"""[s] Least time to build and solve one slice (measured): without time for all of them the slices prove nothing."""
LARGEST = 60_000
"""Variables of the largest programme that is built at all."""


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


def optimise(scenario: Scenario, *, gap: float = 5e-3, time_limit_s: float = 8.0) -> Solution:
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
    Small programmes are solved whole; those of some hundred variables whole first and, if that leaves a gap, slice by
    slice (``decomposition``); large ones slice by slice first, then whole where enough time is left.
    Deterministic unless the time limit strikes, as it does for large fleets whose offers compete over time: HiGHS runs
    on one thread with a fixed seed, and exchanges are drawn with one.

    References
    ----------
    Huangfu and Hall, Parallelizing the dual revised simplex method, Math. Prog. Comp. 10, 2018 (HiGHS),
    doi:10.1007/s12532-017-0130-5.
    """
    _check_size(scenario)
    asked = program(scenario)
    warm_up()
    began = time.monotonic()
    found = Solution(status=LIMIT, plan=None, npv=None, lower_bound=None, gap=None)
    if WHOLE_AT_MOST < asked.columns.count <= WHOLE_FIRST:
        found = _whole(asked, found, gap=gap, time_limit_s=WHOLE_SHARE * time_limit_s)
    left = time_limit_s - (time.monotonic() - began)
    if found.status == LIMIT and asked.columns.count > WHOLE_AT_MOST and (
            SLICE_S * scenario.moments.period.size <= left):
        plan, bound = decompose(asked, gap=gap, time_limit_s=0.97 * left)
        found = _solution(cheaper(plan, found.plan), max((b for b in (bound, found.lower_bound) if b is not None),
                                                         default=None), gap)
    left = time_limit_s - (time.monotonic() - began)
    if found.status == LIMIT and left > (0.0 if found.plan is None else WORTH_WHOLE * time_limit_s):
        found = _whole(asked, found, gap=gap, time_limit_s=left)
    if found.status == LIMIT:
        plain = next((way.plan for way in ways(scenario) if way.works), None)
        found = _solution(cheaper(found.plan, plain), found.lower_bound, gap)
    return found


def _check_size(scenario: Scenario) -> None:
    """Refuse what could not be built in the time a caller waits."""
    moments = scenario.moments.period.size
    size = moments * (len(scenario.candidates) + len(scenario.offers) + len(scenario.apis))
    if size > LARGEST:
        raise InvalidQuantity(f"The fleet has about {size:,} variables, more than {LARGEST:,}.", pointer="/scenario",
                              hint="Use longer periods, fewer blocks or fewer candidates.")


def _whole(asked: Program, before: Solution, *, gap: float, time_limit_s: float) -> Solution:
    answer = solve(asked, asked.cost, gap=gap, time_limit_s=time_limit_s)
    if answer.status == IMPOSSIBLE:
        return Solution(status=INFEASIBLE, plan=None, npv=None, lower_bound=None, gap=None, conflict=conflict(asked))
    bounds = [b for b in (answer.bound, before.lower_bound) if b is not None]
    plan = None if answer.x is None else plan_of(asked, answer.x)
    return _solution(cheaper(plan, before.plan), max(bounds, default=None), gap)


def _solution(plan: Plan | None, bound: float | None, gap: float) -> Solution:
    if plan is None:
        return Solution(status=LIMIT, plan=None, npv=None, lower_bound=bound, gap=None)
    npv = ledger(plan).npv
    below = 0.0 if bound is None else min(float(bound), npv)
    left = (npv - below) / npv if npv > 0 else 0.0
    # HiGHS stops at its own tolerance of 1e-6; what lies within it is not a gap anyone could close.
    status = OPTIMAL if left <= max(gap, 2e-6) else LIMIT
    return Solution(status=status, plan=plan, npv=npv, lower_bound=below, gap=left)
