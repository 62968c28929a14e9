"""How long procurement answers take: `python benchmarks/procurement.py` prints one line each."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from planner.bootstrap import Planner
from planner.cli.scenario_input import complete
from planner.config import settings
from planner.core.fleet.columns import columns
from planner.core.fleet.optimise import optimise
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


def main() -> None:
    """Time the fleet of 12 quarters, a 36-month what-if and its sensitivity."""
    planner = Planner(settings())
    today = datetime.now(UTC).date()
    for bought in (False, True):
        began = time.perf_counter()
        read = planner.procurements.reader.read(document(months=36, per_period=3, bought=bought), today, "default")
        scenario = read.scenario
        loaded = time.perf_counter()
        found = optimise(scenario, gap=0.01, time_limit_s=9.0)
        print(f"fleet, {len(scenario.workloads)} models, {len(SKUS)} SKUs, {len(scenario.candidates)} layouts, "
              f"12 quarters, {columns(scenario).count} variables, offers {len(scenario.offers)}: read "
              f"{loaded - began:.2f} s, solved {time.perf_counter() - loaded:.2f} s, {found.status}, "
              f"gap {found.gap:.2%}")
    read = planner.procurements.reader.read(document(months=36, per_period=1, bought=True), today, "default")
    began = time.perf_counter()
    ranked = [way for way in ways(read.scenario) if way.works]
    print(f"what-if, 36 months, {len(ranked)} ways: {time.perf_counter() - began:.2f} s")
    began = time.perf_counter()
    section = sensitivity.section(read, ranked[0], ranked[1], ranked)
    print(f"sensitivity over {len(section['tornado'])} assumptions: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
