"""Prices of units that no offer undercuts: the dual point that slices are first asked at."""

from __future__ import annotations

import numpy as np

from planner.core.fleet.cost import commitment_worth, rental_worth
from planner.core.fleet.offers import Commitment, Offer
from planner.core.fleet.scenario import Scenario
from planner.core.quantities.arrays import Array

DEAR = 10.0
"""[1] What must be bought for one slice costs as many times the dearest rent: a last resort."""


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


def top_up_prices(scenario: Scenario) -> Array:
    """Price of one more unit of each pool in one slice alone: its cheapest rent, or dear where nothing is rented.

    Parameters
    ----------
    scenario : Scenario
        Its offers and calendar.

    Returns
    -------
    ndarray
        (slice, pool) [USD].
    """
    prices = np.full((scenario.moments.period.size, len(scenario.pools)), np.inf)
    for p, pool in enumerate(scenario.pools):
        for offer in pool.offers:
            if not isinstance(offer, Commitment):
                late = scenario.moments.period < offer.first_period
                prices[:, p] = np.minimum(prices[:, p], np.where(late, np.inf, rental_worth(offer, scenario)))
    dearest = float(prices[np.isfinite(prices)].max(initial=0.0))
    rest = np.maximum(cover_prices(scenario), 1.0) + DEAR * dearest
    return np.where(np.isfinite(prices), prices, rest)


def _by_period(offer: Offer, scenario: Scenario) -> tuple[Array, int]:
    """(period,) present value of starting a unit in each period, and the periods it then stays."""
    if isinstance(offer, Commitment):
        return commitment_worth(offer, scenario), offer.term
    worth, period = rental_worth(offer, scenario), scenario.moments.period
    return np.array([worth[period == t].sum() for t in range(scenario.calendar.periods)]), 1
