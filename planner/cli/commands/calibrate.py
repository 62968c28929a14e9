"""`planner calibrate`: measure this machine, fit its curves, prove them on real steps, save or upload the record."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from planner.calibration.device import Device
    from planner.calibration.kernels.gemm import Shape

QUICK_SECONDS, FULL_SECONDS = 27.0, 165.0


def command(
    device: Annotated[str, typer.Option(help="auto, cpu, mps, cuda or cuda:<number>.")] = "auto",
    quick: Annotated[bool, typer.Option("--quick", help="Under 40 seconds, fewer points.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Run real transformer steps against predictions.")] = False,
    save: Annotated[Path | None, typer.Option(help="Write the record to this JSON file.")] = None,
    upload: Annotated[str | None, typer.Option(help="Store the record at this planner service, such as "
                                               "http://127.0.0.1:8000; needs --sku.")] = None,
    sku: Annotated[str | None, typer.Option(help="The SKU this device is, for comparison and upload.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a residual plot (svg or png).")] = None,
    model: Annotated[str | None, typer.Option(help="Also time the matrix shapes of this catalogued model.")] = None,
    tp: Annotated[int, typer.Option(min=1, help="Tensor parallelism under which --model is cut.")] = 1,
    threads: Annotated[int, typer.Option(min=0, help="Processor threads to use; 0 means all.")] = 0,
    seconds: Annotated[float | None, typer.Option(min=1, help="Time budget instead of 27 or 165.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON in SI units.")] = False,
) -> int:
    """Measure this machine's ceilings and fit its efficiency curves. Example: planner calibrate --quick --verify."""
    from planner.calibration.device import open_device, require_torch

    torch = require_torch()
    if threads:
        torch.set_num_threads(threads)
    opened = open_device(device)
    record, passed = _measured(opened, _shapes(model, tp), quick=quick, prove=verify, seconds=seconds)
    if save is not None:
        _write(save, json.dumps(record, indent=1))
    if plot is not None and record["curves"]:
        from planner.cli.calibration_plot import residual_plot
        residual_plot(record, plot)
    if upload is not None:
        _upload(upload, sku, record)
    if as_json:
        typer.echo(json.dumps(record))
    else:
        from planner.cli.calibration_tables import show
        show(record, sku)
    return 0 if passed else 1


def _measured(opened: Device, extra: list[Shape], *, quick: bool, prove: bool,
              seconds: float | None) -> tuple[dict[str, Any], bool]:
    """The record, complete or partial, and whether it passed its verification."""
    from planner.calibration import record as records
    from planner.calibration.plan import grid_for
    from planner.calibration.suite import Suite
    from planner.calibration.timing import Patience
    from planner.calibration.verify import verify
    from planner.core.errors import MissingFact

    patience = Patience(samples_min=5, seconds_max=0.25, precision=0.03, seconds_disturbed=0.6) if quick else Patience()
    grid = grid_for(opened, quick=quick, extra=extra)
    with _progress("Timing kernels") as advance:
        run = Suite(opened, grid, budget_s=seconds or (QUICK_SECONDS if quick else FULL_SECONDS), patience=patience,
                    progress=advance).execute()
    fitted, missing = records.curves(run)
    record = records.document(run, quick=quick, fitted=fitted, missing=missing)
    passed = True
    if prove and run.partial != "interrupted by the user":
        try:
            with _progress("Running steps") as advance:
                record["verify"] = verify(run, fitted, advance)
            passed = record["verify"]["passed"]
        except MissingFact as error:
            record["verify"] = {"passed": False, "reason": error.detail}
            passed = False
    return record, passed


class _progress:  # noqa: N801 - a context manager, used like a function
    """A progress bar on stderr; silent where stderr is not a terminal."""

    def __init__(self, title: str) -> None:
        self._title = title

    def __enter__(self) -> Callable[[int, int, str], None]:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._bar.start()
        task = self._bar.add_task(self._title)
        return lambda done, total, label: self._bar.update(task, completed=done, total=total,
                                                           description=f"{self._title}: {label}")

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


def _shapes(model: str | None, tp: int) -> list[Shape]:
    """The distinct matrix shapes of a catalogued model on one rank."""
    if model is None:
        return []
    from planner.calibration.kernels.gemm import Shape
    from planner.catalog.indexes import model_names
    from planner.catalog.models import built_in_models
    from planner.core.operators.lower import lower, scheme_for
    from planner.core.parallelism import Layout
    from planner.core.precision import cache_format

    catalogue = built_in_models()
    entry = catalogue.model(model_names(catalogue.aliases()).resolve(model).id)
    table = lower(entry, layout=Layout(tensor=tp), scheme=scheme_for(entry, "bf16"), cache=cache_format("bf16"))
    rows = table.matmuls
    pairs = dict.fromkeys((int(n), int(k)) for n, k in zip(rows.outputs, rows.inputs, strict=True))
    return [Shape(name=f"{entry.id} {n}x{k}", outputs=n, inputs=k) for n, k in pairs]


def _write(path: Path, text: str) -> None:
    """Write whole or not at all."""
    from planner.core.errors import AdapterError

    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(text)
        partial.replace(path)
    except OSError as error:
        raise AdapterError(f"The record could not be written to {path}: {error.strerror}.") from error


def _upload(url: str, sku: str | None, record: dict[str, Any]) -> None:
    import httpx

    from planner.core.errors import AdapterError, InvalidQuantity

    if sku is None:
        raise InvalidQuantity("An upload needs --sku, the SKU that this device is.", pointer="sku")
    body = {"sku": sku, "engine": "generic", "measured_on": record["measured_on"], "record": record,
            "name": f"{record['device']['name']} {record['measured_on'][:10]}"}
    try:
        answer = httpx.post(url.rstrip("/") + "/v1/calibrations", json=body, timeout=30)
    except httpx.HTTPError as error:
        raise AdapterError(f"The service at {url} could not be reached: {error}.",
                           hint="The record is lost unless --save was given.") from error
    if answer.is_error:
        raise AdapterError(f"The service refused the record: {answer.json().get('detail', answer.text)}")
    sys.stderr.write(f"Stored as calibration {answer.json()['id']}.\n")
