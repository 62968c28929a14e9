"""How long procurement answers take: `python benchmarks/procurement.py` prints these figures alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from figures import Figure

from planner.bootstrap import Planner
from planner.cli.scenario_input import complete
from planner.config import settings
from planner.core.fleet import changes
from planner.core.fleet.columns import columns
from planner.core.fleet.optimise import optimise
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sensitivity import Assumption, tornado
from planner.core.fleet.solver import warm_up
from planner.core.fleet.ways import ways
from planner.services.procurement import sensitivity

SKUS = ["h100-sxm-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "a100-sxm-80gb", "mi300x-192gb", "l40s-48gb", "l4-24gb",
        "gh200-96gb"]
MODELS = (("llama-3.3-70b", 12.0, 3000, 500), ("qwen3-32b", 20.0, 2000, 400), ("llama-3.1-8b", 80.0, 1000, 200))
"""Model, peak requests/s, prompt and answer tokens."""


def document(*, months: int, per_period: int, bought: bool) -> dict[str, object]:
    """Return three models on eight SKUs with rents, reservations and purchases (planning figures)."""
    prices: list[dict[str, object]] = [
        {"sku": "mi300x-192gb", "kind": "on_demand", "price_per_gpu_hour": 2.4}]
    if bought:
        for sku, card, rent in (("h100-sxm-80gb", 25_000, 1.9), ("h200-sxm-141gb", 31_000, 2.4),
                                ("b200-sxm-180gb", 42_000, 3.7), ("mi300x-192gb", 16_000, 1.7),
                                ("l40s-48gb", 8_500, 1.0)):
            prices += [
                {"sku": sku, "kind": "purchase", "site": "own", "card_price": card, "server_price": 60_000,
                 "life_months": 60, "residual_fraction": 0.1},
                {"sku": sku, "kind": "reserved", "price_per_gpu_hour": rent, "term_months": 12}]
    return complete({
        "currency": "USD", "horizon_months": months, "months_per_period": per_period, "cost_of_capital": 0.08,
        "workloads": [{"id": model, "model": model, "input_tokens": prompt, "output_tokens": answer,
                       "slo": {"ttft_s": 2.0, "tpot_s": 0.05},
                       "demand": {"request_rate": rate, "growth_per_month": 0.03, "peak_to_mean": 1.6}}
                      for model, rate, prompt, answer in MODELS],
        "candidates": {"skus": SKUS, "weights": ["bf16", "fp8"], "tensor_parallel": [1, 2, 4]},
        "sites": [{"id": "own", "power_price_per_kwh": 0.1, "pue": 1.3}], "prices": prices})


def measure(planner: Planner) -> dict[str, float]:
    """Seconds and gaps of fleets of 12 quarters, of a 36-month what-if and of the sensitivity it shows."""
    today, found = datetime.now(UTC).date(), {}
    warm_up()
    for name, bought in (("rented", False), ("bought", True)):
        scenario = planner.procurements.reader.read(
            document(months=36, per_period=3, bought=bought), today, "default").scenario
        began = time.perf_counter()
        fleet = optimise(scenario, gap=0.01, time_limit_s=40.0)
        found |= {f"{name}_s": time.perf_counter() - began, f"{name}_gap": 1.0 if fleet.gap is None else fleet.gap,
                  f"{name}_variables": columns(scenario).count}
    read = planner.procurements.reader.read(document(months=36, per_period=1, bought=True), today, "default")
    began = time.perf_counter()
    ranked = [way for way in ways(read.scenario) if way.works]
    found |= {"ways": len(ranked), "ways_s": time.perf_counter() - began}
    began = time.perf_counter()
    section = sensitivity.section(read, ranked[0], ranked[1], ranked)
    found |= {"assumptions": len(section["tornado"]), "sensitivity_s": time.perf_counter() - began}
    asked = document(months=36, per_period=1, bought=True)
    began = time.perf_counter()
    planner.procurements.answer(asked)
    return found | {"answer_s": time.perf_counter() - began, "tornado_s": twenty(read.scenario, ranked[0].id)}


def twenty(scenario: Scenario, best: str) -> float:
    """Seconds of a tornado of twenty assumptions."""
    moved = [Assumption(name=str(n), unit="×", base=1.0, low=0.8, high=1.2, change=changes.scale_demand)
             for n in range(20)]
    began = time.perf_counter()
    tornado(scenario, moved, lambda changed: ways(changed, only=[best])[0].npv or 0.0)
    return time.perf_counter() - began


def figures(found: Mapping[str, float]) -> list[Figure]:
    """What was measured beside what it must be."""
    shown = []
    for name in ("rented", "bought"):
        shown += [Figure(name=f"fleet, 3 models, 8 SKUs, 12 quarters, {name}, {found[f'{name}_variables']} variables",
                         value=found[f"{name}_s"], unit="s", most=10.0),
                  Figure(name=f"fleet, {name}: gap proven", value=100 * found[f"{name}_gap"], unit="%", most=1.0)]
    return [*shown,
            Figure(name=f"what-if, 36 months: {found['ways']} ways ranked", value=found["ways_s"], unit="s", most=1.0),
            Figure(name=f"what-if, 36 months: sensitivity to {found['assumptions']} assumptions",
                   value=found["sensitivity_s"], unit="s", most=5.0),
            Figure(name="what-if, 36 months: tornado of twenty assumptions", value=found["tornado_s"], unit="s",
                   most=5.0),
            Figure(name="what-if, 36 months: the whole answer", value=found["answer_s"], unit="s")]


if __name__ == "__main__":
    for figure in figures(measure(Planner(settings()))):
        print(figure.line())
