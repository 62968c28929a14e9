"""`planner plan`: one replica of a model on a SKU."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from planner.cli import plan_options as opt

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner plan llama-3.1-70b h100 --tp 4 --in 7000 --out 1000 --concurrency 64")
def plan(
    model: Annotated[str, typer.Argument(help="A model: llama-3.1-70b, Qwen/Qwen3-32B, …")],
    sku: Annotated[str, typer.Argument(help="A SKU: h100, h200, b200, mi300x, …")],
    tp: opt.Tp = None, pp: opt.Pp = None, dp: opt.Dp = None, ep: opt.Ep = None, weights: opt.Weights = None,
    kv: opt.Kv = None, in_: opt.In = None, out: opt.Out = None, context: opt.Context = None,
    concurrency: opt.Concurrency = None, rate: opt.Rate = None, hit: opt.Hit = None, engine: opt.Engine = None,
    ttft: opt.Ttft = None, tpot: opt.Tpot = None, price: opt.Price = None, calibration: opt.Calibration = None,
    as_json: opt.Json = False,
) -> None:
    """Say whether a model fits a SKU, how fast it is, what limits it and what would help."""
    short = opt.short_names(model=model, sku=sku, tp=tp, pp=pp, dp=dp, ep=ep, weights=weights, kv=kv, in_=in_, out=out,
                            context=context, concurrency=concurrency, rate=rate, hit=hit, engine=engine, ttft=ttft,
                            tpot=tpot, price=price, calibration=calibration)
    answer = opt.answers([short])[0]
    if as_json:
        typer.echo(json.dumps(answer))
        return
    from planner.cli.tables import console, plan_tables

    screen = console()
    for part in plan_tables(answer):
        screen.print(part)
