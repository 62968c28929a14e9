"""Fleet questions of one size, 3 models × 8 SKUs × 6 layouts × 12 quarters, each hard in its own way.

Figures are drawn. Prices follow what a GPU carries, give or take a few per cent, so that no SKU wins at a glance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand, cosine_day
from planner.core.fleet.offers import Offer, Purchase, Rental, Reservation
from planner.core.fleet.power import Site
from planner.core.fleet.scenario import Candidate, Limits, Scenario, Workload

QUARTERS, SKUS, MODELS = 12, 8, 3
LAYOUTS = (1, 2, 4, 8, 16, 4)
"""GPUs of the six layouts of a SKU; the last is a second format on four GPUs."""
UNIT_GPUS = 8
HOUR_S = 3600.0
QUARTER_HOURS = 3 * 730.5


def near_tied(seed: int, *, load: float = 1.0, spread: float = 0.05, tie: float = 0.03, blocks: int = 1) -> Scenario:
    """Return rented nodes of eight SKUs whose layouts carry nearly the same load per GPU."""
    rng = np.random.default_rng(seed)
    worth = rng.uniform(0.5, 2.5, size=SKUS)
    candidates, offers = [], []
    loads = tuple(_workload(m, load * float(rng.uniform(8, 60)), growth=float(rng.uniform(0.0, 0.04)))
                  for m in range(MODELS))
    for sku in range(SKUS):
        offers.append(_rental(sku, float(2.0 * worth[sku] * rng.uniform(1 - tie, 1 + tie))))
        for model in range(MODELS):
            fit = float(worth[sku] * rng.uniform(0.9, 1.1)) / (1 + model)
            candidates += [_candidate(model, sku, number, gpus, fit * gpus * float(rng.uniform(1 - spread, 1 + spread)))
                           for number, gpus in enumerate(LAYOUTS)]
    return Scenario(calendar=Calendar(periods=QUARTERS, months_per_period=3, discount_rate=0.08), workloads=loads,
                    candidates=tuple(candidates), offers=tuple(offers), sites=(Site(id="cloud"), _own()), blocks=blocks)


def rising(seed: int, *, load: float = 1.0) -> Scenario:
    """Return layouts that carry more per GPU the larger they are, so that none replaces another."""
    rng = np.random.default_rng(seed)
    given = near_tied(seed, load=load)
    step = {c.sku: float(rng.uniform(1.005, 1.03)) for c in given.candidates}
    best = {(c.workload, c.sku): c.capacity / c.gpus for c in given.candidates if c.gpus == 1}
    return replace(given, candidates=tuple(
        replace(c, capacity=best[c.workload, c.sku] * c.gpus * step[c.sku] ** float(np.log2(c.gpus)))
        for c in given.candidates))


def wide(seed: int) -> Scenario:
    """Return layouts that differ twofold and more."""
    return near_tied(seed, spread=0.6, tie=0.3)


def mixed(seed: int, *, load: float = 1.0, blocks: int = 1) -> Scenario:
    """Return the same with reservations and purchases beside the rents."""
    rng, given = np.random.default_rng(seed + 1000), near_tied(seed, load=load, blocks=blocks)
    more: list[Offer] = []
    for sku, offer in enumerate(given.offers):
        rent = offer.running_total * HOUR_S / UNIT_GPUS
        more.append(Reservation(id=f"sku{sku} reserved", sku=offer.sku, site="cloud", unit_gpus=UNIT_GPUS, join_units=4,
                                running={"rent": offer.running_total * float(rng.uniform(0.6, 0.75))}, term=4))
        card = rent * QUARTER_HOURS * float(rng.uniform(5.0, 8.0))
        more.append(Purchase(id=f"sku{sku} bought", sku=offer.sku, site="own", unit_gpus=UNIT_GPUS, join_units=4,
                             on_site=True, power_w=float(rng.uniform(5_000, 11_000)), units_per_rack=4,
                             capital={"card": UNIT_GPUS * card, "server": 40_000.0},
                             running={"energy": 0.15 * offer.running_total}, term=16, residual_fraction=0.1,
                             first_period=int(rng.integers(0, 3))))
    return replace(given, offers=(*given.offers, *more))


def tight_power(seed: int) -> Scenario:
    """Return purchases that would win everywhere at a site with power for part of them."""
    given = mixed(seed)
    return replace(given, sites=(Site(id="cloud"), replace(_own(), power_cap_w=60_000.0)))


def tight_supply(seed: int) -> Scenario:
    """Return offers that run out: a few units each, and few per quarter."""
    rng, given = np.random.default_rng(seed + 2000), mixed(seed)
    return replace(given, offers=tuple(
        replace(o, supply_total=int(rng.integers(1, 5))) if isinstance(o, Rental) else
        replace(o, supply_per_period=int(rng.integers(1, 3))) for o in given.offers))


def tight_capital(seed: int) -> Scenario:
    """Return purchases with money for a handful."""
    return replace(mixed(seed), limits=Limits(capital_usd=3e6))


def spares(seed: int) -> Scenario:
    """Return spare replicas, headroom and a cheap SKU that may be taken back."""
    given = mixed(seed)
    spot = [replace(o, id=f"{o.sku} spot", running={"rent": 0.5 * o.running_total}, terms="spot", firm=False,
                    availability=0.9) for o in given.offers if isinstance(o, Rental)][:3]
    return replace(given, offers=(*given.offers, *spot), workloads=tuple(
        replace(w, headroom=0.2, spare=1, spot_share=0.4) for w in given.workloads))


def seasons(seed: int) -> Scenario:
    """Return loads that rise and fall against one another over two years' worth of hours."""
    rng, given = np.random.default_rng(seed + 3000), mixed(seed)
    hours = int(QUARTERS * QUARTER_HOURS) + 24
    loads = []
    for w in given.workloads:
        wave = 1.0 + 0.5 * np.sin(2 * np.pi * (np.arange(hours) / float(rng.uniform(6000, 9000)) + rng.uniform()))
        loads.append(replace(w, demand=Demand(hourly=float(rng.uniform(8, 60)) * wave, covers_horizon=True)))
    return replace(given, workloads=tuple(loads))


