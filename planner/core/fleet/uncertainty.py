"""Plans under doubt: demand and performance drawn many times, and what fleet and money each draw takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.cost import commitment_worth, rental_worth
from planner.core.fleet.offers import Commitment
from planner.core.fleet.plan import Counts, Plan, active_units
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import replicas
from planner.core.fleet.ways import Sized, just_in_time
from planner.core.quantities.arrays import Array, require_non_negative

Z90 = 1.6448536269514722
"""[1] 95th percentile of the standard normal: half the width of a 90 % interval in standard deviations."""

MOST_CELLS = 10_000_000
"""[1] Draws times slices times workloads: 80 MB an array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """How uncertain demand is; performance brings its own interval."""

    demand_cv: float = 0.0
    """Coefficient of variation of the level of demand, lognormal [1]."""
    growth_sd: float = 0.0
    """Standard deviation of the monthly growth, normal [1/month]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Results of a Monte Carlo run, one entry per draw."""

    gpus: Array
    """(draw,) GPUs at the busiest moment [1]."""
    npv: Array
    """(draw,) [USD]."""
    short: Array
    """(period,) probability that the base plan cannot carry the period's peak [1]."""

    def quantile(self, share: float) -> tuple[float, float]:
        """GPUs and present value that a share of the draws stay at or below.

        Parameters
        ----------
        share : float
            [1], such as 0.5 or 0.9.

        Returns
        -------
        tuple
            GPUs [1] and [USD].
        """
        return (float(np.quantile(self.gpus, share, method="higher")),
                float(np.quantile(self.npv, share, method="linear")))


def spread(low: float | None, median: float, high: float | None) -> float:
    """Standard deviation of the logarithm of a lognormal with that 90 % interval.

    Parameters
    ----------
    low : float or None
        5th percentile, any unit; None for no doubt.
    median : float
        Same unit.
    high : float or None
        95th percentile, same unit.

    Returns
    -------
    float
        [1].

    Raises
    ------
    InvalidQuantity
        The interval does not hold the median.
    """
    if low is None or high is None:
        return 0.0
    if not 0 < low <= median <= high:
        raise InvalidQuantity(f"An interval from {low:g} to {high:g} does not hold its median {median:g}.")
    return float(np.log(high / low)) / (2 * Z90)


def monte_carlo(plan: Plan, sized: Sized, doubt: Doubt, *, draws: int, seed: int) -> Draws:
    """Fleets and costs over draws of demand and performance, with the base plan's commitments already made.

    Parameters
    ----------
    plan : Plan
        A way's plan: its commitments stand, rentals follow each draw, and more is bought where nothing can be rented.
    sized : Sized
        The way's pool and replicas.
    doubt : Doubt
        Spread of demand.
    draws : int
        How many.
    seed : int
        Of numpy's PCG64: the same seed gives the same answer.

    Returns
    -------
    Draws
        One entry per draw.
    """
    require_non_negative("demand_cv", doubt.demand_cv)
    require_non_negative("growth_sd", doubt.growth_sd)
    scenario, rng = plan.scenario, np.random.default_rng(seed)
    _check_size(scenario, draws)
    need = _needs(scenario, sized, _loads(scenario, doubt, draws, rng), rng)
    period = scenario.moments.period
    there = plan.pool_units(sized.pool).astype(np.int64)
    committed = np.zeros(period.size, dtype=np.int64)
    for offer in sized.pool.offers:
        if isinstance(offer, Commitment) and offer.id in plan.acquired:
            committed += active_units(offer, plan.acquired[offer.id])[period].astype(np.int64)
    npv, extra = _costs(plan, sized, need, committed)
    units = np.maximum(need, committed) if extra is None else np.maximum(need, committed + extra[:, period])
    short = np.array([(need[:, period == t] > there[period == t]).any(axis=1).mean()
                      for t in range(scenario.calendar.periods)])
    return Draws(gpus=(units.max(axis=1) * sized.pool.unit_gpus).astype(np.float64), npv=npv, short=short)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stress:
    """How a fixed fleet stands draws of demand and performance."""

    short: Array
    """(period,) probability that some workload's peak is not carried [1]."""
    scale: Array
    """(draw,) factor by which the fleet would have to grow, or could shrink, to carry just that draw [1]."""


