"""The optimiser's variables: which replicas may run where, after dropping those another replica always beats."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.scenario import Candidate, Scenario
from planner.core.fleet.sizing import MOST_REPLICAS, replicas, required
from planner.core.quantities.arrays import Array

MOST_MIXED = 1e3
"""[1] Small replicas that make up for the loss of large ones: beyond, the solver's tolerance would blur which are in
use, and a few more of the large ones do the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Replicas of one candidate on one pool."""

    candidate: Candidate
    pool: int
    """Index into the scenario's pools."""
    workload: int
    """Index into the scenario's workloads."""
    slot: int
    """GPUs one replica takes [1]."""
    capacity: float
    """Load one replica carries there [load]."""
    most: Array
    """(slice,) replicas beyond which more never help [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Positions of all variables: replicas, rented units, units started, API shares, and which replicas are in use."""

    pairs: tuple[Pair, ...]
    rentals: tuple[Offer, ...]
    commitments: tuple[Commitment, ...]
    apis: int
    slices: int
    periods: int
    marked: tuple[int, ...]
    """Pairs that need a used/unused variable: those of workloads with spares."""
    extra: int = 0
    """Variables appended by a decomposition."""

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Variables of each kind [1]."""
        return (len(self.pairs) * self.slices, len(self.rentals) * self.slices, len(self.commitments) * self.periods,
                self.apis * self.slices, len(self.marked) * self.slices)

    @property
    def count(self) -> int:
        """All variables [1]."""
        return sum(self.sizes) + self.extra

    def replica(self, pair: int, moment: int) -> int:
        """Position of a replica count.

        Parameters
        ----------
        pair : int
            Index into ``pairs``.
        moment : int
            The slice.

        Returns
        -------
        int
            Column.
        """
        return pair * self.slices + moment

    def rental(self, offer: int, moment: int) -> int:
        """Position of a rented unit count.

        Parameters
        ----------
        offer : int
            Index into ``rentals``.
        moment : int
            The slice.

        Returns
        -------
        int
            Column.
        """
        return self.sizes[0] + offer * self.slices + moment

    def start(self, offer: int, period: int) -> int:
        """Position of a count of units started.

        Parameters
        ----------
        offer : int
            Index into ``commitments``.
        period : int
            The period.

        Returns
        -------
        int
            Column.
        """
        return sum(self.sizes[:2]) + offer * self.periods + period

    def api(self, offer: int, moment: int) -> int:
        """Position of an API's share of the requests.

        Parameters
        ----------
        offer : int
            Index into the scenario's APIs.
        moment : int
            The slice.

        Returns
        -------
        int
            Column.
        """
        return sum(self.sizes[:3]) + offer * self.slices + moment

    def used(self, mark: int, moment: int) -> int:
        """Position of a used/unused variable.

        Parameters
        ----------
        mark : int
            Index into ``marked``.
        moment : int
            The slice.

        Returns
        -------
        int
            Column.
        """
        return sum(self.sizes[:4]) + mark * self.slices + moment


def columns(scenario: Scenario) -> Columns:
    """The variables of a scenario, dominated replicas left out.

    Parameters
    ----------
    scenario : Scenario
        The question.

    Returns
    -------
    Columns
        Their positions.
    """
    kept = _undominated([pair for w in range(len(scenario.workloads)) for pair in pairs(scenario, w)], scenario)
    kept = [_mixed(pair, kept, scenario) for pair in kept]
    spare = [w.spare for w in scenario.workloads]
    return Columns(pairs=tuple(kept), rentals=tuple(o for o in scenario.offers if not isinstance(o, Commitment)),
                   commitments=tuple(o for o in scenario.offers if isinstance(o, Commitment)),
                   apis=len(scenario.apis), slices=scenario.moments.period.size, periods=scenario.calendar.periods,
                   marked=tuple(i for i, pair in enumerate(kept) if spare[pair.workload]))


def pairs(scenario: Scenario, workload: int) -> list[Pair]:
    """Every replica a workload may run, on every pool that takes it.

    Parameters
    ----------
    scenario : Scenario
        The question.
    workload : int
        Index of the workload.

    Returns
    -------
    list of Pair
        In the order of candidates, then pools.
    """
    asked, found = scenario.workloads[workload], []
    need = float(required(scenario.moments.peak[workload].max(), asked.headroom))
    for candidate in scenario.candidates:
        if candidate.workload != asked.id:
            continue
        for index, pool in enumerate(scenario.pools):
            few = need <= MOST_REPLICAS * pool.capacity(candidate)
            if few and pool.takes(candidate) and (asked.sites is None or pool.site in asked.sites):
                most = replicas(scenario.moments.peak[workload], pool.capacity(candidate), asked.headroom, asked.spare)
                found.append(Pair(candidate=candidate, pool=index, workload=workload, slot=pool.slot(candidate),
                                  capacity=pool.capacity(candidate), most=most.astype(np.float64)))
    return found


def _mixed(pair: Pair, kept: list[Pair], scenario: Scenario) -> Pair:
    """The pair with as many replicas as help beside larger ones, of which one is in use and k may fail."""
    workload = scenario.workloads[pair.workload]
    if workload.spare <= 1:  # the one that fails is the one in use
        return pair
    largest = max(p.capacity for p in kept if p.workload == pair.workload)
    need = required(scenario.moments.peak[pair.workload], workload.headroom)
    more = np.ceil((need + (workload.spare - 1) * largest) / pair.capacity)
    return replace(pair, most=np.where(need > 0, np.maximum(pair.most, np.minimum(more, MOST_MIXED)), 0.0))


def _undominated(given: list[Pair], scenario: Scenario) -> list[Pair]:
    """Pairs no other pair of the same workload and pool replaces at every count: exact, nothing is lost.

    m = floor(slot / slot') smaller replicas fit where one larger did. They replace it when together they carry as much,
    and, where replicas may fail, when losing one of them loses no more.
    """
    kept: list[Pair] = []
    for pair in sorted(given, key=lambda p: (p.slot, -p.capacity)):
        spare = scenario.workloads[pair.workload].spare
        if not any(_replaces(other, pair, spare) for other in kept):
            kept.append(pair)
    order = {id(pair): i for i, pair in enumerate(given)}
    return sorted(kept, key=lambda p: order[id(p)])


def _replaces(small: Pair, large: Pair, spare: int) -> bool:
    if (small.workload, small.pool) != (large.workload, large.pool):
        return False
    together = (large.slot // small.slot) * small.capacity
    return together >= large.capacity and (spare == 0 or small.capacity <= large.capacity)

