"""`planner roofline`: a kernel or an intensity under a chip's ceilings."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli import lab_answers as lab

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner roofline h100 --flop 1.4e11 --bytes 1e8")
def roofline(
    sku: lab.Sku, dtype: lab.Dtype = "bf16",
    intensity: Annotated[float | None, typer.Option(help="FLOP per byte, instead of work and traffic.")] = None,
    flop: Annotated[float | None, typer.Option(help="Work.")] = None,
    bytes_: Annotated[float | None, typer.Option("--bytes", help="Traffic across the boundary.")] = None,
    boundary: Annotated[str, typer.Option(help="memory, l2, shared_memory, registers, scale_up, host or network."),
                        ] = "memory",
    overlap: Annotated[str, typer.Option(help="full: the slower of memory and arithmetic; none: their sum.")] = "full",
    svg: lab.Svg = None, as_json: lab.Json = False,
) -> None:
    """Say where a kernel stands under a chip's ceilings, and the ridge at every boundary."""
    from planner.schemas.labs import RooflineRequest

    answer = lab.service().roofline(lab.asked(
        RooflineRequest, sku=sku, dtype=dtype, intensity_flop_per_byte=intensity, flop=flop, bytes=bytes_,
        boundary=boundary, overlap=overlap), "default")
    lab.shown(answer, "roofline", svg=svg, as_json=as_json)
