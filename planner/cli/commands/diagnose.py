"""`planner diagnose`: why a measured kernel is slower than its roof."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli import lab_answers as lab

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: planner diagnose h100 --flop 1.3e8 --bytes 1.34e8 --time 1e-4 --kernels 1")
def diagnose(
    sku: lab.Sku,
    flop: Annotated[float, typer.Option(help="Work, from the shapes.")],
    bytes_: Annotated[float, typer.Option("--bytes", help="Traffic at memory, from counters.")],
    time: Annotated[float, typer.Option(help="Measured seconds.")],
    dtype: lab.Dtype = "bf16",
    kernels: Annotated[int | None, typer.Option(help="Launches within the time.")] = None,
    bytes_algorithmic: Annotated[float | None, typer.Option(help="Bytes the algorithm needs.")] = None,
    grid_blocks: Annotated[int | None, typer.Option(help="Thread blocks of the grid.")] = None,
    bytes_in_flight: Annotated[float | None, typer.Option(help="Bytes requested and not yet arrived.")] = None,
    stream: Annotated[float | None, typer.Option(help="Measured copy bandwidth, bytes per second.")] = None,
    as_json: lab.Json = False,
) -> None:
    """Say what explains a kernel's distance to its roof, what helps and what cannot."""
    from planner.schemas.labs import DiagnoseRequest

    answer = lab.service().diagnose(lab.asked(
        DiagnoseRequest, sku=sku, dtype=dtype, flop=flop, bytes=bytes_, time_s=time, kernels=kernels,
        bytes_algorithmic=bytes_algorithmic, grid_blocks=grid_blocks, bytes_in_flight=bytes_in_flight,
        stream_bytes_per_s=stream), "default")
    lab.shown(answer, "diagnose", svg=None, as_json=as_json)
