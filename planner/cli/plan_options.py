"""The options of a plan, shared by every command that asks one; names as in links."""

from __future__ import annotations

from typing import Annotated, Any

import typer

Tp = Annotated[int | None, typer.Option("--tp", help="Tensor-parallel GPUs; left out: the fewest that fit.")]
Pp = Annotated[int | None, typer.Option("--pp", help="Pipeline stages.")]
Dp = Annotated[int | None, typer.Option("--dp", help="Attention data-parallel groups.")]
Ep = Annotated[int | None, typer.Option("--ep", help="Expert-parallel GPUs.")]
Weights = Annotated[str | None, typer.Option("--weights", help="bf16 fp8 w8a16 w4a16 nvfp4 … ; auto: as published.")]
Kv = Annotated[str | None, typer.Option("--kv", help="KV-cache format: bf16 fp8 …")]
In = Annotated[str | None, typer.Option("--in", help="Prompt tokens, such as 7000 or 2k (2000).")]
Out = Annotated[str | None, typer.Option("--out", help="Answer tokens.")]
Context = Annotated[str | None, typer.Option("--context", help="Mean context of a decode step; 8k is 8192.")]
Concurrency = Annotated[str | None, typer.Option("--concurrency", help="Requests in flight (closed loop).")]
Rate = Annotated[str | None, typer.Option("--rate", help="Requests per second (open loop).")]
Hit = Annotated[str | None, typer.Option("--hit", help="Share of the prompt found in the prefix cache, 0 to 1.")]
Engine = Annotated[str | None, typer.Option("--engine", help="vllm, sglang, trtllm or generic.")]
Ttft = Annotated[str | None, typer.Option("--ttft", help="First token within so many seconds (p95).")]
Tpot = Annotated[str | None, typer.Option("--tpot", help="Seconds per further token at most (p95).")]
Price = Annotated[str | None, typer.Option("--price", help="USD per GPU and hour.")]
Calibration = Annotated[str | None, typer.Option("--calibration", help="auto, ideal, or the id of a calibration.")]
Json = Annotated[bool, typer.Option("--json", help="Print the API's answer.")]


def short_names(**given: object) -> dict[str, str]:
    """Return the options that were given, by their short names."""
    return {name.rstrip("_"): str(value) for name, value in given.items() if value is not None}


def answers(shorts: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return the answers to questions in short names."""
    from planner.bootstrap import Planner
    from planner.cli.questions import validated
    from planner.config import settings
    from planner.services.plan.reading import document_of, question_of

    planner = Planner(settings())
    return [planner.plans.answer(question_of(validated(document_of(short)))) for short in shorts]