def two_sites(seed: int) -> Scenario:
    """Return models tied to one site or the other."""
    given = mixed(seed)
    tied = tuple(replace(w, sites=sites) for w, sites in zip(given.workloads, (("cloud",), ("own", "cloud"), None),
                                                             strict=True))
    return replace(given, workloads=tied)


def by_day(seed: int) -> Scenario:
    """Return loads of a day cut into three blocks a quarter, which rents may follow."""
    given = mixed(seed, blocks=1)
    loads = tuple(replace(w, demand=replace(w.demand, hourly=w.demand.hourly[0] * cosine_day(1.6, 6.0 * n)))
                  for n, w in enumerate(given.workloads))
    return replace(given, workloads=loads, blocks=3)


def _workload(model: int, peak: float, growth: float) -> Workload:
    return Workload(id=f"model{model}", model=f"model{model}", demand=Demand(hourly=np.array([peak]), growth=growth),
                    input_tokens=1000.0, output_tokens=300.0)


def _candidate(model: int, sku: int, number: int, gpus: int, capacity: float) -> Candidate:
    return Candidate(id=f"model{model} sku{sku} layout{number}", workload=f"model{model}", sku=f"sku{sku}", gpus=gpus,
                     capacity=capacity)


def _rental(sku: int, usd_per_gpu_hour: float) -> Rental:
    return Rental(id=f"sku{sku} rented", sku=f"sku{sku}", site="cloud", unit_gpus=UNIT_GPUS, join_units=4,
                  running={"rent": usd_per_gpu_hour * UNIT_GPUS / HOUR_S})


def _own() -> Site:
    return Site(id="own", pue=1.3)


FAMILY: dict[str, Callable[[int], Scenario]] = {
    "near-tied": near_tied, "near-tied, small": lambda s: near_tied(s, load=0.3),
    "near-tied, large": lambda s: near_tied(s, load=6.0), "rising": rising,
    "rising, small": lambda s: rising(s, load=0.3), "wide": wide, "buy and rent": mixed,
    "buy and rent, small": lambda s: mixed(s, load=0.3), "buy and rent, large": lambda s: mixed(s, load=6.0),
    "tight power": tight_power, "tight supply": tight_supply,
    "tight capital": tight_capital, "spares and spot": spares, "seasons": seasons, "two sites": two_sites,
    "by day": by_day}
