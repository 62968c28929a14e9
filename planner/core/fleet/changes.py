"""One assumption of a scenario moved, everything else kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.core.fleet.offers import Commitment, Offer, Purchase
from planner.core.fleet.plan import Plan
from planner.core.fleet.scenario import Scenario


def scale_demand(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with all demand times a factor.

    Parameters
    ----------
    scenario : Scenario
        The base.
    factor : float
        [1].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, workloads=tuple(
        replace(w, demand=replace(w.demand, hourly=w.demand.hourly * factor)) for w in scenario.workloads))


def set_growth(scenario: Scenario, growth: float) -> Scenario:
    """The scenario with every workload growing at one rate.

    Parameters
    ----------
    scenario : Scenario
        The base.
    growth : float
        [1/month].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, workloads=tuple(
        replace(w, demand=replace(w.demand, growth=growth)) for w in scenario.workloads))


def set_headroom(scenario: Scenario, headroom: float) -> Scenario:
    """The scenario with one headroom for all workloads.

    Parameters
    ----------
    scenario : Scenario
        The base.
    headroom : float
        [1].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, workloads=tuple(replace(w, headroom=headroom) for w in scenario.workloads))


def scale_capacity(scenario: Scenario, factor: float, sku: str | None = None) -> Scenario:
    """The scenario with replicas carrying a factor more or less.

    Parameters
    ----------
    scenario : Scenario
        The base.
    factor : float
        [1].
    sku : str, optional
        Of this SKU only.

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, candidates=tuple(
        replace(c, capacity=c.capacity * factor, prefill_gpu_s=c.prefill_gpu_s / factor,
                decode_gpu_s=c.decode_gpu_s / factor) if sku in {None, c.sku} else c for c in scenario.candidates))


def set_discount(scenario: Scenario, rate: float) -> Scenario:
    """The scenario at another cost of capital.

    Parameters
    ----------
    scenario : Scenario
        The base.
    rate : float
        [1/year].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, calendar=replace(scenario.calendar, discount_rate=rate))


def set_residual(scenario: Scenario, fraction: float) -> Scenario:
    """The scenario with another value left at the end of a purchase's life.

    Parameters
    ----------
    scenario : Scenario
        The base.
    fraction : float
        [1].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, offers=tuple(
        replace(o, residual_fraction=fraction) if isinstance(o, Purchase) else o for o in scenario.offers))


def scale_parts(scenario: Scenario, factor: float, parts: frozenset[str],
                where: Callable[[Offer], bool] = lambda _: True) -> Scenario:
    """The scenario with some parts of some prices times a factor.

    Parameters
    ----------
    scenario : Scenario
        The base.
    factor : float
        [1].
    parts : frozenset of str
        Names of parts: card, server, network, upfront, rent, energy, colocation, staff, support.
    where : callable
        Which offers.

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, offers=tuple(_scaled(o, factor, parts) if where(o) else o for o in scenario.offers))


def _scaled(offer: Offer, factor: float, parts: frozenset[str]) -> Offer:
    running = {k: v * factor if k in parts else v for k, v in offer.running.items()}
    if isinstance(offer, Commitment):
        capital = {k: v * factor if k in parts else v for k, v in offer.capital.items()}
        return replace(offer, running=running, capital=capital)
    return replace(offer, running=running)


def scale_api(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with API token prices times a factor.

    Parameters
    ----------
    scenario : Scenario
        The base.
    factor : float
        [1].

    Returns
    -------
    Scenario
        The change.
    """
    return replace(scenario, apis=tuple(
        replace(a, usd_per_input_token=a.usd_per_input_token * factor,
                usd_per_output_token=a.usd_per_output_token * factor) for a in scenario.apis))


def moved(plan: Plan, scenario: Scenario) -> Plan:
    """The same fleet under other prices.

    Parameters
    ----------
    plan : Plan
        The fleet.
    scenario : Scenario
        The same workloads, candidates and offers at other prices.

    Returns
    -------
    Plan
        The same counts.
    """
    return replace(plan, scenario=scenario)
