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
    from planner.services.plan.answer import PlanService
    from planner.services.validation.shared import RunFit


def command(
    files: Annotated[list[Path], typer.Argument(help="CSV files: kernel latencies, or measured runs (overheads).")],
    out: Annotated[Path | None, typer.Option(help="Write profile files under this folder.")] = None,
    dated: Annotated[str, typer.Option(help="Date of the measurements for the profiles, ISO 8601.")] = "",
    source: Annotated[str, typer.Option(help="Where the measurements come from, with their licence.")] = (
        "Kernel latencies and measured runs, fitted by planner fit"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the curves as JSON in SI units.")] = False,
) -> int:
    """Fit curves to kernels and overheads to measured runs. Example: planner fit gemm.csv moe.csv --out profiles."""
    from planner.bootstrap import Planner
    from planner.config import settings
    from planner.services.fitting import fit_kernels

    planner = Planner(settings())
    known: dict[str, Chip] = {}

    def chip(name: str) -> Chip:
        if name not in known:
            known[name] = planner.catalog.sku(name.replace("_", "-")).value
        return known[name]

    read = [_rows(path) for path in files]
    runs = [rows for rows in read if rows and "latency_us" not in rows[0] and "latency_ms" not in rows[0]]
    found = fit_kernels((rows for rows in read if rows not in runs), chip)
    shared = _shared(planner.plans, runs)
    if out is not None:
        _write(out, found, {c.id: c.architecture for c in known.values()}, (dated, source), shared)
    if as_json:
        typer.echo(json.dumps({**_document(found), "shared": None if shared is None else shared.report()}))
    else:
        _show(found)
        if shared is not None:
            _show_shared(shared.report())
    return 0


def _shared(plans: PlanService, files: list[list[dict[str, str]]]) -> RunFit | None:
    """The shared overheads of measured runs that pass the gates; none without such files."""
    from planner.services.validation.report import validate
    from planner.services.validation.shared import fit_runs

    if not files:
        return None
    checked = [validate(plans, rows) for rows in files]
    return fit_runs(plans, [row for found in checked for row in found.rows if row.number not in found.gates])


def _show_shared(report: dict[str, Any]) -> None:
    for name in ("tpot_in_sample", "tpot_left_out", "ttft_in_sample", "ttft_left_out"):
        one = report[name]
        typer.echo(f"{name}: {one['n']} runs, MAPE {one['mape']:.1%}, median {one['median_ape']:.1%}, "
                   f"p90 {one['p90_ape']:.1%}")
    for group in report["left_out_groups"]:
        typer.echo(f"  {group['group']}: {group['n']} runs, MAPE {group['mape']:.1%}, bias {group['bias']:+.1%}")
    typer.echo(", ".join(f"{name} {value:.4g}" for name, value in report["coefficients"].items()))


def _rows(path: Path) -> list[dict[str, str]]:
    from planner.core.errors import AdapterError, reason

    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise AdapterError(f"{path} cannot be read: {reason(error)}.",
                           hint="Give CSV files with a header line.") from error


def _write(out: Path, found: KernelFits, architecture: dict[str, str], about: tuple[str, str],
           shared: RunFit | None) -> None:
    from datetime import UTC, datetime

    from planner.catalog.profile_files import write_profiles
    from planner.services.fitting import profiles_of
    from planner.services.validation.shared import overhead_tables

    levels: dict[tuple[str, str], Any] = dict(profiles_of(found.fits, architecture))
    for level, tables in ({} if shared is None else overhead_tables(shared)).items():
        levels[level] = {**levels.get(level, {}), **tables}
    dated, source = about
    written = write_profiles(out, levels, measured_on=dated or datetime.now(tz=UTC).date().isoformat(), source=source)
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
    from planner.cli.tables import console as screen
    from planner.cli.tables import table as empty

    table = empty("Leave-shapes-out error of every curve", "operator", "key", "chip", "engine", "kernel", "rows",
                  "gated", "error", "spread", left=5)
    for fit in found.fits:
        t = fit.table
        table.add_row(t.operator, t.key, t.chip, t.engine, t.kernel, str(fit.rows), str(sum(t.gated.values())),
                      f"{fit.error:.1%}", f"{fit.spread:.1%}")
    console = screen()
    if found.fits:
        console.print(table)
    for entry in _errors(found):
        console.print(f"{entry['operator']:18} {entry['chip']:26} {entry['engine']:8} {entry['rows']:5} rows  "
                      f"{entry['leave_shapes_out_mape']:.1%}")
    for small in found.too_small:
        console.print(f"left out: {small.name}, {small.time.size} rows after gates {dict(small.gated)}")
