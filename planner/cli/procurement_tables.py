"""Procurement answers on a terminal: the verdict first, then few columns."""

from __future__ import annotations

from typing import Any

from planner.cli.procurement_rows import Cell, Sheet, plain, sheets
from planner.cli.tables import DASH, console, table
from planner.cli.wrapping import column_widths, folded
from planner.core.quantities.format import counted, significant

LEFT_OUT = {"Summary", "Assumptions and warnings", "Fleet by period", "Prices used"}
MOST_ROWS = 14
"""Rows of a table on a terminal [1]; files hold all."""
MOST_REASONS = 4
"""Other ways explained on a terminal [1]."""


def shown(answer: dict[str, Any]) -> list[Any]:
    """Return an answer as printable parts."""
    from rich.text import Text

    answer, width = plain(answer), console().width
    parts: list[Any] = []
    if answer.get("explanation"):
        good = answer.get("best") is not None or answer.get("plan") is not None
        parts.append(Text(str(answer["explanation"]), style="bold green" if good else "bold red"))
    if answer.get("currency_note"):
        parts.append(Text(str(answer["currency_note"]), style="yellow"))
    if answer.get("range"):
        parts.append(_range_line(answer["range"]))
    parts += [_table(sheet, width) for sheet in sheets(answer) if sheet.title not in LEFT_OUT]
    parts += [Text(f"{fleet['fleet']}: {fleet['why']}.") for fleet in answer.get("fleets") or ()]
    parts += _whys(answer)
    parts += _fleet_lines(answer)
    parts += [Text(f"! {line}", style="yellow") for line in answer.get("warnings") or ()]
    parts += [Text(line, style="dim") for line in answer.get("assumptions") or ()]
    return parts


def _whys(answer: dict[str, Any]) -> list[Any]:
    """Why the nearest other ways lost."""
    from rich.text import Text

    others = [o for o in answer.get("options") or () if o["id"] != answer.get("best")]
    return [Text(f"{o['id']}: {o['why']}.", style="dim") for o in others[:MOST_REASONS]]


def _range_line(found: dict[str, Any]) -> Any:  # noqa: ANN401 - a rich Text
    from rich.text import Text

    if found["gpus_low"] is None:
        return Text("No size of the range can be served.", style="bold red")
    text = f"Between {found['gpus_low']:,} and {counted(found['gpus_high'], 'GPU')} over what is missing"
    if found["usd_per_month_low"] is not None:
        text += f", {found['usd_per_month_low']:,.0f} to {found['usd_per_month_high']:,.0f} USD a month rented"
    return Text(text + ".", style="bold")


def _table(sheet: Sheet, width: int) -> Any:  # noqa: ANN401 - a rich Table
    columns = sheet.narrow or range(len(sheet.heads))
    heads = [sheet.heads[index] for index in columns]
    cells = [[_cell(row[index]) for index in columns] for row in sheet.rows[:MOST_ROWS]]
    widths = column_widths([heads, *cells], width)
    rows = table(sheet.title, *[_lines(head, size) for head, size in zip(heads, widths, strict=True)])
    for place, index in enumerate(columns):
        rows.columns[place].min_width = widths[place]
        if place and any(isinstance(row[index], str) for row in sheet.rows):
            rows.columns[place].justify = "left"
    for row in cells:
        rows.add_row(*[_lines(cell, size) for cell, size in zip(row, widths, strict=True)])
    if len(sheet.rows) > MOST_ROWS:
        rows.caption = f"{len(sheet.rows) - MOST_ROWS} more: --csv, --xlsx or --json"
    return rows


def _lines(text: str, width: int) -> str:
    """A text over lines, its square brackets kept from being read as styles."""
    from rich.markup import escape

    return escape("\n".join(folded(text, width)))


def _cell(cell: Cell) -> str:
    if cell is None:
        return DASH
    if isinstance(cell, bool | str):
        return str(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 10_000 else significant(cell)


def _fleet_lines(answer: dict[str, Any]) -> list[Any]:
    from rich.text import Text

    lines = []
    for line in (answer.get("plan") or {}).get("fleet") or ():
        units = line["units_by_period"]
        lines.append(Text(f"{line['offer']} ({line['kind']}, {counted(line['gpus_per_unit'], 'GPU')} each): "
                          f"{counted(units[0], 'unit')} in the first period, {units[-1]} in the last, at most "
                          f"{max(units)}."))
    return lines
