"""`planner skus`: the catalogued accelerators, their ceilings and where the numbers come from."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from planner.core.quantities.units import GIGA, TERA

if TYPE_CHECKING:
    from planner.catalog.chips import ChipEntry

app = typer.Typer(help="The catalogued accelerators (SKUs).", no_args_is_help=True)

_JSON = Annotated[bool, typer.Option("--json", help="Print JSON in SI units.")]


def _record(entry: ChipEntry) -> dict[str, object]:
    """The SKU as the API names its fields, with provenance."""
    chip = entry.chip
    links = {name: None if link is None else asdict(link)
             for name, link in (("scale_up", chip.scale_up), ("host", chip.host), ("network", chip.network))}
    return {"id": chip.id, "name": chip.name, "vendor": chip.vendor, "architecture": chip.architecture,
            "aliases": list(entry.aliases), "memory_bytes": chip.memory_bytes,
            "bandwidth_bytes_per_s": chip.bandwidth, "peak_flop_per_s": dict(chip.peaks), "links": links,
            "link_bytes_per_s": chip.scale_up.bytes_per_s if chip.scale_up else None, "power_w": chip.power_w,
            "multiprocessors": chip.multiprocessors, "clock_hz": chip.clock_hz, "l2_bytes": chip.l2_bytes,
            "shared_memory_bytes": chip.shared_memory_bytes, "boundaries_bytes_per_s": dict(chip.boundaries),
            "gpus_per_node": chip.gpus_per_node,
            "provenance": {"date": entry.date, "confidence": entry.confidence, "memory_basis": entry.memory_basis,
                           "memory_source": entry.memory_source, "sources": list(entry.sources),
                           "conflicts": list(entry.conflicts), "notes": list(entry.notes)}}


def _tera(value: float | None) -> str:
    return "–" if value is None else f"{value / TERA:,.4g}"


@app.command("list", epilog="Example: planner skus list --vendor nvidia")
def list_skus(vendor: Annotated[str | None, typer.Option(help="Only this vendor.")] = None,
              as_json: _JSON = False) -> None:
    """Every catalogued SKU with its dense peaks, bandwidth and memory."""
    from rich.console import Console
    from rich.table import Table

    from planner.catalog.chips import built_in_chips
    chosen = [e for e in built_in_chips().entries() if vendor is None or e.chip.vendor.lower() == vendor.lower()]
    if as_json:
        typer.echo(json.dumps({"items": [_record(entry) for entry in chosen]}))
        return
    table = Table(title=f"{len(chosen)} SKUs (dense peaks)")
    table.add_column("id", no_wrap=True)
    for head in ("memory GB", "TB/s", "bf16 TFLOP/s", "fp8 TFLOP/s", "ridge bf16", "link GB/s", "W"):
        table.add_column(head, justify="right")
    for entry in chosen:
        chip = entry.chip
        half = chip.peaks.get("bf16") or chip.peaks.get("fp16")
        table.add_row(chip.id, f"{chip.memory_bytes / GIGA:.1f}", f"{chip.bandwidth / TERA:.3g}", _tera(half),
                      _tera(chip.peaks.get("fp8")), "–" if half is None else f"{half / chip.bandwidth:.0f}",
                      "–" if chip.scale_up is None else f"{chip.scale_up.bytes_per_s / GIGA:.4g}",
                      "–" if chip.power_w is None else f"{chip.power_w:.0f}")
    Console().print(table)


@app.command("show", epilog="Example: planner skus show h100")
def show_sku(sku: Annotated[str, typer.Argument(help="Id, alias or vendor name, such as h100 or H100-SXM-80GB.")],
             as_json: _JSON = False) -> None:
    """One SKU: every number, its source, and where sources disagree."""
    from rich.console import Console
    from rich.table import Table

    from planner.catalog.chips import built_in_chips
    from planner.catalog.indexes import built_in_sku_names
    entry = built_in_chips().entry(built_in_sku_names().resolve(sku).id)
    record = _record(entry)
    if as_json:
        typer.echo(json.dumps(record))
        return
    table = Table(title=entry.chip.name, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("memory", f"{entry.chip.memory_bytes / GIGA:.2f} GB ({entry.memory_basis}: {entry.memory_source})")
    table.add_row("bandwidth", f"{entry.chip.bandwidth / TERA:.4g} TB/s")
    for pipe, peak in entry.chip.peaks.items():
        table.add_row(f"peak {pipe}", f"{_tera(peak)} TFLOP/s, ridge {peak / entry.chip.bandwidth:.1f} FLOP/byte")
    for name, link in (("scale-up", entry.chip.scale_up), ("host", entry.chip.host), ("network", entry.chip.network)):
        if link is not None:
            table.add_row(name, f"{link.kind}, {link.bytes_per_s / GIGA:.4g} GB/s each way, {link.domain} chips")
    table.add_row("aliases", ", ".join(entry.aliases))
    table.add_row("confidence", f"{entry.confidence} ({entry.date})")
    for label, lines in (("source", entry.sources), ("conflict", entry.conflicts), ("note", entry.notes)):
        for line in lines:
            table.add_row(label, line)
    Console().print(table)
