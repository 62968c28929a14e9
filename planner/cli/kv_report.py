"""`planner models kv-report`: start-up logs of engines, row by row, against what is predicted."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from planner.core.architecture.model import Model, ModelCard
    from planner.services.memory_report import Line, Summary


def kv_report(path: Annotated[Path, typer.Argument(help="A CSV of start-up logs: model, engine, gpu, tp, kv_tokens …")],
              as_json: Annotated[bool, typer.Option("--json", help="Print JSON in SI units.")] = False) -> None:
    """Compare logged cache capacity with predictions, overheads known and withheld."""
    from planner.core.errors import AdapterError
    from planner.services.memory_report import summary
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = report_of(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AdapterError(f"{path} cannot be read as CSV: {error}.") from error
    figures = summary(lines)
    if as_json:
        typer.echo(json.dumps({"rows": [asdict(line) for line in lines], "summary": asdict(figures)}))
        return
    _print(lines, figures)


def report_of(rows: csv.DictReader[str]) -> list[Line]:
    """The lines of a CSV, over the catalogue."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.core.errors import MissingFact
    from planner.services.memory_report import report

    missing = {"model", "engine", "tp"} - set(rows.fieldnames or ())
    if missing:
        raise MissingFact(f"The CSV has no column {', '.join(sorted(missing))}.", fact="columns")
    catalog = Planner(settings()).catalog

    def model_of(name: str) -> tuple[Model | ModelCard, str | None]:
        found = catalog.model(name)
        return found.value, found.weights

    return report(rows, model_of, lambda name: catalog.sku(name).value)


def _print(lines: list[Line], figures: Summary) -> None:
    from planner.cli.tables import console, table

    made = table(f"{len(lines)} logs", "id", "model", "engine", "observed", "overheads known", "withheld",
                 "concurrency", "logged")
    for line in lines:
        made.add_row(line.id, line.model[:34], line.engine[:16], f"{line.observed:,.0f} {line.quantity}",
                     _percent(line.error(line.known)), _percent(line.error(line.withheld)) or (line.reason or "")[:40],
                     "" if line.concurrency is None else f"{line.concurrency:.2f}",
                     "" if line.observed_concurrency is None else f"{line.observed_concurrency:g}")
    out = console()
    out.print(made)
    for name, count, middle, tail in (
            ("Overheads passed in", figures.known, figures.known_median, figures.known_p90),
            ("Pool passed in", figures.pooled, figures.pooled_median, figures.pooled_p90),
            ("Withheld", figures.withheld, figures.withheld_median, figures.withheld_p90)):
        if middle is not None and tail is not None:
            out.print(f"{name}: {count} rows, median error {middle:.2%}, 90th percentile {tail:.2%}.")
    out.print(f"Hybrid models: concurrency exact in {figures.hybrids_exact} of {figures.hybrids} logs with blocks.")


def _percent(error: float | None) -> str:
    return "" if error is None else f"{error:+.1%}"
