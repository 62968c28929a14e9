"""`planner ask`: a question in plain words, answered."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from planner.cli.questions import earlier

app = typer.Typer(add_completion=False)


@app.command(epilog='Example: planner ask "llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"')
def ask(
    text: Annotated[list[str], typer.Argument(help="The question; words after it are joined.")],
    context: Annotated[str | None, typer.Option("--context", help="What --json printed before.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer.")] = False,
) -> None:
    """Answer a question in plain words: a verdict, figures with intervals, and what was assumed."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.services.questions.asking import ask as answer_of

    before = earlier(context)
    planner = Planner(settings())
    answer = answer_of(planner.grammar, planner.answering, " ".join(text), (before or {}).get("context", before))
    if as_json:
        typer.echo(json.dumps(answer))
        return
    _print(answer)


def _print(answer: dict[str, Any]) -> None:
    from planner.cli.tables import DASH, console, table

    screen = console()
    screen.print(answer["verdict"], style="bold")
    if answer["lead"]:
        screen.print(answer["lead"])
    if answer["figures"]:
        rows = table("", "", "value", "90 % interval", left=1)
        for figure in answer["figures"]:
            ends = DASH if figure["low"] is None else f"{figure['low']} … {figure['high']}"
            rows.add_row(figure["label"], figure["text"], ends)
        screen.print(rows)
    for line in [*answer["lines"], answer["limit"], answer["lever"] and f"Best lever: {answer['lever']}."]:
        if line:
            screen.print(line)
    for line in [*answer["warnings"], *answer["notes"], *answer["assumptions"]]:
        screen.print(f"– {line}", style="dim")
