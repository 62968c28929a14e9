"""`planner size`: how many GPUs a demand needs, ranked."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from planner.cli import plan_options as opt
from planner.cli.load_questions import deployment_name, given, tokens
from planner.cli.questions import asked as checked

app = typer.Typer(add_completion=False)
SHOWN = 15
"""Options printed on a terminal [1]."""
SHORT = {"cheapest": "cost", "fewest_gpus": "GPUs", "lowest_latency": "speed"}


@app.command(epilog="Example: planner size llama-3.1-70b h100 h200 b200 --rate 20 --in 1000 --out 300 --ttft 1 "
                    "--tpot 0.05")
def size(
    model: Annotated[str, typer.Argument(help="A model.")],
    skus: Annotated[list[str] | None, typer.Argument(help="SKUs; none: every one with a listed price.")] = None,
    rate: Annotated[float, typer.Option("--rate", help="Requests per second, all together.")] = 1.0,
    in_: opt.In = "1000", out: opt.Out = "1000",
    input_cv: Annotated[float, typer.Option("--in-cv", help="Spread of prompt lengths.")] = 0.0,
    output_cv: Annotated[float, typer.Option("--out-cv", help="Spread of answer lengths.")] = 0.0,
    ttft: Annotated[float | None, typer.Option("--ttft", help="First token within so many seconds.")] = None,
    tpot: Annotated[float | None, typer.Option("--tpot", help="Seconds per further token at most.")] = None,
    percentile: Annotated[float, typer.Option("--percentile", help="Share of requests that must meet it.")] = 0.95,
    engine: Annotated[list[str] | None, typer.Option("--engine", help="vllm, sglang, trtllm or generic.")] = None,
    weights: Annotated[list[str] | None, typer.Option("--weights", help="Formats to try.")] = None,
    tp: opt.Tp = None, max_gpus: Annotated[int | None, typer.Option("--max-gpus", help="GPUs at most.")] = None,
    headroom: Annotated[float, typer.Option("--headroom", help="Share of the demand kept free.")] = 0.2,
    spares: Annotated[int, typer.Option("--spares", help="Replicas beyond, for failures.")] = 0,
    rank_by: Annotated[str, typer.Option("--rank-by", help="cost, gpus or power.")] = "cost",
    closed_form: Annotated[bool, typer.Option("--closed-form", help="Do not verify by simulation.")] = False,
    calibration: opt.Calibration = None, as_json: opt.Json = False,
) -> None:
    """Size a demand: replicas and GPUs of every option that keeps the objective."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.schemas.size import SizeRequest
    from planner.services.sizing.reading import sizing_question

    document = checked(SizeRequest, given(
        model=model, skus=skus or None, calibration=calibration, rank_by=rank_by,
        deployment=given(tensor_parallel=tp), verification="closed_form" if closed_form else "simulated",
        demand={"request_rate": rate, "input_tokens": tokens(in_, "in"), "output_tokens": tokens(out, "out"),
                "input_cv": input_cv, "output_cv": output_cv},
        slo=given(ttft_s=ttft, tpot_s=tpot, percentile=percentile),
        constraints=given(max_gpus=max_gpus, engines=engine or None, formats=weights or None, headroom=headroom,
                          spare_replicas=spares)))
    answer = Planner(settings()).sizing.answer(sizing_question(document))
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        _print(answer, document["demand"])


def _print(answer: dict[str, Any], demand: dict[str, Any]) -> None:
    from planner.cli.tables import console, number, table, time
    from planner.core.quantities.format import amount, counted

    screen = console()
    picks: dict[int, list[str]] = {}
    for name, index in answer["picks"].items():
        picks.setdefault(-1 if index is None else index, []).append(SHORT[name])
    rows = table("Options", "option", "best", "GPUs", "req/s", "TTFT", "TPOT", "USD/h", "USD/M out", left=2)
    for index, option in enumerate(answer["options"][:SHOWN]):
        mark = "✓ " if option["verified"] else ""
        rows.add_row(f"{option['sku']} {deployment_name(option['deployment'])}", mark + ", ".join(picks.get(index, [])),
                     f"{option['replicas']}×{option['deployment']['gpus']}", number(option["max_rate_per_replica"]),
                     time(option["ttft_s"]), time(option["tpot_s"]), number(option["usd_per_hour"]),
                     number(option["usd_per_million_output_tokens"]))
    screen.print(rows if answer["options"] else "No option keeps the objective.")
    more = len(answer["options"]) - SHOWN
    if more > 0:
        screen.print(f"{counted(more, 'more option')}: --json shows all.")
    for loser in answer["rejected"][:SHOWN]:
        screen.print(f"– {loser['sku']} {_layout(loser['deployment'])}: {loser['reason']}", style="dim")
    asked = (f"Asked: {amount(demand['request_rate'])} requests/s of {amount(demand['input_tokens'])} prompt and "
             f"{amount(demand['output_tokens'])} answer tokens.")
    for line in [asked, "GPUs: replicas × GPUs of each; req/s: what one replica carries; ✓: verified by simulation.",
                 *answer["assumptions"]]:
        screen.print(line, style="dim")


def _layout(deployment: dict[str, Any] | None) -> str:
    return "" if deployment is None else deployment_name(deployment)
