"""`planner skus`: the accelerators of this machine's catalogue, their ceilings and where the numbers come from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from planner.core.hardware.chip import Chip
    from planner.services.catalog import CatalogService

app = typer.Typer(help="The catalogued accelerators (SKUs).", no_args_is_help=True, add_completion=False,
                  epilog="Example: planner skus show h100")

_JSON = Annotated[bool, typer.Option("--json", help="Print JSON in SI units.")]


def _catalog() -> CatalogService:
    from planner.bootstrap import Planner
    from planner.config import settings

    return Planner(settings()).catalog


@app.command("list", epilog="Example: planner skus list --vendor nvidia")
def list_skus(vendor: Annotated[str | None, typer.Option(help="Only this vendor.")] = None,
              search: Annotated[str | None, typer.Option("--q", help="Only ids that contain this.")] = None,
              as_json: _JSON = False) -> None:
    """List every SKU with its dense peaks, bandwidth and memory."""
    catalog = _catalog()
    chips = [chip for _, chip in catalog.values("sku") if (search or "").lower() in chip.id and (
        vendor is None or chip.vendor.lower() == vendor.lower())]
    if as_json:
        typer.echo(json.dumps({"items": [catalog.entry("sku", chip.id).document for chip in chips]}))
        return
    from planner.cli.tables import console, number, table
    from planner.core.quantities.units import GIGA, TERA

    made = table(f"{len(chips)} SKUs, dense peaks", "id", "memory GB", "TB/s", "bf16 TFLOP/s", "fp8", "ridge",
                 "link GB/s", "W")
    for chip in chips:
        half = chip.peaks.get("bf16") or chip.peaks.get("fp16")
        fp8 = chip.peaks.get("fp8")
        made.add_row(chip.id, number(chip.memory_bytes / GIGA), number(chip.bandwidth / TERA),
                     number(half / TERA if half else None), number(fp8 / TERA if fp8 else None),
                     number(half / chip.bandwidth if half else None),
                     number(chip.scale_up.bytes_per_s / GIGA if chip.scale_up else None), number(chip.power_w))
    console().print(made)


@app.command("show", epilog="Example: planner skus show h100")
def show_sku(sku: Annotated[str, typer.Argument(help="Id, alias or vendor name, such as h100 or H100-SXM-80GB.")],
             as_json: _JSON = False) -> None:
    """Show one SKU: every number, its source, and where sources disagree."""
    catalog = _catalog()
    document = catalog.entry("sku", sku).document
    if as_json:
        typer.echo(json.dumps(document))
        return
    from planner.cli.tables import console, table

    made = table(str(document.get("name") or document["id"]), "", "", left=2)
    for name, value in _facts(catalog.sku(sku).value, document):
        made.add_row(name, value)
    console().print(made)


def _facts(chip: Chip, document: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - any JSON object
    from planner.cli.tables import number
    from planner.core.quantities.format import binary_bytes, prefixed

    about = document.get("provenance") or {}
    basis = f" ({about['memory_basis']}: {about['memory_source']})" if about else ""
    rows = [("id", chip.id), ("memory", binary_bytes(chip.memory_bytes) + basis),
            ("bandwidth", prefixed(chip.bandwidth, "B/s"))]
    rows += [(f"peak {pipe}", f"{prefixed(peak, 'FLOP/s')}, ridge {number(peak / chip.bandwidth)} FLOP/byte")
             for pipe, peak in chip.peaks.items()]
    rows += [(name, f"{link.kind}, {prefixed(link.bytes_per_s, 'B/s')} each way, {link.domain} chips")
             for name, link in (("scale-up", chip.scale_up), ("host", chip.host), ("network", chip.network)) if link]
    rows.append(("aliases", ", ".join(document.get("aliases") or ()) or "none"))
    if about:
        rows.append(("confidence", f"{about['confidence']} ({about['date']})"))
        rows += [(label, line) for label, key in (("source", "sources"), ("conflict", "conflicts"), ("note", "notes"))
                 for line in about[key]]
    return rows