def stress(plan: Plan, doubt: Doubt, *, draws: int, seed: int) -> Stress:
    """A fleet of any mix against draws of demand and performance; nothing is bought or rented beyond it.

    Parameters
    ----------
    plan : Plan
        The fleet; APIs carry what they were given whatever happens.
    doubt : Doubt
        Spread of demand.
    draws : int
        How many.
    seed : int
        Of numpy's PCG64.

    Returns
    -------
    Stress
        Probability of a shortfall and the scale each draw asks for.

    Notes
    -----
    Performance is one lognormal draw per SKU, shared by its layouts. The scale is an estimate: fleets come in units.
    """
    scenario, rng = plan.scenario, np.random.default_rng(seed)
    _check_size(scenario, draws)
    loads = _loads(scenario, doubt, draws, rng)
    shocks = {sku: rng.standard_normal((draws, 1)) for sku in sorted({c.sku for c in scenario.candidates})}
    worst = np.zeros(loads.shape[1:])
    for w, workload in enumerate(scenario.workloads):
        have = _drawn_capacity(plan, workload.id, shocks, np.zeros(loads.shape[1:]))
        mine = [plan.api_share[a.id] for a in scenario.apis if a.workload == workload.id and a.id in plan.api_share]
        away = sum(mine, start=np.zeros(loads.shape[2]))
        need = loads[w] * (1.0 - away)
        worst = np.maximum(worst, np.divide(need, have, out=np.zeros_like(need), where=have > 0))
    period = scenario.moments.period
    short = np.array([(worst[:, period == t] > 1.0).any(axis=1).mean() for t in range(scenario.calendar.periods)])
    return Stress(short=short, scale=worst.max(axis=1))


def _drawn_capacity(plan: Plan, workload: str, shocks: Mapping[str, Array], total: Array) -> Array:
    """(draw, slice) load the workload's replicas carry in each draw, added to a total of zeros."""
    scenario, by_id = plan.scenario, {c.id: c for c in plan.scenario.candidates}
    for (name, index), count in plan.replicas.items():
        candidate = by_id[name]
        if candidate.workload == workload:
            sigma = spread(candidate.capacity_low, candidate.capacity, candidate.capacity_high)
            total += np.exp(sigma * shocks[candidate.sku]) * (scenario.pools[index].capacity(candidate) * count)
    return total


def _check_size(scenario: Scenario, draws: int) -> None:
    if not 1 <= draws <= MOST_CELLS // (scenario.moments.period.size * len(scenario.workloads)):
        raise InvalidQuantity(f"draws must be at least 1 and fit {MOST_CELLS:,} numbers over all slices, got {draws}.",
                              pointer="/uncertainty/draws")


def _loads(scenario: Scenario, doubt: Doubt, draws: int, rng: np.random.Generator) -> Array:
    """(workload, draw, slice) peaks; every workload has its own level and growth."""
    count, moments = len(scenario.workloads), scenario.moments
    sigma = np.sqrt(np.log1p(doubt.demand_cv**2))
    level = np.exp(sigma * rng.standard_normal((count, draws)) - sigma**2 / 2)
    months = (moments.period + 0.5) * scenario.calendar.months_per_period
    growth = np.array([w.demand.growth for w in scenario.workloads])[:, None]
    drawn = np.maximum(growth + doubt.growth_sd * rng.standard_normal((count, draws)), -0.99)
    tilt = ((1 + drawn) / (1 + growth))[:, :, None] ** months
    return np.asarray(moments.peak[:, None, :] * level[:, :, None] * tilt)


def _needs(scenario: Scenario, sized: Sized, loads: Array, rng: np.random.Generator) -> Counts:
    """(draw, slice) units each draw needs; one performance draw per SKU and draw, shared by its workloads."""
    shock = rng.standard_normal((loads.shape[1], 1))
    gpus = np.zeros(loads.shape[1:])
    for w, pair in enumerate(sized.chosen):
        candidate, workload = pair.candidate, scenario.workloads[w]
        sigma = spread(candidate.capacity_low, candidate.capacity, candidate.capacity_high)
        capacity = pair.capacity * np.exp(sigma * shock)
        gpus += pair.slot * replicas(loads[w], capacity, workload.headroom, workload.spare)
    return np.ceil(gpus / sized.pool.unit_gpus).astype(np.int64)


def _costs(plan: Plan, sized: Sized, need: Counts, committed: Counts) -> tuple[Array, Counts | None]:
    """(draw,) present value, and (draw, period) units bought beyond the plan where nothing can be rented."""
    scenario, npv = plan.scenario, np.zeros(need.shape[0])
    used = [o for o in sized.pool.offers if o.id in plan.acquired or o.id in plan.running]
    left = np.maximum(need - committed, 0)
    for offer in used:
        if isinstance(offer, Commitment):
            npv += float(commitment_worth(offer, scenario) @ plan.acquired[offer.id])
    for offer in sorted((o for o in used if not isinstance(o, Commitment)), key=lambda o: o.kind != "owned"):
        most = left if offer.supply_total is None else np.minimum(left, offer.supply_total)
        npv += most @ rental_worth(offer, scenario)
        left = left - most
    rented = [o for o in used if not isinstance(o, Commitment) and o.kind != "owned"]
    buyable = [o for o in used if isinstance(o, Commitment)]
    if rented or not buyable:
        return npv, None
    offer = buyable[0]
    worth = commitment_worth(offer, scenario)
    bought = np.array([just_in_time(row, scenario.moments.period, offer, scenario.calendar.periods) for row in left])
    return npv + bought @ worth, np.array([active_units(offer, row) for row in bought]).astype(np.int64)
