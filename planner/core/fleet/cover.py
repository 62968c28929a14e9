"""Prices of units that no offer undercuts: the dual point that slices are first asked at."""

from __future__ import annotations

import numpy as np

from planner.core.fleet.cost import commitment_worth, rental_worth
from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.scenario import Scenario
from planner.core.quantities.arrays import Array


def cover_prices(scenario: Scenario) -> Array:
    """Price of a unit of each pool in each slice such that no offer is cheaper than the prices it covers.

    Parameters
    ----------
    scenario : Scenario
        Its offers and calendar.

    Returns
    -------
    ndarray
        (slice, pool) [USD]: F(t) - F(t+1), with F(t) the least cost of having a unit from period t to the end, spread
        over the slices of a period by their share of time.

    Notes
    -----
    The prices are a feasible point of the master's dual, so the sum of the slices' optima at them bounds every plan.
    """
    periods, moments = scenario.calendar.periods, scenario.moments
    prices = np.zeros((periods, len(scenario.pools)))
    for p, pool in enumerate(scenario.pools):
        stay = np.append(np.full(periods, np.inf), 0.0)
        offers = [(offer.first_period, *_by_period(offer, scenario)) for offer in pool.offers]
        for t in range(periods - 1, -1, -1):
            for first, usd, term in offers:
                if t >= first:
                    stay[t] = min(stay[t], float(usd[t]) + stay[t + 1:min(t + term, periods) + 1].min())
        since = np.append(np.minimum.accumulate(stay[:-1]), 0.0)
        finite = np.isfinite(since)
        dear = 1e3 * max(since[finite].max(), 1.0)
        prices[:, p] = np.where(finite[:-1], np.where(finite, since, 0.0)[:-1] - np.where(finite, since, 0.0)[1:], dear)
    return np.asarray(prices[moments.period] * moments.share[:, None])


def rents(scenario: Scenario) -> tuple[Array, Array]:
    """What one more unit of each pool costs in one slice alone, and how many can be rented.

    Parameters
    ----------
    scenario : Scenario
        Its offers and calendar.

    Returns
    -------
    tuple
        (slice, pool) cheapest rent [USD], zero where there is none, and (slice, pool) units to be rented [1].
    """
    shape = scenario.moments.period.size, len(scenario.pools)
    prices, most = np.full(shape, np.inf), np.zeros(shape)
    for p, pool in enumerate(scenario.pools):
        for offer in pool.offers:
            if not isinstance(offer, Commitment):
                there = scenario.moments.period >= offer.first_period
                prices[:, p] = np.minimum(prices[:, p], np.where(there, rental_worth(offer, scenario), np.inf))
                most[there, p] += np.inf if offer.supply_total is None else offer.supply_total
    return np.where(np.isfinite(prices), prices, 0.0), most


def _by_period(offer: Offer, scenario: Scenario) -> tuple[Array, int]:
    """(period,) present value of starting a unit in each period, and the periods it then stays."""
    if isinstance(offer, Commitment):
        return commitment_worth(offer, scenario), offer.term
    worth, period = rental_worth(offer, scenario), scenario.moments.period
    return np.array([worth[period == t].sum() for t in range(scenario.calendar.periods)]), 1
