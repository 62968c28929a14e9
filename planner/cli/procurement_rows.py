"""A procurement answer as flat tables, the same for the terminal, CSV, XLSX and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

Cell: TypeAlias = str | float | int | bool | None
Answer: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One table: a title, heads with units, rows."""

    title: str
    heads: Sequence[str]
    rows: list[list[Cell]]
    narrow: Sequence[int] | None = None
    """Columns a terminal shows; all when None."""


def plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value whose numbers are finite; what is not becomes null."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def sheets(answer: Answer) -> list[Sheet]:
    """Return every table an answer holds; the empty ones are left out."""
    plan = answer.get("plan") or {}
    found = [_summary(answer), _demand(answer), _range(answer), _fixed(answer), _options(answer), _ways(answer),
             _fleet(plan), _replicas(plan), _money(plan), _prices_of_tokens(plan), _margins(plan), _break_even(answer),
             _tornado(answer), _crossovers(answer), _doubt(answer), _compared(answer), _missing(answer),
             _prices(answer), _notes(answer)]
    return [sheet for sheet in found if sheet.rows]


def _summary(answer: Answer) -> Sheet:
    keys = ("name", "currency", "horizon_months", "as_of", "best", "status", "npv_usd", "lower_bound_usd", "gap",
            "explanation", "currency_note")
    rows: list[list[Cell]] = [[key, answer[key]] for key in keys if answer.get(key) not in (None, "")]
    rows += [["conflict", name] for name in answer.get("conflict") or ()]
    return Sheet(title="Summary", heads=("", "value"), rows=rows)


def _range(answer: Answer) -> Sheet:
    rows = [[r["model"], r["input_tokens"], r["output_tokens"], r["sku"], r["gpus"], r["layout"], r["weights"],
             r["usd_per_month"]] for r in (answer.get("range") or {}).get("rows", ()) if "gpus" in r]
    return Sheet(title="Range over what is missing", rows=rows, narrow=(0, 1, 2, 3, 4, 6, 7), heads=(
        "model", "in [token]", "out [token]", "SKU", "GPUs", "layout", "weights", "USD per month"))


def _demand(answer: Answer) -> Sheet:
    asked = (answer.get("plan") or answer.get("range") or {}).get("workloads") or ()
    rows = [[w["workload"], w["model"], w["peak_first"], w["peak_last"], w["unit"], w["input_tokens"],
             w["output_tokens"], w["mean_tokens_per_s"], w["mean_output_tokens_per_s"], w["spare_replicas"]]
            for w in asked]
    return Sheet(title="Demand, total over all replicas", rows=rows, narrow=(0, 2, 3, 4, 5, 6, 7, 8, 9), heads=(
        "workload", "model", "peak first", "peak last", "unit", "tokens in", "tokens out", "mean token/s",
        "mean out token/s", "spares"))


def _fixed(answer: Answer) -> Sheet:
    rows: list[list[Cell]] = []
    for f in answer.get("fleets") or ():
        use = f.get("usd_per_million_output_tokens_by_use") or {}
        rows.append([f["fleet"], f["workload"], "holds" if f["holds"] else "does not hold", f.get("layout"),
                     f.get("weights"), f.get("carries"), f["peak"], f["unit"], f.get("limit"), f.get("tpot_s"),
                     f.get("usd_per_hour"), use.get("1.0"), use.get("0.1"), f["why"]])
    return Sheet(title="Fixed fleets", rows=rows, narrow=(0, 2, 3, 4, 5, 6, 9, 10, 11, 12), heads=(
        "fleet", "workload", "verdict", "layout", "weights", "carries", "asked", "unit (total)", "limit",
        "TPOT p95 [s]", "USD/h", "USD/M out, full", "10 % use", "why"))


def _options(answer: Answer) -> Sheet:
    rows = [[o["id"], o["kind"], "yes" if o["works"] else "no", o.get("npv_usd"), o.get("total_usd"),
             o.get("gpus_peak"), o.get("npv_over_best"), o.get("why")] for o in answer.get("options") or ()]
    return Sheet(title="Ways, cheapest first", rows=rows, narrow=(0, 1, 2, 3, 5, 6), heads=(
        "way", "kind", "works", "present value [USD]", "total less resale [USD]", "GPUs at peak", "× best", "why"))


def _ways(answer: Answer) -> Sheet:
    rows = [[w["id"], w["kind"], "yes" if w["works"] else "no", w["npv_usd"], w.get("npv_over_fleet"),
             "; ".join(w["broken"])] for w in answer.get("plain_ways") or ()]
    return Sheet(title="Plain ways beside the optimum", rows=rows, narrow=(0, 1, 2, 3, 4), heads=(
        "way", "kind", "works", "present value [USD]", "× fleet", "breaks"))


def _fleet(plan: Answer) -> Sheet:
    rows: list[list[Cell]] = []
    for line in plan.get("fleet") or ():
        started = line["started_by_period"] or [None] * len(line["units_by_period"])
        rows += [[line["offer"], line["kind"], line["sku"], line["site"], period + 1, units,
                  units * line["gpus_per_unit"], start]
                 for period, (units, start) in enumerate(zip(line["units_by_period"], started, strict=True)) if units]
    return Sheet(title="Fleet by period", rows=rows, heads=(
        "offer", "kind", "SKU", "site", "period", "units", "GPUs", "units started"))


