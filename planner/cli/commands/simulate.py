"""`planner simulate`: play a load through replicas, request by request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from planner.cli import plan_options as opt
from planner.cli.load_questions import given
from planner.cli.questions import asked as checked

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner simulate llama-3.1-70b h100 --tp 4 --in 1000 --out 300 --rate 5 --requests 20000")
def simulate(
    model: Annotated[str, typer.Argument(help="A model.")], sku: Annotated[str, typer.Argument(help="A SKU.")],
    tp: opt.Tp = None, dp: opt.Dp = None, ep: opt.Ep = None, weights: opt.Weights = None, kv: opt.Kv = None,
    in_: opt.In = None, out: opt.Out = None, concurrency: opt.Concurrency = None, rate: opt.Rate = None,
    hit: opt.Hit = None, engine: opt.Engine = None, ttft: opt.Ttft = None, tpot: opt.Tpot = None,
    calibration: opt.Calibration = None,
    input_cv: Annotated[float | None, typer.Option("--in-cv", help="Spread of prompt lengths.")] = None,
    output_cv: Annotated[float | None, typer.Option("--out-cv", help="Spread of answer lengths.")] = None,
    arrival_cv: Annotated[float | None, typer.Option("--arrival-cv", help="Burstiness; 1 is Poisson.")] = None,
    requests: Annotated[int, typer.Option("--requests", help="Requests measured, or prompts of a benchmark.")] = 20_000,
    replicas: Annotated[int, typer.Option("--replicas", help="Replicas behind the router.")] = 1,
    router: Annotated[str, typer.Option("--router", help="round_robin, least_loaded, prefix_aware.")] = "round_robin",
    benchmark: Annotated[bool, typer.Option("--benchmark", help="As clients run it: burst and tail included.")] = False,
    trace: Annotated[Path | None, typer.Option("--trace", help="CSV or JSON lines: time, input, output.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same run.")] = 0,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the time series: .svg or .png.")] = None,
    as_json: opt.Json = False,
) -> None:
    """Play a load and report percentiles with their intervals."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.schemas.simulate import SimulationRequest
    from planner.services.plan.reading import document_of
    from planner.services.simulation.files import trace_lines
    from planner.services.simulation.question import simulation_question

    plan = document_of(opt.short_names(
        model=model, sku=sku, tp=tp, dp=dp, ep=ep, weights=weights, kv=kv, in_=in_, out=out, concurrency=concurrency,
        rate=rate, hit=hit, engine=engine, ttft=ttft, tpot=tpot, calibration=calibration))
    plan.setdefault("workload", {}).update(given(input_cv=input_cv, output_cv=output_cv, arrival_cv=arrival_cv))
    document = checked(SimulationRequest, {
        "plan": plan, "requests": requests, "replicas": replicas, "router": router, "seed": seed,
        "mode": "trace" if trace is not None else "benchmark" if benchmark else "steady"})
    question = simulation_question(document)
    if trace is not None:
        question = replace(question, trace=trace_lines(trace))
    answer = _with_progress(Planner(settings()), question)
    if plot is not None:
        from planner.cli.load_plots import draw_series

        draw_series(answer, plot)
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        _print(answer, question.plan.objective)


def _with_progress(planner: Any, question: Any) -> dict[str, Any]:  # noqa: ANN401 - typed in its module
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        found: dict[str, Any] = planner.simulations.answer(
            question, report=lambda share: bar.update(task, completed=share))
    return found


def _print(answer: dict[str, Any], objective: Any) -> None:  # noqa: ANN401 - typed in its module
    from planner.cli.tables import console, number, share, table, time, whole

    screen = console()
    screen.print(answer["verdict"])
    rows = table("Latency", "", "mean", "±", "p50", "p95", "±", "p99", "±", left=1)
    for name, label in (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "E2E")):
        s = answer[name]
        rows.add_row(label, time(s["mean"]), time(s["mean_half_width"]), time(s["p50"]), time(s["p95"]),
                     time(s["p95_half_width"]), time(s["p99"]), time(s["p99_half_width"]))
    gaps = answer["itl_s"]
    rows.add_row("ITL", time(gaps["mean"]), "", time(gaps["p50"]), time(gaps["p95"]), "", time(gaps["p99"]), "")
    screen.print(rows)
    closed = answer["closed_form"]
    facts = table("Load", "", "value")
    for label, value in (
            ("requests measured", whole(answer["requests"])), ("requests/s", number(answer["request_rate"])),
            ("output tokens/s", number(answer["output_tokens_per_s"])), ("mean batch", number(answer["mean_batch"])),
            ("KV occupancy", share(answer["cache_occupancy"])), ("busy", share(answer["utilization"])),
            ("waiting, mean", number(answer["mean_waiting"])), ("preemptions", whole(answer["preemptions"])),
            *([("objective met", share(answer["attainment"]))] if objective.ttft_s or objective.tpot_s else []),
            ("closed form TTFT, one replica", time(closed["ttft_s"])),
            ("closed form ITL, one replica", time(closed["itl_s"]))):
        facts.add_row(label, value)
    screen.print(facts)
    screen.print(answer["intervals"], style="dim")
