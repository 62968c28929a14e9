"""`planner validate`: predictions against measured rows, with errors by group and everything left out counted."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planner.services.plan.answer import PlanService
    from planner.services.validation.report import Validation


def command(
    files: Annotated[list[Path], typer.Argument(help="CSV files of measured runs; the header decides.")],
    out: Annotated[Path | None, typer.Option(help="Write every row with its prediction, gate and refusal.")] = None,
    learn: Annotated[int, typer.Option(help="Learn from this many own rows per group (1-5), score the rest.")] = 0,
    other: Annotated[Path | None, typer.Option(help="Another tool's predictions of the same rows.")] = None,
    calibration: Annotated[str, typer.Option(help="auto, or the id of a stored calibration.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Compare predictions with measured runs. Example: planner validate runs.csv --out rows.csv --learn 3."""
    from planner.bootstrap import Planner
    from planner.config import settings

    plans = Planner(settings()).plans
    report: dict[str, Any] = {}
    written: list[dict[str, Any]] = []
    for path in files:
        found, report = _validated(plans, path, calibration, learn, other)
        written += _records(found)
        if as_json:
            typer.echo(json.dumps(report))
        else:
            _show(path.name, report)
    if out is not None:
        _write(out, written)
    return 0


def _validated(plans: PlanService, path: Path, calibration: str, learn: int,
               other: Path | None) -> tuple[Validation, dict[str, Any]]:
    from planner.services.accuracy import scores
    from planner.services.accuracy.files import unread_columns
    from planner.services.validation.comparison import compare
    from planner.services.validation.learning import MOST, learning_report
    from planner.services.validation.report import validate

    rows = _rows(path)
    found = validate(plans, rows, calibration)
    report = {"file": path.name, **scores.report(found),
              "warnings": list(unread_columns([name for name in rows[0] if name] if rows else []))}
    if learn:
        report["learning"] = learning_report(found, min(learn, MOST))
    if other is not None:
        report["comparison"] = compare(found, _rows(other))
    return found, report


def _rows(path: Path) -> list[dict[str, str]]:
    from planner.core.errors import AdapterError, reason

    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise AdapterError(f"{path} cannot be read: {reason(error)}.",
                           hint="Give CSV files with a header line.") from error


def _records(found: Validation) -> list[dict[str, Any]]:
    from planner.services.validation.report import row_records

    return row_records(found)


def _write(out: Path, records: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for record in records for name in record))
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(records)


def _show(name: str, report: dict[str, Any]) -> None:
    from planner.cli.tables import console as screen
    from planner.cli.tables import table as empty
    from planner.core.quantities.format import counted

    console = screen()
    console.print(f"{name}: {counted(report['rows'], 'row')}, {report['predicted']} predicted")
    for kind in ("refused", "gated"):
        for entry in report[kind]:
            console.print(f"  {kind}: {entry['count']} {entry['reason']}")
    for line in report["warnings"]:
        console.print(f"! {line}", style="yellow", markup=False)
    table = empty("", "by", "quantity", "rows", "MAPE", "median", "p90", "bias", "in 90 %", left=2)
    table.title = None
    _lines(table, "all", report["metrics"])
    for group in report["groups"]:
        _lines(table, " ".join(f"{k}={v}" for k, v in group["by"].items()), group["metrics"])
    console.print(table)
    for kind in ("learning", "comparison"):
        if kind in report:
            console.print(f"{kind}: " + ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}"
                                                  for k, v in report[kind].items()))


def _lines(table: Any, label: str, metrics: dict[str, Any]) -> None:  # noqa: ANN401 - rich is imported where it is used
    for quantity, one in metrics.items():
        if one is not None and (quantity != "primary" or label == "all"):
            covered = one["coverage_90"]
            table.add_row(label, quantity, str(one["n"]), f"{one['mape']:.1%}", f"{one['median_ape']:.1%}",
                          f"{one['p90_ape']:.1%}", f"{one['bias']:+.1%}", "" if covered is None else f"{covered:.0%}")
