"""A candidate verified by simulation: the largest rate that keeps the objective, with common random numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.core.serving.objective import Objective, largest, replicas_for
from planner.core.simulation.arrivals import Mix
from planner.core.simulation.laws import law_of
from planner.core.simulation.results import SimulationResult, most_missed
from planner.core.simulation.run import simulate_open
from planner.core.simulation.system import Measure, System, work
from planner.core.workload import Workload
from planner.services.plan.load import mean_context
from planner.services.simulation.patience import Patience, Starved
from planner.services.sizing.candidates import Candidate

SCREENED, VERIFIED = 3_000, 20_000
"""Requests of a run while searching, and of one that is believed [1]."""
SEARCH_STEPS = 5
MOST_WORK = 2e6
"""Steps of a believed run at most; beyond, a candidate stays a closed form [1]."""
STARVED = 4
"""Requests that may arrive for each measured one before a run near saturation is given up as overloaded [1]."""
SHRINK = 0.96
"""Factor on a rate that the long run refutes [1]."""
ATTEMPTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What simulation says of a candidate."""

    replicas: int
    """Fewest that carry the demand [1]."""
    rate: float
    """Largest verified rate per replica [1/s]; zero when none was."""
    at_demand: SimulationResult | None
    """A replica at its share of the demand."""
    one_fewer_fails: bool | None
    """None when one replica is enough."""


class Spent(Exception):  # noqa: N818 - read as the state it is
    """The allowance does not carry the next run."""


@dataclass(slots=True)
class Allowance:
    """Steps that one answer may still simulate: counted, so that the same question always gets the same answer."""

    steps: float = math.inf

    def spend(self, steps: float) -> None:
        """Take the steps of a run, or stop verifying."""
        if steps > self.steps:
            raise Spent
        self.steps -= steps

    def refund(self, steps: float) -> None:
        """Give back the steps that a run ended before."""
        self.steps += steps


class Bench:
    """A replica of a candidate that can be run at any rate."""

    def __init__(self, candidate: Candidate, workload: Workload, objective: Objective, allowance: Allowance) -> None:
        configuration = candidate.configuration
        self._system = System(
            table=configuration.step_table(np.asarray(mean_context(workload))), policy=configuration.policy,
            limits=configuration.limits(candidate.deployment, candidate.fit))
        self._mix = Mix(input_law=law_of(workload.input_tokens, workload.input_cv),
                        output_law=law_of(workload.output_tokens, workload.output_cv),
                        prefix_hit=workload.prefix_cache_hit)
        self._objective = objective
        self._arrival_cv = workload.arrival_cv
        self._mean_prompt = workload.input_tokens * (1.0 - workload.prefix_cache_hit)
        self._allowance = allowance

    def affordable(self) -> bool:
        """Whether a believed run ends within seconds."""
        return work(self._system, self._mean_prompt, VERIFIED) <= MOST_WORK

    def run(self, rate: float, requests: int) -> SimulationResult | None:
        """One replica at a rate; every rate meets the same requests. None when the measured ones starve.

        A run that can no longer keep the objective ends there: it fails as it would have at its end.
        """
        steps = work(self._system, self._mean_prompt, requests)
        self._allowance.spend(steps)
        patience = Patience(most=STARVED * requests)
        try:
            goal = self._objective
            result = simulate_open(self._system, self._mix, rate, self._arrival_cv, Measure(
                requests=requests, percentile=goal.percentile, ttft_target=goal.ttft, tpot_target=goal.tpot,
                most_missed=most_missed(requests, goal.percentile), progress=patience.dealt))
        except Starved:
            return None
        self._allowance.refund(steps * (1.0 - result.requests / requests))
        return result

    def passes(self, result: SimulationResult | None) -> bool:
        """Whether a run kept the objective."""
        goal = self._objective
        if result is None or result.unstable or result.refused:
            return False
        return ((goal.ttft is None or result.ttft.asked <= goal.ttft)
                and (goal.tpot is None or not result.tpot.asked > goal.tpot))


def verify(candidate: Candidate, workload: Workload, objective: Objective, demand: float, guess: float,
           allowance: Allowance) -> Verdict:
    """The fewest replicas that simulation lets carry a demand, searched around a closed-form rate."""
    bench = Bench(candidate, workload, objective, allowance)
    if not bench.affordable():
        return Verdict(replicas=replicas_for(demand, guess), rate=guess, at_demand=None, one_fewer_fails=None)
    low = next((guess * share for share in (0.8, 0.5, 0.25, 0.05)
                if bench.passes(bench.run(guess * share, SCREENED))), 0.0)
    if not low:
        return Verdict(replicas=0, rate=0.0, at_demand=None, one_fewer_fails=None)
    rate = largest(lambda r: bench.passes(bench.run(r, SCREENED)), low, low * 1.6, SEARCH_STEPS)
    replicas = replicas_for(demand, rate)
    for _ in range(ATTEMPTS):
        result = bench.run(demand / replicas, VERIFIED)
        if bench.passes(result):
            break
        rate = demand / replicas * SHRINK
        replicas += 1 if replicas < 20 else max(1, replicas // 20)
    else:
        return Verdict(replicas=0, rate=0.0, at_demand=None, one_fewer_fails=None)
    while replicas > 1:
        fewer = bench.run(demand / (replicas - 1), VERIFIED)
        if not bench.passes(fewer):
            return Verdict(replicas=replicas, rate=max(demand / replicas, min(rate, demand / (replicas - 1) * 0.999)),
                           at_demand=result, one_fewer_fails=True)
        replicas, result = replicas - 1, fewer
    return Verdict(replicas=1, rate=max(demand, rate), at_demand=result, one_fewer_fails=None)
