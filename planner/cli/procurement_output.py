"""Where a procurement answer goes: the terminal, JSON, CSV, XLSX, or one page of HTML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

Csv = Annotated[Path | None, typer.Option("--csv", help="Write the tables to one CSV file.")]
Xlsx = Annotated[Path | None, typer.Option("--xlsx", help="Write the tables to a workbook.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a one-page report that prints well.")]
Json = Annotated[bool, typer.Option("--json", help="Print the API's answer.")]


def deliver(answer: dict[str, Any], *, csv: Path | None, xlsx: Path | None, html: Path | None, as_json: bool) -> None:
    """Write the files asked for, and print the answer unless only files were asked for."""
    written = [path for path in (csv, xlsx, html) if path is not None]
    if csv is not None:
        from planner.cli.procurement_files import write_csv

        write_csv(answer, csv)
    if xlsx is not None:
        from planner.cli.procurement_files import write_xlsx

        write_xlsx(answer, xlsx)
    if html is not None:
        from planner.cli.procurement_report import report

        html.write_text(report(answer), encoding="utf-8")
    if as_json:
        from planner.cli.procurement_rows import plain

        typer.echo(json.dumps(plain(answer), allow_nan=False))
        return
    from planner.cli.procurement_tables import shown
    from planner.cli.tables import console

    screen = console()
    for part in shown(answer):
        screen.print(part)
    for path in written:
        screen.print(f"Written: {path}", style="dim")
