"""Fixed fleets ("8×H100, 4×H200 or 4×MI300X") judged against the first period's peak."""

from __future__ import annotations

from typing import Any

from planner.core.fleet.fixed import judge
from planner.core.fleet.sizing import required
from planner.core.fleet.unit import usd_per_million
from planner.core.quantities.units import SECONDS_PER_HOUR
from planner.services.procurement.money import finite, to_cent, unit_price
from planner.services.procurement.reading import Read

Answer = dict[str, Any]
USES = (1.0, 0.5, 0.25, 0.1)
"""[1] Shares of the full load that unit prices are shown at: idle time is paid too."""


def judged_fleets(read: Read) -> list[Answer]:
    """Every fixed fleet with its best layout for each workload."""
    return [_judged(read, w, fleet) for fleet in read.document["fleets"] for w in range(len(read.scenario.workloads))]


def _judged(read: Read, w: int, fleet: Any) -> Answer:  # noqa: ANN401 - a mapping of the scenario document
    workload = read.scenario.workloads[w]
    sku = read.sku_ids[fleet["sku"]]
    able = [c for c in read.scenario.candidates if c.workload == workload.id and c.sku == sku
            and fleet["weights"] in {None, c.weights}]
    peak = float(read.scenario.moments.peak[w][0])
    row: Answer = {"fleet": f"{fleet['gpus']}×{sku}", "sku": sku, "gpus": fleet["gpus"], "workload": workload.id,
                   "unit": workload.unit, "peak": unit_price(peak)}
    found = judge(able, fleet["gpus"], float(required(peak, 0.0)))
    if not found:
        reasons = [f"{r.layout} {r.weights}: {r.reason}" for r in read.rejected if r.sku == sku]
        return {**row, "holds": False, "why": "; ".join(dict.fromkeys(reasons)) or "no layout on so few GPUs"}
    best, replica = found[0], read.replicas[found[0].candidate.id]
    rents = [o for o in read.scenario.offers if o.sku == sku and o.kind == "on_demand"]
    hourly = min((o.running_total * SECONDS_PER_HOUR / o.unit_gpus for o in rents), default=None)
    tokens = best.replicas * replica.rate * workload.output_tokens
    each = None if hourly is None else usd_per_million(hourly * fleet["gpus"], tokens)
    return {
        **row, "holds": best.share >= 1, "layout": f"{best.replicas} × {replica.layout}", "weights": replica.weights,
        "idle_gpus": best.idle_gpus, "carries": unit_price(best.carries), "share_of_peak": unit_price(best.share),
        "limit": replica.limit, "tpot_s": finite(replica.tpot_s), "ttft_s": finite(replica.ttft_s),
        "output_tokens_per_s": unit_price(tokens),
        "usd_per_hour": None if hourly is None else to_cent(hourly * fleet["gpus"]),
        "usd_per_million_output_tokens_by_use": None if each is None else {
            str(use): unit_price(each / use) for use in USES},
        "alternatives": [{"layout": f"{j.replicas} × {read.replicas[j.candidate.id].layout}",
                          "weights": j.candidate.weights, "carries": unit_price(j.carries)} for j in found[1:4]],
        "why": f"carries {best.carries:.4g} {workload.unit} of {peak:.4g} asked, limited by {replica.limit}",
    }
