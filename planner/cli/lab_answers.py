"""Lab questions of the command line, checked by the API's own schema and answered by the same service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.cli.questions import asked as checked

if TYPE_CHECKING:
    from planner.schemas.base import Question
    from planner.services.labs import LabService

Sku = Annotated[str, typer.Argument(help="A SKU: h100, h200, b200, mi300x, …")]
Dtype = Annotated[str, typer.Option("--dtype", help="bf16, fp8, fp32, tf32, int8, fp4, …")]
Json = Annotated[bool, typer.Option("--json", help="Print the API's answer.")]
Svg = Annotated[str | None, typer.Option("--svg", help="Also draw the answer into this SVG file.")]


def service() -> LabService:
    """Return the labs over this machine's catalogue."""
    from planner.bootstrap import Planner
    from planner.config import settings

    return Planner(settings()).labs


def asked(form: type[Question], **document: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """Return the complete question, or refuse it naming the first field at fault."""
    return checked(form, {name: value for name, value in document.items() if value is not None})


def printed_json(answer: dict[str, Any]) -> None:
    """Print an answer as the API gives it."""
    typer.echo(json.dumps(answer))


def shown(answer: dict[str, Any], lab: str, *, svg: str | None, as_json: bool) -> None:
    """Print an answer as JSON or as tables, and draw it where a file was asked for."""
    if svg is not None:
        from planner.cli import lab_plots

        getattr(lab_plots, f"{lab}_svg")(answer, svg)
    if as_json:
        printed_json(answer)
        return
    from rich.text import Text

    from planner.cli import lab_tables
    from planner.cli.tables import console

    screen = console()
    for part in getattr(lab_tables, f"{lab}_tables")(answer):
        screen.print(part)
    for warning in answer["warnings"]:
        screen.print(Text(f"! {warning}", style="yellow"))
