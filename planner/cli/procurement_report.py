"""A procurement answer as one page of HTML with inline charts: no script, nothing loaded, made to be printed."""

from __future__ import annotations

from html import escape

from planner.cli import procurement_charts as charts
from planner.cli.procurement_rows import Answer, Cell, Sheet, plain, sheets
from planner.core.quantities.format import counted, significant

_STYLE = """
:root{color-scheme:light}*{box-sizing:border-box}
body{font:13px/1.4 system-ui,sans-serif;color:#14181f;margin:24px auto;max-width:1040px;padding:0 16px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:14px;margin:18px 0 4px}
.verdict{font-size:15px;font-weight:600;margin:0 0 8px}.meta{color:#596273;margin:0 0 12px}
.charts{display:grid;grid-template-columns:1fr 1fr;gap:12px 24px}figure{margin:0}figcaption{font-weight:600}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:#39424e}
.end{text-anchor:end}.mid{text-anchor:middle}svg .small{font-size:9px;fill:#596273}.grid{stroke:#dde2e8}
.legend{margin:0;font-size:11px}.legend span{margin-right:12px;display:inline-block}
.legend i{display:inline-block;width:10px;height:10px;margin-right:4px}
table{border-collapse:collapse;width:100%;font-size:12px}
th,td{padding:2px 8px 2px 0;text-align:left;vertical-align:top;border-bottom:1px solid #e6eaef}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
@media print{@page{size:A4;margin:12mm}body{margin:0;max-width:none;padding:0;font-size:10px}
table{font-size:9px}h1{font-size:16px}h2{break-after:avoid}table,figure{break-inside:avoid}.more{display:none}}
"""
_PAGE = ("Ways, cheapest first", "Plain ways beside the optimum", "Fixed fleets", "Range over what is missing",
         "Money over the horizon", "Unit prices, idle time included", "What breaks first", "Break-even",
         "Prices at which the order turns", "Under doubt", "Against", "Missing", "Replicas", "Prices used",
         "Assumptions and warnings")
FLAT = 0.05
"""Percent that a week's use may vary and still be called flat."""
MOST_ROWS = 12
"""Rows of a table on the page [1]; CSV and XLSX hold all."""


def report(answer: Answer) -> str:
    """Return the whole page."""
    answer = plain(answer)
    found = {sheet.title: sheet for sheet in sheets(answer)}
    tables = "".join(_table(found[title]) for title in _PAGE if title in found)
    meta = (f"{answer['horizon_months']} months · money in USD · prices dated in the table below"
            + (f" · as of {answer['as_of']}" if answer.get("as_of") else ""))
    note = f'<p class="meta">{escape(answer["currency_note"])}</p>' if answer.get("currency_note") else ""
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(str(answer["name"]))}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
            f'<h1>{escape(str(answer["name"]))}</h1>'
            f'<p class="verdict">{escape(str(answer.get("explanation") or ""))}</p>'
            f'<p class="meta">{escape(meta)}</p>{note}'
            f'<div class="charts">{_charts(answer)}</div>{tables}</body></html>')


def _charts(answer: Answer) -> str:
    plan = answer.get("plan") or {}
    return "".join(f"<div>{chart}</div>" for chart in (
        _cumulative(answer), _fleet(answer, plan), _tornado(answer), _hours(plan)) if chart)


def _cumulative(answer: Answer) -> str:
    """Spending of the best way and its nearest rivals, before resale."""
    options = [o for o in answer.get("options") or () if o["works"]][:3]
    if not options and answer.get("plan"):
        options = [{"id": "fleet", "by_period_usd": answer["plan"]["by_period_usd"]}]
    series = []
    for option in options:
        total, points = 0.0, [(0.0, 0.0)]
        for period, usd in enumerate(option["by_period_usd"], 1):
            total += usd
            points.append((float(period * answer["months_per_period"]), total))
        series.append((option["id"], points))
    return charts.lines("Cumulative spending, before resale [USD]", "month", series)


def _fleet(answer: Answer, plan: Answer) -> str:
    series = [(line["offer"], [float(units * line["gpus_per_unit"]) for units in line["units_by_period"]])
              for line in plan.get("fleet") or ()]
    return charts.stacked("GPUs of the fleet", "month" if answer["months_per_period"] == 1 else "period", series)


def _tornado(answer: Answer) -> str:
    found = answer.get("sensitivity") or {}
    bars = [(b["assumption"], b["usd_at_low"], b["usd_at_high"], charts.short(b["low"]), charts.short(b["high"]))
            for b in found.get("tornado", ()) if b["usd_at_low"] is not None and b["usd_at_high"] is not None]
    return charts.tornado("What moves the present value [USD]", found["base_usd"], bars[:10]) if bars else ""


def _hours(plan: Answer) -> str:
    """Use over a week as steps, an hour each; a week without a shape is called flat."""
    series = []
    for use in plan.get("utilization_by_hour") or ():
        hours = [100 * share for share in use["hours"]]
        name, edges = f"{use['workload']}, period {use['period']}", list(enumerate(hours))
        if max(hours) - min(hours) < FLAT:
            name, edges = f"{name}: flat at {hours[0]:.0f} %", [(0, hours[0])]
        ends = [*(hour for hour, _ in edges[1:]), len(hours)]
        series.append((name, [point for (start, share), end in zip(edges, ends, strict=True)
                              for point in ((float(start), share), (float(end), share))]))
    days = tuple(24.0 * day for day in range(8))
    return charts.lines("Use of capacity over a week of the busiest month [%]", "hour of the week", series, marks=days,
                        top=100.0)


def _table(sheet: Sheet) -> str:
    numeric = [all(not isinstance(row[i], str) for row in sheet.rows) for i in range(len(sheet.heads))]

    def mark(index: int) -> str:
        return ' class="n"' if numeric[index] else ""

    heads = "".join(f"<th{mark(i)}>{escape(head)}</th>" for i, head in enumerate(sheet.heads))
    rows = "".join("<tr>" + "".join(f"<td{mark(i)}>{_cell(cell)}</td>" for i, cell in enumerate(row)) + "</tr>"
                   for row in sheet.rows[:MOST_ROWS])
    more = len(sheet.rows) - MOST_ROWS
    tail = f'<p class="meta more">{counted(more, "more row")} in the CSV or XLSX.</p>' if more > 0 else ""
    return f"<h2>{escape(sheet.title)}</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{tail}"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, bool | str):
        return escape(str(cell))
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}" if abs(cell) >= 1000 else significant(cell)

