"""Small scenarios for the tests, by hand and at random."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.fleet.calendar import Calendar
from planner.core.fleet.demand import Demand
from planner.core.fleet.offers import Purchase, Rental, Reservation
from planner.core.fleet.power import Site
from planner.core.fleet.scenario import Candidate, Limits, Scenario, Workload

HOUR = 3600.0
# Of ten blocks of thirty random scenarios, each compared with trying everything, one runs by default.
BLOCKS = (0, *(pytest.param(block, marks=pytest.mark.slow) for block in range(1, 10)))


def workload(name="chat", peak=10.0, growth=0.0, **more):
    fields = {"id": name, "model": name, "demand": Demand(hourly=np.array([float(peak)]), growth=growth),
              "input_tokens": 1000.0, "output_tokens": 500.0}
    return Workload(**(fields | more))


def candidate(name="h100 tp4", *, workload="chat", sku="h100", gpus=4, capacity=3.0, **more):
    return Candidate(id=name, workload=workload, sku=sku, gpus=gpus, capacity=capacity, **more)


def rental(name="h100 on demand", *, sku="h100", usd_per_gpu_hour=2.0, unit=8, site="cloud", **more):
    return Rental(id=name, sku=sku, site=site, unit_gpus=unit, running={"rent": usd_per_gpu_hour * unit / HOUR}, **more)


def reservation(name="h100 reserved", *, sku="h100", usd_per_gpu_hour=1.5, unit=8, site="cloud", term=2, upfront=0.0,
                **more):
    return Reservation(id=name, sku=sku, site=site, unit_gpus=unit, running={"rent": usd_per_gpu_hour * unit / HOUR},
                       capital={"upfront": upfront}, term=term, **more)


def purchase(name="h100 bought", *, sku="h100", card=30_000.0, server=60_000.0, unit=8, site="own", term=48, **more):
    return Purchase(**({"id": name, "sku": sku, "site": site, "unit_gpus": unit, "on_site": True,
                        "power_w": 700.0 * unit, "capital": {"card": card * unit, "server": server},
                        "running": {"energy": 0.2 * unit / HOUR}, "term": term, "residual_fraction": 0.1} | more))


def scenario(**more):
    fields = {"calendar": Calendar(periods=4, discount_rate=0.08), "workloads": (workload(),),
              "candidates": (candidate(),), "offers": (rental(), purchase()),
              "sites": (Site(id="cloud"), Site(id="own"))}
    return Scenario(**(fields | more))


def random_scenario(seed: int) -> Scenario:
    """An instance small enough to enumerate: at most 2 units of anything are ever useful at once."""
    rng = np.random.default_rng(seed)
    periods = int(rng.integers(1, 3))
    skus = ["a", "b"][: int(rng.integers(1, 3))]
    unit = {sku: int(rng.choice([2, 4])) for sku in skus}
    loads, candidates = [], []
    for w in range(int(rng.integers(1, 3))):
        spare = int(rng.integers(0, 2)) if w == 0 else 0
        loads.append(workload(f"w{w}", peak=float(rng.uniform(0.5, 2.0)), growth=float(rng.uniform(0.0, 0.5)),
                              headroom=float(rng.choice([0.0, 0.2])), spare=spare,
                              spot_share=float(rng.choice([0.4, 1.0]))))
        for sku in skus:
            for gpus in sorted({int(g) for g in rng.choice([1, 2, 4], size=2)}):
                capacity = float(gpus * rng.uniform(0.9, 2.2))
                if gpus <= unit[sku]:
                    candidates += [candidate(f"w{w} {sku} {gpus}", workload=f"w{w}", sku=sku, gpus=gpus,
                                             capacity=capacity)]
    offers = []
    for number, sku in enumerate(skus):
        offers.append(rental(f"{sku} rent", sku=sku, unit=unit[sku], usd_per_gpu_hour=float(rng.uniform(1, 5)),
                             supply_total=int(rng.integers(1, 4)) if rng.random() < 0.5 else None))
        kind = rng.choice(["buy", "reserve", "spot"])
        if kind == "buy":
            card = float(rng.uniform(500, 9000))
            offers.append(purchase(f"{sku} buy", sku=sku, unit=unit[sku], card=card, server=0.0,
                                   term=int(rng.integers(1, 5)), first_period=int(rng.integers(0, 2)),
                                   supply_per_period=1 if rng.random() < 0.3 else None))
        elif kind == "reserve":
            offers.append(reservation(f"{sku} reserve", sku=sku, unit=unit[sku], term=int(rng.integers(1, 4)),
                                      usd_per_gpu_hour=float(rng.uniform(0.5, 4)), upfront=float(rng.uniform(0, 500))))
        elif number == 0:
            offers.append(rental(f"{sku} spot", sku=sku, unit=unit[sku], usd_per_gpu_hour=float(rng.uniform(0.3, 2)),
                                 terms="spot", firm=False, availability=float(rng.uniform(0.6, 0.95))))
    limits = Limits(gpus=int(rng.integers(6, 14)) if rng.random() < 0.3 else None,
                    capital_usd=float(rng.uniform(2e3, 6e4)) if rng.random() < 0.3 else None)
    power = float(rng.uniform(1e3, 8e3)) if rng.random() < 0.3 else None
    return Scenario(calendar=Calendar(periods=periods, discount_rate=float(rng.choice([0.0, 0.1]))),
                    workloads=tuple(loads), candidates=tuple(candidates), offers=tuple(offers), limits=limits,
                    sites=(Site(id="cloud"), Site(id="own", pue=1.2, power_cap_w=power)))
