"""A calibration record as a short table with its verdicts in words."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from planner.core.quantities.units import GIGA, MICRO


def show(record: dict[str, Any], sku: str | None) -> None:
    """Print what the device reached, the curves with their errors, and what to make of them."""
    console = Console()
    reached, device = record["ceilings"], record["device"]
    console.print(f"{device['name']} ({device['spec']}, torch {device['torch']}, {record['elapsed_s']:.0f} s)")
    streams = ", ".join(f"{k} {v / GIGA:.1f}" for k, v in reached["streams_bytes_per_s"].items())
    console.print(f"Memory: {reached['bandwidth_bytes_per_s'] / GIGA:.1f} GB/s (streaming: {streams} GB/s).")
    for dtype, share in reached["gemv_share_of_stream"].items():
        console.print(f"GEMV {dtype}: {reached['gemv_bytes_per_s'][dtype] / GIGA:.1f} GB/s, "
                      f"{share:.0%} of the best stream.")
    console.print(_curves(record))
    for line in verdicts(record, sku):
        console.print(line, soft_wrap=True)


def _curves(record: dict[str, Any]) -> Table:
    table = Table()
    for name in ("kernel", "dtype", "points", "floor µs", "memory", "compute", "fit error", "left-out error"):
        table.add_column(name, justify="left" if name in ("kernel", "dtype") else "right", no_wrap=name == "kernel")
    for c in record["curves"]:
        p, out = c["parameters"], c["left_out_error"]
        compute = c["ramp"][-1][1] if c["ramp"] else p.get("compute")
        table.add_row(c["kernel"], c["dtype"], str(c["points"]), f"{p['launch_s'] / MICRO:.1f}", f"{p['memory']:.0%}",
                      "–" if compute is None else f"{compute:.0%}", f"{c['median_error']:.1%}",
                      "–" if out is None else f"{out:.1%}")
    return table


def verdicts(record: dict[str, Any], sku: str | None) -> list[str]:
    """Plain sentences: partial, noisy, left out, left-out error, verification, datasheet."""
    lines = []
    if record["partial"]:
        lines.append(f"Partial: {record['partial']}; what was measured is kept.")
    if record["noise"]["noisy"]:
        lines.append(record["noise"]["reason"] + " Do not take these numbers for the device's own.")
    dropped = [r for r in record["rows"] if r["left_out"]]
    if dropped:
        reasons = sorted({r["left_out"] for r in dropped})
        lines.append(f"{len(dropped)} of {len(record['rows'])} rows were implausible and left out "
                     f"({', '.join(reasons)}).")
    if record["left_out_median_error"] is not None:
        lines.append(f"Kernels left out of the fit are predicted within {record['left_out_median_error']:.1%} "
                     "(median).")
    lines += _verification(record.get("verify"))
    return lines + _sheet(record, sku)


def _verification(result: dict[str, Any] | None) -> list[str]:
    if result is None:
        return []
    if "steps" not in result:
        return [f"Not verified: {result['reason']}"]
    lines = [f"  {s['model']:5} {s['kind']:7} batch {s['batch']:3} context {s['context_tokens']:5}: predicted "
             f"{s['predicted_s'] * 1e3:9.3f} ms, measured {s['measured_s'] * 1e3:9.3f} ms, {s['error']:+.1%}"
             for s in result["steps"]]
    word = "passed" if result["passed"] else "FAILED"
    noisy = result.get("noisy")
    return [*lines, (f"Verification {word}: median error {result['median_error']:.1%} over {len(lines)} steps "
                     f"(bound {result['bound']:.0%}).{'' if noisy is None else f' {noisy} Run it again when it is.'}")]


def _sheet(record: dict[str, Any], sku: str | None) -> list[str]:
    if sku is None:
        return []
    from planner.catalog.chips import built_in_chips
    from planner.catalog.indexes import built_in_sku_names
    from planner.services.calibrations import datasheet_comparison

    chip = built_in_chips().entry(built_in_sku_names().resolve(sku).id).chip
    return [f"Your {chip.name} gives {line['share']:.0%} of its datasheet's {line['datasheet']:.3g} {line['unit']} "
            f"({line['ceiling']})." for line in datasheet_comparison(chip, record)]
