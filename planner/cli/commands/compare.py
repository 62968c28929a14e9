"""`planner compare`: several SKUs for one model, side by side."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from planner.cli import plan_options as opt

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner compare llama-3.1-70b 4xh100 2xh200 2xmi300x --concurrency 64")
def compare(
    model: Annotated[str, typer.Argument(help="A model.")],
    skus: Annotated[list[str], typer.Argument(help="SKUs, with a count of tensor-parallel GPUs if wanted: 4xh100.")],
    weights: opt.Weights = None, kv: opt.Kv = None, in_: opt.In = None, out: opt.Out = None,
    context: opt.Context = None, concurrency: opt.Concurrency = None, rate: opt.Rate = None, engine: opt.Engine = None,
    price: opt.Price = None, calibration: opt.Calibration = None, as_json: opt.Json = False,
) -> None:
    """Put one model on several SKUs side by side."""
    shorts = []
    for sku in skus:
        count, found, name = sku.partition("x")
        counted = bool(found) and count.isdigit()
        shorts.append(opt.short_names(
            model=model, sku=name if counted else sku, tp=count if counted else None, weights=weights, kv=kv, in_=in_,
            out=out, context=context, concurrency=concurrency, rate=rate, engine=engine, price=price,
            calibration=calibration))
    found_answers = opt.answers(shorts)
    if as_json:
        typer.echo(json.dumps({"plans": found_answers}))
        return
    from planner.cli.tables import compare_table, console

    console().print(compare_table(found_answers))
