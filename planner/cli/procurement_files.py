"""Procurement tables as CSV and XLSX; text that a spreadsheet would run as a formula is made plain text."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from planner.cli.procurement_rows import Cell, plain, sheets

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters after which spreadsheets run a cell (OWASP, CSV Injection)."""
LONGEST_TITLE = 31
"""[1] Characters of a worksheet's name, by the file format."""


def escaped(cell: Cell) -> Cell:
    """Return a cell that no spreadsheet runs: text that could be a formula gets an apostrophe in front."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell


def write_csv(answer: dict[str, Any], path: Path) -> None:
    """Write every table under its title, blank lines between."""
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle)
        for sheet in sheets(plain(answer)):
            writer.writerow([sheet.title])
            writer.writerow([escaped(head) for head in sheet.heads])
            writer.writerows([[escaped(cell) for cell in row] for row in sheet.rows])
            writer.writerow([])


def write_xlsx(answer: dict[str, Any], path: Path) -> None:
    """Write every table to a sheet of its own."""
    from openpyxl import Workbook
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    book = Workbook()
    book.remove(book.worksheets[0])
    for sheet in sheets(plain(answer)):
        page = book.create_sheet(sheet.title[:LONGEST_TITLE])
        page.append([escaped(head) for head in sheet.heads])
        for cell in page[1]:
            cell.font = Font(bold=True)
        for row in sheet.rows:
            page.append([escaped(cell) for cell in row])
        page.freeze_panes = "A2"
        for index, head in enumerate(sheet.heads, 1):
            widest = max([len(str(head)), *(len(str(row[index - 1])) for row in sheet.rows)])
            page.column_dimensions[get_column_letter(index)].width = min(widest + 2, 80)
    book.save(path)
