"""Money: what a plan costs by offer, part and period, and what that is worth today; the optimiser prices alike.

Timing: capital when the unit starts, running cost evenly over each period, residual when the horizon ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.core.fleet.hosted import ApiOffer
from planner.core.fleet.offers import RESIDUAL, Commitment, Offer
from planner.core.fleet.plan import Plan
from planner.core.fleet.power import energy
from planner.core.fleet.scenario import Scenario
from planner.core.quantities.arrays import Array

API = "api"
CENTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry of the ledger, exact to the cent; a residual is negative."""

    offer: str
    part: str
    period: int
    """The last period for a residual."""
    cents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Spending of a plan before rounding, by offer and part."""

    spending: Mapping[tuple[str, str], Array]
    """(period,) [USD] by (offer, part)."""
    resale: Mapping[str, float]
    """[USD] by offer, when the horizon ends."""
    npv: float
    """Present value of the spending less that of the residuals [USD]."""

    def lines(self) -> tuple[Line, ...]:
        """Entries rounded to the cent, each once; totals are sums of these.

        Returns
        -------
        tuple of Line
            Non-zero entries by offer, part and period.
        """
        lines = [Line(offer=offer, part=part, period=period, cents=round(float(usd) * CENTS))
                 for (offer, part), row in self.spending.items() for period, usd in enumerate(row)]
        last = max((row.size for row in self.spending.values()), default=1) - 1
        lines += [Line(offer=offer, part=RESIDUAL, period=last, cents=-round(usd * CENTS))
                  for offer, usd in self.resale.items()]
        return tuple(line for line in lines if line.cents)


def rental_worth(offer: Offer, scenario: Scenario) -> Array:
    """Present value of running one rented unit through each slice.

    Parameters
    ----------
    offer : Offer
        A rental.
    scenario : Scenario
        Its calendar and slices.

    Returns
    -------
    ndarray
        (slice,) [USD].
    """
    moments = scenario.moments
    seconds = moments.share * scenario.calendar.period_s
    return offer.running_total * seconds * scenario.calendar.worth_in_middle()[moments.period]


def commitment_worth(offer: Commitment, scenario: Scenario) -> Array:
    """Present value of one unit that starts in each period: capital plus running less residual.

    Parameters
    ----------
    offer : Commitment
        A reservation or a purchase.
    scenario : Scenario
        Its calendar.

    Returns
    -------
    ndarray
        (period,) [USD].
    """
    calendar = scenario.calendar
    middle, end = calendar.worth_in_middle(), calendar.worth_at_end()
    worth = offer.capital_total * calendar.worth_at_start()
    for start in range(calendar.periods):
        worth[start] += offer.running_total * calendar.period_s * float(offer.charged(start, calendar) @ middle)
        worth[start] -= offer.resale(start, calendar) * end
    return worth


def commitment_spending(offer: Commitment, scenario: Scenario) -> Array:
    """Money one unit that starts in each period costs over the horizon, neither discounted nor less its residual.

    Parameters
    ----------
    offer : Commitment
        A reservation or a purchase.
    scenario : Scenario
        Its calendar.

    Returns
    -------
    ndarray
        (period,) [USD].
    """
    calendar = scenario.calendar
    charged = np.array([offer.charged(start, calendar).sum() for start in range(calendar.periods)])
    return offer.capital_total + offer.running_total * calendar.period_s * charged


def api_spending(api: ApiOffer, scenario: Scenario) -> Array:
    """Price of sending every request of a slice to an API, not discounted.

    Parameters
    ----------
    api : ApiOffer
        The offer.
    scenario : Scenario
        Its workloads and slices.

    Returns
    -------
    ndarray
        (slice,) [USD].
    """
    workload = next(w for w in scenario.workloads if w.id == api.workload)
    return requests(scenario, workload.id) * api.usd_per_request(workload.input_tokens, workload.output_tokens)


def requests(scenario: Scenario, workload: str) -> Array:
    """Requests of a workload in every slice: mean load · requests per load · time.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    workload : str
        Its id.

    Returns
    -------
    ndarray
        (slice,) [1].
    """
    moments = scenario.moments
    index = [w.id for w in scenario.workloads].index(workload)
    seconds = moments.share * scenario.calendar.period_s
    return np.asarray(moments.mean[index] * scenario.workloads[index].rate_per_load * seconds)


def ledger(plan: Plan) -> Ledger:
    """Every dollar of a plan.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    Ledger
        Spending by offer, part and period, residuals, and the present value.
    """
    scenario = plan.scenario
    spending: dict[tuple[str, str], Array] = {}
    resale: dict[str, float] = {}
    for offer in scenario.offers:
        rows = _commitment_rows(plan, offer) if isinstance(offer, Commitment) else _rental_rows(plan, offer)
        spending.update({(offer.id, part): row for part, row in rows.items() if row.any()})
        if isinstance(offer, Commitment):
            sold = sum(float(units) * offer.resale(start, scenario.calendar)
                       for start, units in enumerate(plan.acquired.get(offer.id, np.zeros(0))) if units)
            if sold:
                resale[offer.id] = sold
    for api in scenario.apis:
        share = plan.api_share.get(api.id)
        if share is not None and share.any():
            spending[api.id, API] = _by_period(scenario, api_spending(api, scenario) * share)
    return Ledger(spending=spending, resale=resale, npv=_worth(scenario, spending, resale))


def _worth(scenario: Scenario, spending: Mapping[tuple[str, str], Array], resale: Mapping[str, float]) -> float:
    calendar, capital = scenario.calendar, {o.id: o.capital for o in scenario.offers if isinstance(o, Commitment)}
    start, middle = calendar.worth_at_start(), calendar.worth_in_middle()
    total = sum(float(row @ (start if part in capital.get(offer, ()) else middle))
                for (offer, part), row in spending.items())
    return total - sum(resale.values()) * calendar.worth_at_end()


def _commitment_rows(plan: Plan, offer: Commitment) -> dict[str, Array]:
    calendar, started = plan.scenario.calendar, plan.acquired.get(offer.id)
    if started is None:
        return {}
    charged = np.zeros(calendar.periods)
    for start in np.flatnonzero(started):
        charged += started[start] * offer.charged(int(start), calendar)
    rows = {part: usd * started.astype(np.float64) for part, usd in offer.capital.items()}
    return rows | {part: usd * calendar.period_s * charged for part, usd in offer.running.items()}


def _rental_rows(plan: Plan, offer: Offer) -> dict[str, Array]:
    units = plan.running.get(offer.id)
    if units is None:
        return {}
    scenario = plan.scenario
    unit_seconds = _by_period(scenario, units * scenario.moments.share * scenario.calendar.period_s)
    return {part: np.asarray(usd * unit_seconds) for part, usd in offer.running.items()}


def _by_period(scenario: Scenario, per_slice: Array) -> Array:
    total: Array = np.zeros(scenario.calendar.periods, dtype=np.float64)
    np.add.at(total, scenario.moments.period, per_slice)
    return total


def total_spent(plan: Plan) -> float:
    """All money a plan spends, neither discounted nor less residuals.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    float
        [USD].
    """
    return float(sum(row.sum() for row in ledger(plan).spending.values()))


def capital_spent(plan: Plan) -> float:
    """Money paid when units start.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    float
        [USD].
    """
    return sum(offer.capital_total * float(plan.acquired.get(offer.id, np.zeros(1)).sum())
               for offer in plan.scenario.offers if isinstance(offer, Commitment))


def site_energy(plan: Plan) -> dict[str, Array]:
    """Energy at the meter by site, rented units included.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    dict
        (period,) [J] by site id.
    """
    scenario = plan.scenario
    total: dict[str, Array] = {}
    seconds: Array = scenario.moments.share * scenario.calendar.period_s
    for site in scenario.sites:
        watts: Array = np.zeros(seconds.size)
        for offer in scenario.offers:
            if offer.site == site.id:
                watts += offer.power_w * plan.units(offer)
        joules = energy(watts, seconds, site.pue, scenario.power_fraction)
        total[site.id] = _by_period(scenario, joules.astype(np.float64))
    return total