def _replicas(plan: Answer) -> Sheet:
    rows = []
    for r in plan.get("replicas") or ():
        low, high = r["load_interval_90"] or (None, None)
        rows.append([r["workload"], r["sku"], r["layout"], r["weights"], r["gpus_per_replica"],
                     r["replicas_by_period"][0], r["replicas_by_period"][-1], r["load_per_replica"], low, high,
                     r["ttft_s"], r["tpot_s"], r["limit"]])
    return Sheet(title="Replicas", rows=rows, narrow=(0, 1, 2, 3, 5, 6, 7, 11, 12), heads=(
        "workload", "SKU", "layout", "weights", "GPUs each", "first", "last", "load each", "5 %", "95 %",
        "TTFT [s]", "TPOT [s]", "limit"))


def _money(plan: Answer) -> Sheet:
    rows: list[list[Cell]] = [[part, usd] for part, usd in (plan.get("parts_usd") or {}).items()]
    if rows:
        rows += [["total less resale", plan["total_usd"]], ["present value", plan["npv_usd"]]]
    return Sheet(title="Money over the horizon", heads=("part", "USD"), rows=rows)


def _prices_of_tokens(plan: Answer) -> Sheet:
    rows = [[p["workload"], p["usd_per_million_input_tokens"], p["usd_per_million_output_tokens"],
             p["usd_per_million_tokens"], p["usd_per_request"], p["joules_per_output_token"]]
            for p in plan.get("unit_prices") or ()]
    return Sheet(title="Unit prices, idle time included", rows=rows, heads=(
        "workload", "USD per M input", "USD per M output", "USD per M tokens", "USD per request", "J per output token"))


def _margins(plan: Answer) -> Sheet:
    rows = [[m["limit"], m["factor"]] for m in plan.get("margins") or ()]
    return Sheet(title="What breaks first", heads=("limit", "demand may grow by ×"), rows=rows)


def _break_even(answer: Answer) -> Sheet:
    found = answer.get("break_even") or {}
    rows: list[list[Cell]] = []
    for b in found.get("rent_or_buy", ()):
        for key, unit in (("month", "month, cash"), ("month_net_of_book_value", "month, counting book value")):
            rows.append([b["own"], b["rent"], "not within the horizon" if b[key] is None else b[key], unit])
    rows += [[b["way"], b["api"], b["utilization"], "share of capacity in use"] for b in found.get("against_api", ())]
    return Sheet(title="Break-even", heads=("own or host", "against", "from", "unit"), rows=rows)


def _tornado(answer: Answer) -> Sheet:
    rows = [[b["assumption"], b["unit"], b["base"], b["low"], b["high"], b["usd_at_low"], b["usd_at_high"],
             "turns the order" if b["turns_the_order"] else ""]
            for b in (answer.get("sensitivity") or {}).get("tornado", ())]
    return Sheet(title="What moves the answer", rows=rows, narrow=(0, 3, 4, 5, 6, 7), heads=(
        "assumption", "unit", "base", "low", "high", "USD at low", "USD at high", ""))


def _crossovers(answer: Answer) -> Sheet:
    rows = [[c["offer"], c["part"], c["unit"], c["now"], c["equal_at"], c["against"]]
            for c in (answer.get("sensitivity") or {}).get("crossovers", ())]
    return Sheet(title="Prices at which the order turns", rows=rows, heads=(
        "offer", "part", "unit", "now", "equal at", "against"))


def _doubt(answer: Answer) -> Sheet:
    found = answer.get("uncertainty") or {}
    names = {"gpus_p50": "GPUs, P50", "gpus_p90": "GPUs, P90", "npv_p50_usd": "present value, P50 [USD]",
             "npv_p90_usd": "present value, P90 [USD]", "draws": "draws", "seed": "seed",
             "demand_cv": "spread of demand over its mean"}
    return Sheet(title="Under doubt", heads=("", "value"),
                 rows=[[name, found[key]] for key, name in names.items() if key in found])


def _compared(answer: Answer) -> Sheet:
    other = answer.get("against") or {}
    rows: list[list[Cell]] = [[key, other[key]] for key in ("name", "best", "npv_usd", "npv_difference_usd")
                              if other.get(key) is not None]
    rows += [[f"difference by {driver}", usd] for driver, usd in (other.get("attribution_usd") or {}).items()]
    return Sheet(title="Against", heads=("", "value"), rows=rows)


def _missing(answer: Answer) -> Sheet:
    rows: list[list[Cell]] = []
    for m in answer.get("missing") or ():
        span = m.get("range")
        text = "" if span is None else (f"; {span['low']:g} to {span['high']:g} are {span['in_flight_low']:g} to "
                                        f"{span['in_flight_high']:g} requests in flight ({span['source']})")
        rows.append([m["fact"], m["why"] + text])
    return Sheet(title="Missing", heads=("fact", "why it matters"), rows=rows)


def _prices(answer: Answer) -> Sheet:
    rows = [[p["id"], p.get("kind"), next((p[k] for k in ("price_per_gpu_hour", "card_price",
                                                          "price_per_million_output") if k in p), None),
             p.get("currency"), p.get("date"), p.get("source")] for p in answer.get("prices") or ()]
    return Sheet(title="Prices used", heads=("price", "kind", "value", "currency", "date", "source"), rows=rows)


def _notes(answer: Answer) -> Sheet:
    rows: list[list[Cell]] = [["warning", text] for text in answer.get("warnings") or ()]
    rows += [["assumption", text] for text in answer.get("assumptions") or ()]
    return Sheet(title="Assumptions and warnings", heads=("kind", "text"), rows=rows)
