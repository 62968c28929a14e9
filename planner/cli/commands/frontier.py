"""`planner frontier`: speed per user against throughput per GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli import plan_options as opt
from planner.cli.load_questions import deployment_name, given, tokens
from planner.cli.questions import asked as checked

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner frontier llama-3.1-70b h100 h200 --in 1000 --out 1000 --plot frontier.svg")
def frontier(
    model: Annotated[str, typer.Argument(help="A model.")], skus: Annotated[list[str], typer.Argument(help="SKUs.")],
    in_: opt.In = "1000", out: opt.Out = "1000",
    weights: Annotated[list[str] | None, typer.Option("--weights", help="Formats to try.")] = None,
    engine: Annotated[list[str] | None, typer.Option("--engine", help="Engines to try.")] = None,
    tp: opt.Tp = None, calibration: opt.Calibration = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it: .svg or .png.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Draw the frontier over layouts, formats and concurrency."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.schemas.frontier import FrontierRequest
    from planner.services.frontier.reading import frontier_question

    document = checked(FrontierRequest, given(
        model=model, skus=skus, formats=weights or None, engines=engine or None, calibration=calibration,
        deployment=given(tensor_parallel=tp),
        workload={"input_tokens": tokens(in_, "in"), "output_tokens": tokens(out, "out")}))
    answer = Planner(settings()).frontiers.answer(frontier_question(document))
    if plot is not None:
        from planner.cli.load_plots import draw_frontier

        draw_frontier(answer, plot)
    if as_json:
        typer.echo(json.dumps(answer))
    elif plot is None:
        _print(answer)


def _print(answer: dict[str, Any]) -> None:
    from planner.cli.tables import console, number, table, time, whole
    from planner.core.quantities.format import counted

    screen = console()
    if not answer["points"]:
        screen.print("No candidate can be drawn:")
        for one in answer["rejected"]:
            screen.print(f"– {one['sku']} {deployment_name(one['deployment'])}: {one['reason']}", style="dim")
        return
    rows = table("Pareto set", "SKU", "deployment", "users", "tok/s per user", "tok/s per GPU", "TTFT", "USD/M out",
                 left=2)
    best = [point for point in answer["points"] if point["pareto"]]
    for point in sorted(best, key=lambda p: (-(p["tokens_per_s_per_user"] or 0.0), p["ttft_s"])):
        rows.add_row(point["sku"], deployment_name(point["deployment"]), whole(point["concurrency"]),
                     number(point["tokens_per_s_per_user"]), number(point["output_tokens_per_s_per_gpu"]),
                     time(point["ttft_s"]), number(point["usd_per_million_output_tokens"]))
    screen.print(rows)
    left_out = counted(len(answer["rejected"]), "candidate")
    screen.print(f"{counted(len(answer['points']), 'point')}, {left_out} left out; --json lists them.", style="dim")
