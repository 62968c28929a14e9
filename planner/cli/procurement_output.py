"""Where a procurement answer goes: the terminal, JSON, CSV, XLSX, or one page of HTML."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

Csv = Annotated[Path | None, typer.Option("--csv", help="Write the tables to one CSV file.")]
Xlsx = Annotated[Path | None, typer.Option("--xlsx", help="Write the tables to a workbook.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write a one-page report that prints well.")]
Json = Annotated[bool, typer.Option("--json", help="Print the API's answer.")]


@contextmanager
def solver_unheard() -> Iterator[None]:
    """Keep what the solver's own code prints off standard output, where only the answer belongs."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


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
