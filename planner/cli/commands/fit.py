"""`planner fit`: kernel latencies in, efficiency curves with their error on unseen shapes out."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planner.core.fitting.efficiency import CurveFit
    from planner.core.hardware.chip import Chip
    from planner.services.fitting import KernelFits


def command(
    files: Annotated[list[Path], typer.Argument(help="Kernel-latency CSV files; each is recognised by its columns.")],
    out: Annotated[Path | None, typer.Option(help="Write profile files under this folder.")] = None,
    dated: Annotated[str, typer.Option(help="Date of the measurements for the profiles, ISO 8601.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the curves as JSON in SI units.")] = False,
) -> int:
    """Fit efficiency curves to measured kernels. Example: planner fit gemm.csv moe.csv --out profiles."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.services.fitting import fit_kernels

    catalog = Planner(settings()).catalog
    known: dict[str, Chip] = {}

    def chip(name: str) -> Chip:
        if name not in known:
            known[name] = catalog.sku(name.replace("_", "-")).value
        return known[name]

    found = fit_kernels((_rows(path) for path in files), chip)
    if out is not None:
        _write(out, found, {c.id: c.architecture for c in known.values()}, dated)
    if as_json:
        typer.echo(json.dumps(_document(found)))
    else:
        _show(found)
    return 0


def _rows(path: Path) -> list[dict[str, str]]:
    from planner.core.errors import AdapterError

    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise AdapterError(f"{path.name}: {error}", hint="Give CSV files with a header line.") from error


def _write(out: Path, found: KernelFits, architecture: dict[str, str], dated: str) -> None:
    from datetime import UTC, datetime

    from planner.catalog.profile_files import write_profiles
    from planner.services.fitting import profiles_of

    written = write_profiles(out, profiles_of(found.fits, architecture),
                             measured_on=dated or datetime.now(tz=UTC).date().isoformat(),
                             source="Kernel latency files, fitted by planner fit")
    typer.echo(f"{len(written)} profile files under {out}", err=True)


def _document(found: KernelFits) -> dict[str, Any]:
    return {
        "curves": [_curve(fit) for fit in found.fits],
        "too_small": [{"table": t.name, "rows": int(t.time.size), "gated": dict(t.gated)} for t in found.too_small],
        "refused": [{"reason": r.reason, "count": r.count} for r in found.refused],
        "errors": _errors(found),
    }


def _curve(fit: CurveFit) -> dict[str, Any]:
    table = fit.table
    return {"operator": table.operator, "key": table.key, "chip": table.chip, "engine": table.engine,
            "kernel": table.kernel, "rows": fit.rows, "values": dict(fit.values), "spread": fit.spread,
            "leave_shapes_out_mape": fit.error, "bias": fit.bias, "at_bounds": list(fit.at_bounds),
            "gated": dict(table.gated)}


def _errors(found: KernelFits) -> list[dict[str, Any]]:
    from planner.services.fitting import errors_by

    return [{"operator": operator, "chip": chip, "engine": engine, "rows": rows, "leave_shapes_out_mape": error}
            for (operator, chip, engine), (error, rows) in errors_by(found.fits).items()]


def _show(found: KernelFits) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("operator", "key", "chip", "engine", "kernel", "rows", "gated", "error", "spread",
                  title="Leave-shapes-out error of every curve")
    for fit in found.fits:
        t = fit.table
        table.add_row(t.operator, t.key, t.chip, t.engine, t.kernel, str(fit.rows), str(sum(t.gated.values())),
                      f"{fit.error:.1%}", f"{fit.spread:.1%}")
    console = Console()
    console.print(table)
    for entry in _errors(found):
        console.print(f"{entry['operator']:18} {entry['chip']:26} {entry['engine']:8} {entry['rows']:5} rows  "
                      f"{entry['leave_shapes_out_mape']:.1%}")
    for small in found.too_small:
        console.print(f"left out: {small.name}, {small.time.size} rows after gates {dict(small.gated)}")
