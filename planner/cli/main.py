"""The `planner` command: lists every sub-command without importing any, loads the one that is asked for.

Convention: sub-command NAME lives in planner/cli/commands/NAME.py and defines either `app` (a typer.Typer with
sub-commands of its own) or `command` (a plain function with typer annotations). A command raises PlannerError; `run`
turns it into one sentence and a hint on stderr, and into the exit code:
0 answered (also "does not fit"), 2 bad question, 3 missing fact, 1 anything else.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from planner import __version__

if TYPE_CHECKING:
    from planner.core.errors import PlannerError

ANSWERED, INTERNAL, BAD_QUESTION, MISSING = 0, 1, 2, 3

COMMANDS: dict[str, str] = {
    "plan": "What one replica does: fit, speed, bound, cost, and what would help.",
    "compare": "Several plans side by side.",
    "sweep": "One question over axes of batch, context, SKU, format …",
    "frontier": "Speed per user against throughput per GPU.",
    "size": "How many GPUs a demand needs, ranked.",
    "simulate": "Play a load through a replica, request by request.",
    "whatif": "A procurement scenario from a file.",
    "fleet": "A fleet over time from a file.",
    "roofline": "Where a kernel stands under a chip's ceilings.",
    "diagnose": "Why a measured kernel is slower than its roof.",
    "labs": "Small laboratories: GEMM, fusion, attention, layer, optimizer.",
    "models": "The catalogued models: list, show, import, check.",
    "skus": "The catalogued accelerators: list, show.",
    "ask": "Answer a question in plain words.",
    "parse": "Read a question in plain words.",
    "calibrate": "Measure this machine's ceilings.",
    "fit": "Fit efficiencies to measured kernels.",
    "validate": "Predictions against measured rows.",
    "slack": "The Slack bot.",
    "serve": "The REST service and the web app.",
    "worker": "A worker for long jobs, beside the service.",
    "db": "The database: upgrade, check.",
}
"""Every sub-command with its line in --help."""


class Deferred(TyperCommand):
    """A sub-command that is imported when it is run, not when it is listed."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401 - click's own
        """Load the real command and let it parse its arguments."""
        return load(str(self.name)).make_context(info_name, args, parent=parent, **extra)


class Root(TyperGroup):
    """A group whose commands are the table above."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's signature
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002 - typer's signature
        """Return the stand-in of a listed command."""
        if cmd_name not in COMMANDS:
            return None
        return Deferred(cmd_name, help=COMMANDS[cmd_name], callback=_never, context_settings={})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's signature
        """Return the real command that the arguments name."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(name) if isinstance(command, Deferred) and name else command, rest


def _never() -> None:  # pragma: no cover - the stand-in is replaced before it runs
    raise RuntimeError


def load(name: str) -> Any:  # noqa: ANN401 - a click command, vendored by typer
    """Import a sub-command's module and return its command."""
    module = importlib.import_module(f"planner.cli.commands.{name}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False)
        group.command(name, help=module.command.__doc__ or COMMANDS[name])(module.command)
    command = typer.main.get_command(group)
    command.name = name
    return command


app = typer.Typer(cls=Root, add_completion=False, rich_markup_mode=None,
                  help="Capacity planner for LLM serving: what limits a model on a GPU, and what it takes.")


@app.callback(invoke_without_command=True)
def root(ctx: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Capacity planner for LLM serving: what limits a model on a GPU, and what it takes.

    Example: planner plan llama-3.1-70b h100 --tp 4 --concurrency 64
    """
    if version:
        typer.echo(__version__)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def exit_code(error: PlannerError) -> int:
    """Return the exit code of one of the planner's errors."""
    from planner.core.errors import AdapterError, MissingFact

    if isinstance(error, MissingFact):
        return MISSING
    return INTERNAL if isinstance(error, AdapterError) else BAD_QUESTION


def run() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Return the exit code of a command line; refusals are one sentence and a hint on stderr."""
    from planner.core.errors import PlannerError

    try:
        code = app(arguments, standalone_mode=False, prog_name="planner")
    except PlannerError as error:
        return _refuse(error.detail, _hint(error), exit_code(error))
    except BrokenPipeError:  # `planner … | head` closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ANSWERED
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("Interrupted.", None, 130)
    except typer.Exit as done:
        return int(done.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence of the command line
        return _unforeseen(error)
    return code if isinstance(code, int) else ANSWERED


def _unforeseen(error: Exception) -> int:
    """Refuse a malformed command line, or own up to a bug."""
    message = getattr(error, "format_message", None)
    if message is not None and hasattr(error, "exit_code"):
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "planner"
        return _refuse(message(), f"See {where} --help.", BAD_QUESTION)
    if os.environ.get("PLANNER_DEBUG"):
        raise error
    if isinstance(error, OSError) and isinstance(error.filename, str) and error.strerror:
        return _refuse(f"{error.filename} cannot be used: {error.strerror}.", "Check the path.", BAD_QUESTION)
    return _refuse(f"The planner has a bug: {type(error).__name__}: {error}.",
                   "Set PLANNER_DEBUG=1 for where it happened.", INTERNAL)


def _hint(error: PlannerError) -> str | None:
    candidates = getattr(error, "candidates", ())
    return error.hint or ("Did you mean: " + ", ".join(candidates) if candidates else None)


def _refuse(sentence: str, hint: str | None, code: int) -> int:
    sys.stderr.write(sentence + "\n" + (f"Hint: {hint}\n" if hint else ""))
    return code


if __name__ == "__main__":
    run()
