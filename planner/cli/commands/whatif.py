"""`planner whatif`: a procurement question, from a scenario file or from short options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.cli import procurement_output as out

app = typer.Typer(add_completion=False)
File = Annotated[Path | None, typer.Argument(help="A scenario: TOML or JSON. Left out: the options below.")]


@app.command(epilog="Examples: planner whatif examples/rent_or_buy.toml --html report.html · planner whatif --model "
                    "llama-3.3-70b --options 8xh100,4xh200,4xmi300x --in-flight 100 --context 8k")
def whatif(
    file: File = None,
    against: Annotated[Path | None, typer.Option(help="Another scenario file to compare with.")] = None,
    model: Annotated[str | None, typer.Option(help="A model; left out: a range over sizes.")] = None,
    users: Annotated[float | None, typer.Option(help="People who may use it (not requests in flight).")] = None,
    share: Annotated[float | None, typer.Option(help="Share of them in flight at the busiest moment.")] = None,
    in_flight: Annotated[float | None, typer.Option(help="Requests in flight at the busiest moment, total.")] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second at the busiest hour, total.")] = None,
    tokens_per_month: Annotated[str | None, typer.Option(help="Input and output tokens a month: 2e9, 2B.")] = None,
    mix: Annotated[str | None, typer.Option(help="Input/output share of the tokens: 80/20.")] = None,
    in_: Annotated[str | None, typer.Option("--in", help="Prompt tokens.")] = None,
    out_: Annotated[str | None, typer.Option("--out", help="Answer tokens.")] = None,
    context: Annotated[str | None, typer.Option(help="Window per request: 8k is 8192.")] = None,
    ttft: Annotated[float | None, typer.Option(help="First token within so many seconds (p95).")] = None,
    tpot: Annotated[float | None, typer.Option(help="Seconds per further token at most (p95).")] = None,
    skus: Annotated[str | None, typer.Option(help="SKUs to size: h100,h200.")] = None,
    options: Annotated[str | None, typer.Option(help="Fixed fleets to judge: 8xh100,4xh200:fp8.")] = None,
    weights: Annotated[str | None, typer.Option(help="Formats to try: bf16,fp8,w4a16.")] = None,
    price: Annotated[list[str] | None, typer.Option(help="USD per GPU-hour: h100=2.50; repeatable.")] = None,
    api: Annotated[str | None, typer.Option(help="USD per million input/output tokens of an API: 0.60/0.80.")] = None,
    measured: Annotated[float | None, typer.Option(help="Output tokens/s measured on the one fleet.")] = None,
    spare: Annotated[int | None, typer.Option(help="Replicas that may fail (N + k).")] = None,
    months: Annotated[int, typer.Option(help="Horizon of the options above.")] = 1,
    csv: out.Csv = None, xlsx: out.Xlsx = None, html: out.Html = None, as_json: out.Json = False,
) -> None:
    """Say what to buy or rent, what it costs, why the other ways lose, what breaks first and what moves the answer."""
    from planner.bootstrap import Planner
    from planner.cli.scenario_input import Quick, from_file, from_options
    from planner.config import settings
    from planner.core.quantities.parse import context_length, count
    from planner.core.quantities.units import GIGA

    def number(text: str | None, name: str) -> float | None:
        if text is None:
            return None
        whole = text.strip().lower()
        billions = whole.endswith("b")
        try:
            return float(whole.removesuffix("b")) * (GIGA if billions else 1.0)
        except ValueError:
            return count(text, name)

    document = from_file(file) if file is not None else from_options(Quick(
        model=model, users=users, share=share, in_flight=in_flight, rate=rate, mix=mix,
        tokens_per_month=number(tokens_per_month, "tokens_per_month"), input_tokens=number(in_, "in"),
        output_tokens=number(out_, "out"), context=None if context is None else context_length(context, "context"),
        ttft=ttft, tpot=tpot, skus=skus, options=options, weights=weights, prices=tuple(price or ()), api=api,
        measured=measured, spare=spare, months=months))
    answer = Planner(settings()).procurements.answer(
        document, against=None if against is None else from_file(against))
    out.deliver(answer, csv=csv, xlsx=xlsx, html=html, as_json=as_json)
