"""Questions that lack a fact: what is missing, why it matters, and the range the answer lies in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from planner.core.errors import PlannerError
from planner.core.fleet.sizing import CHAT_SHARE, in_flight_of_users
from planner.core.fleet.ways import ways
from planner.services.procurement.describe import workloads_section
from planner.services.procurement.money import to_cent, unit_price
from planner.services.procurement.reading import ScenarioReader

Answer = dict[str, Any]
Fields = Mapping[str, Any]
SIZES = ("meta-llama/llama-3.1-8b", "qwen/qwen3-32b", "meta-llama/llama-3.1-70b")
"""One open model of each common size, as the ends and middle of a range; not a recommendation."""
LENGTHS = ((500.0, 250.0), (3000.0, 1000.0))
"""Short chat and chat over documents [token]: prompt, answer."""
_WHY = {
    "model": "the weights decide what fits and the step time",
    "input_tokens": "prompts decide prefill work and cache per request",
    "output_tokens": "answers decide decode time and cache per request",
    "slo": "without a target TTFT or TPOT a replica is filled to what its memory holds, however slow that is",
    "in_flight_share": "people are not requests: the share in flight at the busiest moment scales the fleet",
}


def missing_facts(document: Fields) -> list[Answer]:
    """Facts the question lacks, with what each is needed for."""
    found: list[Answer] = []
    for workload in document["workloads"]:
        found += [{"workload": workload["id"], "fact": fact, "why": _WHY[fact]}
                  for fact in ("model", "input_tokens", "output_tokens")
                  if workload[fact] is None and not (fact == "model" and workload["measured"])]
        if workload["slo"]["ttft_s"] is None and workload["slo"]["tpot_s"] is None and not workload["measured"]:
            found.append({"workload": workload["id"], "fact": "slo", "why": _WHY["slo"]})
        demand = workload["demand"]
        if demand["users"] is not None and demand["in_flight_share"] is None \
                and demand["requests_per_user_hour"] is None:
            users = demand["users"]
            found.append({"workload": workload["id"], "fact": "in_flight_share", "why": _WHY["in_flight_share"],
                          "range": {"low": CHAT_SHARE.low, "high": CHAT_SHARE.high, "source": CHAT_SHARE.source,
                                    "in_flight_low": in_flight_of_users(users, CHAT_SHARE.low),
                                    "in_flight_high": in_flight_of_users(users, CHAT_SHARE.high)}})
    return found


def _variants(document: Fields) -> Iterator[tuple[Answer, Fields]]:
    """The scenario with the missing facts of its workloads filled from the ends of their ranges."""
    first = document["workloads"][0]
    models = [first["model"]] if first["model"] is not None else list(SIZES)
    pairs = LENGTHS if first["input_tokens"] is None or first["output_tokens"] is None else (
        (first["input_tokens"], first["output_tokens"]),)
    for model in models:
        for prompt, answer in pairs:
            filled = [{**w, "model": w["model"] if w["model"] is not None else model,
                       "input_tokens": w["input_tokens"] or prompt, "output_tokens": w["output_tokens"] or answer}
                      for w in document["workloads"]]
            yield ({"model": model, "input_tokens": filled[0]["input_tokens"],
                    "output_tokens": filled[0]["output_tokens"]},
                   {**document, "workloads": filled, "horizon_months": 1, "months_per_period": 1})


def size_range(reader: ScenarioReader, document: Fields, today: date, workspace: str) -> Answer:
    """GPUs and rent per SKU over the ranges of what is missing: one month on demand."""
    rows: list[Answer] = []
    demand: list[Answer] = []
    notes: list[str] = []
    for facts, filled in _variants(document):
        try:
            read = reader.read(filled, today, workspace)
        except PlannerError as error:
            rows.append({**facts, "refused": error.detail})
            continue
        demand, notes = workloads_section(read), read.notes
        for way in ways(read.scenario):
            if way.kind == "api":
                rows.append({**facts, "sku": way.id, "gpus": 0, "layout": None, "weights": None,
                             "usd_per_month": to_cent(way.npv)})
            if way.kind == "rent" and way.works and way.plan is not None:
                name, _ = next(iter(way.plan.replicas))
                replica = read.replicas[name]
                rows.append({**facts, "sku": way.sku, "gpus": round(float(way.plan.gpus().max())),
                             "layout": replica.layout, "weights": replica.weights,
                             "replicas": int(max(c.max() for c in way.plan.replicas.values())),
                             "load_per_replica": unit_price(replica.load), "unit": read.scenario.workloads[0].unit,
                             "usd_per_month": to_cent(way.npv)})
    rows.sort(key=lambda r: (r["model"], r["input_tokens"], r.get("usd_per_month") or 0.0))
    sized = [r for r in rows if r.get("gpus")]
    return {"rows": rows, "workloads": demand, "notes": notes,
            "gpus_low": min((r["gpus"] for r in sized), default=None),
            "gpus_high": max((r["gpus"] for r in sized), default=None),
            "usd_per_month_low": min((r["usd_per_month"] for r in sized), default=None),
            "usd_per_month_high": max((r["usd_per_month"] for r in sized), default=None)}
