"""A fleet over time: what is acquired, what runs, and which replicas it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.power import meter_power
from planner.core.fleet.scenario import Pool, Scenario
from planner.core.quantities.arrays import Array

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Integer units and replicas per period and slice of one scenario."""

    scenario: Scenario
    acquired: Mapping[str, Counts] = field(default_factory=dict)
    """(period,) units of each commitment that start then [1]."""
    running: Mapping[str, Counts] = field(default_factory=dict)
    """(slice,) units of each rental [1]."""
    replicas: Mapping[tuple[str, int], Counts] = field(default_factory=dict)
    """(slice,) replicas by candidate id and pool index [1]."""
    api_share: Mapping[str, Array] = field(default_factory=dict)
    """(slice,) part of a workload's requests sent to each API offer [1]."""

    def units(self, offer: Offer) -> Array:
        """Units of an offer that are there in every slice.

        Parameters
        ----------
        offer : Offer
            One of the scenario's offers.

        Returns
        -------
        ndarray
            (slice,) [1].
        """
        period = self.scenario.moments.period
        if not isinstance(offer, Commitment):
            return np.asarray(self.running.get(offer.id, np.zeros(period.size)), dtype=np.float64)
        started = self.acquired.get(offer.id)
        if started is None:
            return np.zeros(period.size)
        return np.asarray(active_units(offer, started)[period])

    def pool_units(self, pool: Pool) -> Array:
        """Units of a pool that are there in every slice.

        Parameters
        ----------
        pool : Pool
            One of the scenario's pools.

        Returns
        -------
        ndarray
            (slice,) [1].
        """
        return np.asarray(sum(self.units(offer) for offer in pool.offers), dtype=np.float64)

    def gpus(self) -> Array:
        """GPUs of the whole fleet in every slice.

        Returns
        -------
        ndarray
            (slice,) [1].
        """
        total = np.zeros(self.scenario.moments.period.size)
        for offer in self.scenario.offers:
            total += offer.unit_gpus * self.units(offer)
        return total

    def capacity(self, workload: str) -> Array:
        """Load the replicas of a workload carry within its objective in every slice, APIs left out.

        Parameters
        ----------
        workload : str
            Its id.

        Returns
        -------
        ndarray
            (slice,) [load].
        """
        pools, total = self.scenario.pools, np.zeros(self.scenario.moments.period.size)
        for candidate in self.scenario.candidates:
            if candidate.workload != workload:
                continue
            for index, pool in enumerate(pools):
                count = self.replicas.get((candidate.id, index))
                if count is not None:
                    total += pool.capacity(candidate) * count
        return total

    def site_power(self, site: str) -> Array:
        """Power limit at the meter of everything on a site, in every slice.

        Parameters
        ----------
        site : str
            Its id.

        Returns
        -------
        ndarray
            (slice,) [W].
        """
        pue, total = self.scenario.site(site).pue, np.zeros(self.scenario.moments.period.size)
        for offer in self.scenario.offers:
            if offer.site == site and offer.on_site:
                total += meter_power(offer.power_w * self.units(offer), pue)
        return total


def active_units(offer: Commitment, started: Counts) -> Array:
    """Units of a commitment that are there in each period, given the starts.

    Parameters
    ----------
    offer : Commitment
        Its term decides how long a unit stays.
    started : ndarray
        (period,) units starting [1].

    Returns
    -------
    ndarray
        (period,) [1].
    """
    total = np.cumsum(started).astype(np.float64)
    if offer.term < started.size:
        total[offer.term:] -= total[:-offer.term].copy()
    return total
