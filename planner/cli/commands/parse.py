"""`planner parse`: a question in plain words, as the planner reads it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from planner.cli.questions import earlier

app = typer.Typer(add_completion=False)


@app.command(epilog='Example: planner parse "llama 3.3 70b on 4xh100 fp8, 2k in 500 out, 32 clients"')
def parse(
    text: Annotated[list[str], typer.Argument(help="The question; words after it are joined.")],
    context: Annotated[str | None, typer.Option("--context", help="The earlier answer of the thread, as JSON.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer.")] = False,
) -> None:
    """Read a question in plain words: what it states, what must be asked, and what a name can mean."""
    from planner.bootstrap import Planner
    from planner.config import settings

    parsed = Planner(settings()).grammar.read(" ".join(text), earlier(context))
    if as_json:
        typer.echo(json.dumps(parsed.document()))
        return
    typer.echo(f"intent: {parsed.intent}")
    for key, value in parsed.parse.items():
        typer.echo(f"  {key}: {value if isinstance(value, str) else json.dumps(value)}")
    for key in parsed.ask:
        offered = parsed.choices.get(key)
        typer.echo(f"to ask: {key}" + (f" (one of {', '.join(offered)})" if offered else ""))
    for label, lines in (("warning", parsed.warn), ("note", parsed.notes)):
        for line in lines:
            typer.echo(f"{label}: {line}")
