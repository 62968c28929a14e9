"""When buying pays: months against renting, utilisation against an API."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planner.core.fleet.cost import ledger
from planner.core.fleet.offers import Commitment, Purchase
from planner.core.fleet.plan import Plan
from planner.core.quantities.arrays import Array, require_positive


def cumulative_spending(plan: Plan) -> Array:
    """Money spent by the start and the end of each period, neither discounted nor less residuals.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    ndarray
        (period + 1, 2) [USD]: before and after what is paid at that moment.
    """
    scenario = plan.scenario
    capital, running = np.zeros(scenario.calendar.periods), np.zeros(scenario.calendar.periods)
    once = {(o.id, part) for o in scenario.offers if isinstance(o, Commitment) for part in o.capital}
    for key, row in ledger(plan).spending.items():
        if key in once:
            capital += row
        else:
            running += row
    before = np.concatenate([[0.0], np.cumsum(capital + running)])
    return np.column_stack([before, before + np.append(capital, 0.0)])


def book_value(plan: Plan) -> Array:
    """What a plan's bought units are worth at the start of each period and at the end, before and after what is bought.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    ndarray
        (period + 1, 2) [USD], straight-line book value.
    """
    periods = plan.scenario.calendar.periods
    at: Array = np.arange(periods + 1, dtype=np.float64)
    before, after = np.zeros(periods + 1), np.zeros(periods + 1)
    for offer in plan.scenario.offers:
        if not isinstance(offer, Purchase) or offer.id not in plan.acquired:
            continue
        for start in np.flatnonzero(plan.acquired[offer.id]):
            left = offer.book_fraction(np.asarray(at - start, dtype=np.float64))
            worth = offer.capital_total * plan.acquired[offer.id][start] * left
            before += np.where(at > start, worth, 0.0)
            after += np.where(at >= start, worth, 0.0)
    return np.column_stack([before, after])


def net_spending(plan: Plan) -> Array:
    """Money spent less what the bought units are still worth, before and after what is paid at each moment.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    ndarray
        (period + 1, 2) [USD].
    """
    net: Array = cumulative_spending(plan) - book_value(plan)
    return net


def break_even_month(own: Plan, rent: Plan, spent: Callable[[Plan], Array] = cumulative_spending) -> float | None:
    """Month from which one plan's cumulative spending stays at or below another's to the end of the horizon.

    Parameters
    ----------
    own : Plan
        Usually pays first.
    rent : Plan
        Usually pays later.
    spent : callable
        ``cumulative_spending``, or ``net_spending`` to count what could be sold.

    Returns
    -------
    float or None
        Months from the start, spending taken as even within a period; None when it is never below for good.
    """
    difference = spent(own) - spent(rent)
    months = own.scenario.calendar.months_per_period
    if difference[-1, 0] > 0:
        return None
    for t in range(difference.shape[0] - 2, -1, -1):
        first, last = float(difference[t, 1]), float(difference[t + 1, 0])
        if first > 0:
            return (t + first / (first - last)) * months
        if float(difference[t, 0]) > 0:
            return float(t * months)
    return 0.0


def break_even_utilization(usd_per_s: float, capacity: float, usd_per_load_s: float) -> float:
    """Share of its capacity a fleet must use to cost no more than an API for the same requests.

    Parameters
    ----------
    usd_per_s : float
        What the fleet costs, busy or not [USD/s].
    capacity : float
        Load it can carry [load].
    usd_per_load_s : float
        What the API charges for one unit of load during one second [USD/s].

    Returns
    -------
    float
        [1]; above one the API is cheaper even at full use.
    """
    earned = require_positive("capacity", capacity) * require_positive("API price", usd_per_load_s)
    return float(usd_per_s / earned)
