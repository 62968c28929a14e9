"""`planner fleet`: the cheapest mix over time for a scenario file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli import procurement_output as out

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner fleet examples/shared_fleet.toml --xlsx fleet.xlsx")
def fleet(
    file: Annotated[Path, typer.Argument(help="A scenario: TOML or JSON.")],
    gap: Annotated[float, typer.Option(help="Stop this close to the proven best: 0.005 is half a percent.")] = 0.005,
    time_limit: Annotated[float, typer.Option(help="Stop after so many seconds with the best fleet so far.")] = 8.0,
    csv: out.Csv = None, xlsx: out.Xlsx = None, html: out.Html = None, as_json: out.Json = False,
) -> None:
    """Find the cheapest fleet per period with its lower bound, or name the limits that cannot be kept together."""
    from planner.bootstrap import Planner
    from planner.cli.scenario_input import from_file
    from planner.config import settings

    document = from_file(file)
    answer = Planner(settings()).fleets.answer(document, gap=gap, time_limit_s=time_limit)
    out.deliver(answer, csv=csv, xlsx=xlsx, html=html, as_json=as_json)
