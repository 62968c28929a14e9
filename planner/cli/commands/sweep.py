"""`planner sweep`: one plan question over axes, as a table, a file or a plot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli import plan_options as opt

if TYPE_CHECKING:
    from planner.services.sweep.service import Columns

app = typer.Typer(add_completion=False)

AXIS_HELP = "NAME=a,b,c or NAME=first:last:count (geometric); names as in `planner plan`, or dotted fields."
SHOWN = 60
"""Rows printed on a terminal [1]."""


@app.command(epilog="Example: planner sweep llama-3.1-70b h100 --tp 4 --axis concurrency=1:256:9 --axis weights=bf16"
                    " --metric serving.output_tokens_per_s --file sweep.csv")
def sweep(
    model: Annotated[str, typer.Argument(help="A model.")], sku: Annotated[str, typer.Argument(help="A SKU.")],
    axis: Annotated[list[str], typer.Option("--axis", help=AXIS_HELP)],
    metric: Annotated[list[str] | None, typer.Option("--metric", help="A column, such as decode.step_time_s.")] = None,
    tp: opt.Tp = None, weights: opt.Weights = None, kv: opt.Kv = None, in_: opt.In = None, out_: opt.Out = None,
    context: opt.Context = None, concurrency: opt.Concurrency = None, rate: opt.Rate = None, engine: opt.Engine = None,
    price: opt.Price = None, calibration: opt.Calibration = None,
    file: Annotated[Path | None, typer.Option("--file", help="Write .csv, .parquet, .arrow or .json.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the first metric: .svg or .png.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Answer one plan question over the product of axes."""
    from planner.bootstrap import Planner
    from planner.cli.questions import asked
    from planner.cli.sweep_axes import axes_of
    from planner.cli.sweep_files import FILES, writable
    from planner.config import settings
    from planner.schemas.sweep import SweepRequest
    from planner.services.plan.reading import document_of
    from planner.services.sweep.axes import read_axes
    from planner.services.sweep.metrics import DEFAULT
    from planner.services.sweep.output import as_document

    base = document_of(opt.short_names(
        model=model, sku=sku, tp=tp, weights=weights, kv=kv, in_=in_, out_=out_, context=context,
        concurrency=concurrency, rate=rate, engine=engine, price=price, calibration=calibration))
    axes, metrics = axes_of(axis), list(metric or DEFAULT)
    writable(file, *(FILES if file is not None else ()))
    writable(plot, ".svg", ".png")
    asked(SweepRequest, {"base": base, "axes": axes, "metrics": metrics})
    columns = _with_progress(Planner(settings()), base, read_axes(axes, 50_000_000), metrics)
    if file is not None:
        from planner.cli.sweep_files import write

        write(columns, file)
    if plot is not None:
        from planner.cli.sweep_plot import draw

        draw(columns, plot)
    if as_json:
        typer.echo(json.dumps(as_document(columns)))
    elif file is None and plot is None:
        _print(columns)
        _say_load(base, axes)


def _say_load(base: dict[str, Any], axes: dict[str, Any]) -> None:
    """Name the load of a sweep that was given none."""
    from planner.cli.tables import console
    from planner.services.plan.evidence import load_words
    from planner.services.plan.reading import workload_of

    given = {*base.get("workload", {}), *(name.removeprefix("workload.") for name in axes)}
    if not given & {"concurrency", "request_rate", "batch"}:
        console().print(f"At {load_words(workload_of({}), assumed=True)}.", style="dim")


def _with_progress(planner: Any, base: dict[str, Any], axes: Any, metrics: list[str]) -> Columns:  # noqa: ANN401 - loaded late
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sweeping", total=1.0)
        found: Columns = planner.sweeps.columns(base, axes, metrics,
                                                progress=lambda share: bar.update(task, completed=share))
    return found


def _print(columns: Columns) -> None:
    from planner.cli.tables import console, table
    from planner.core.quantities.format import counted
    from planner.services.sweep.output import flat

    names = flat(columns)
    left = len(columns.axes)
    rows = table("", *names, left=left)
    rows.title = None
    count = len(next(iter(names.values())))
    for index in range(min(count, SHOWN)):
        cells = [column[index] for column in names.values()]
        rows.add_row(*[_cell(c) for c in cells])
    screen = console()
    screen.print(rows)
    if count > SHOWN:
        screen.print(f"{counted(count - SHOWN, 'more row')}: write all with --file out.csv")
    for refusal in columns.refused:
        at = ", ".join(f"{path} {value}" for path, value in refusal["at"].items())
        screen.print(f"! {at}: {refusal['detail']}", style="yellow")


def _cell(value: object) -> str:
    """A value of an axis or a metric; a dash where a plan answers null."""
    from planner.cli.tables import DASH
    from planner.core.quantities.format import amount

    if isinstance(value, float):
        return amount(value) if value == value else DASH  # noqa: PLR0124 - NaN is unequal to itself
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
