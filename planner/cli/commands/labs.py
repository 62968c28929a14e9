"""`planner labs`: GEMM workbench, fusion bench, attention, layer budget, optimizer step, LM head."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli import lab_answers as lab
from planner.core.errors import InvalidQuantity

app = typer.Typer(help="Small laboratories under the same ceilings as the planner.", no_args_is_help=True,
                  epilog="Example: planner labs gemm h100 4096 4096 4096",
                  add_completion=False)
_DEFAULT = "default"


def _tile(text: str) -> list[int]:
    """Return rows and columns of a tile written as 256x128."""
    rows, found, columns = text.lower().partition("x")
    if not (found and rows.isdigit() and columns.isdigit()):
        raise InvalidQuantity(f"tile must look like 256x128, got {text!r}.", pointer="/tile")
    return [int(rows), int(columns)]


@app.command(epilog="Example: planner labs gemm h100 4096 4096 4096 --tile 256x128")
def gemm(
    sku: lab.Sku,
    m: Annotated[int, typer.Argument(help="Rows of the result.")],
    n: Annotated[int, typer.Argument(help="Columns of the result.")],
    k: Annotated[int, typer.Argument(help="Summed dimension.")],
    dtype: lab.Dtype = "bf16",
    tile: Annotated[str, typer.Option(help="Rows and columns of a tile.")] = "128x128",
    absorption: Annotated[float, typer.Option(help="Share of tile re-reads that L2 absorbs.")] = 0.85,
    svg: lab.Svg = None, as_json: lab.Json = False,
) -> None:
    """Count a matrix product's traffic three ways, and say which boundary binds."""
    from planner.schemas.labs import GemmRequest

    answer = lab.service().gemm(lab.asked(GemmRequest, sku=sku, dtype=dtype, m=m, n=n, k=k, tile=_tile(tile),
                                          l2_absorption=absorption), _DEFAULT)
    lab.shown(answer, "gemm", svg=svg, as_json=as_json)


def _operation(text: str) -> dict[str, object]:
    """Return one operation written as name:flop:reads:writes, tensors counted or comma-separated."""
    parts = text.split(":")
    if len(parts) != 4:
        raise InvalidQuantity(f"--op must look like mul:1:s,g:t (name:flop:reads:writes), got {text!r}.",
                              pointer="/operations")
    name, flop, reads, writes = parts
    try:
        work = float(flop)
    except ValueError:
        raise InvalidQuantity(f"--op {name}: flop must be a number, got {flop!r}.", pointer="/operations") from None
    return {"name": name, "flop": work, "reads": _tensors(reads), "writes": _tensors(writes)}


def _tensors(text: str) -> int | list[str]:
    return int(text) if text.isdigit() else [name for name in text.split(",") if name]


@app.command(epilog="Example: planner labs fusion h100 67108864 --op rmsnorm:5:x:h --op silu:4:h:s --op mul:1:s,g:t "
                    "--op add:1:t,x:y --cut 2")
def fusion(
    sku: lab.Sku,
    elements: Annotated[int, typer.Argument(help="Elements of each tensor.")],
    op: Annotated[list[str], typer.Option(help="name:flop:reads:writes, in order; repeat for each operation.")],
    dtype: lab.Dtype = "bf16",
    cut: Annotated[list[int] | None, typer.Option(help="Write the result of this operation (1 is the first) to memory; "
                                                       "left out: everything is fused.")] = None,
    svg: lab.Svg = None, as_json: lab.Json = False,
) -> None:
    """Cut a chain of element-wise operations into kernels and compare with all split."""
    from planner.schemas.labs import FusionRequest

    operations = [_operation(text) for text in op]
    wrong = [index for index in cut or () if not 1 <= index < len(operations)]
    if wrong:
        raise InvalidQuantity(f"--cut must name an operation before the last, 1 to {len(operations) - 1}, got "
                              f"{wrong[0]}.", pointer="/boundaries")
    boundaries = [index in (cut or ()) for index in range(1, len(operations))]
    answer = lab.service().fusion(lab.asked(FusionRequest, sku=sku, dtype=dtype, elements=elements,
                                            operations=operations, boundaries=boundaries), _DEFAULT)
    lab.shown(answer, "fusion", svg=svg, as_json=as_json)


@app.command(epilog="Example: planner labs attention h100 8192 --heads 64 --kv-heads 8 --mode decode")
def attention(
    sku: lab.Sku,
    seq: Annotated[int, typer.Argument(help="Length, or cached tokens in decode.")],
    heads: Annotated[int, typer.Option(help="Query heads.")],
    kv_heads: Annotated[int | None, typer.Option(help="Key-value heads; left out: as many as query heads.")] = None,
    head_dim: Annotated[int, typer.Option(help="Width of a head.")] = 128,
    mode: Annotated[str, typer.Option(help="naive, flash or decode.")] = "flash",
    block_rows: Annotated[int | None, typer.Option(help="Query rows per flash block; left out: read once.")] = None,
    causal: Annotated[bool, typer.Option(help="Only earlier keys.")] = False,
    batch: Annotated[int, typer.Option(help="Sequences.")] = 1,
    kv_lora_rank: Annotated[int | None, typer.Option(help="Width of a cached latent (MLA decode).")] = None,
    rope_head_dim: Annotated[int | None, typer.Option(help="Width of the rotary key beside the latent.")] = None,
    dtype: lab.Dtype = "bf16", as_json: lab.Json = False,
) -> None:
    """Count one attention's work and traffic."""
    from planner.schemas.labs import AttentionRequest

    answer = lab.service().attention(lab.asked(
        AttentionRequest, sku=sku, dtype=dtype, seq=seq, heads=heads, kv_heads=kv_heads, head_dim=head_dim, mode=mode,
        block_rows=block_rows, causal=causal, batch=batch, kv_lora_rank=kv_lora_rank, rope_head_dim=rope_head_dim),
        _DEFAULT)
    lab.shown(answer, "attention", svg=None, as_json=as_json)


@app.command(epilog="Example: planner labs layer h100 --regime decode --batch 64 --seq 8192")
def layer(
    sku: lab.Sku,
    d_model: Annotated[int, typer.Option(help="Hidden width, a multiple of 128.")] = 8192,
    seq: Annotated[int, typer.Option(help="Prompt length, or context in decode.")] = 8192,
    batch: Annotated[int, typer.Option(help="Sequences.")] = 1,
    kv_heads: Annotated[int, typer.Option(help="Key-value heads.")] = 8,
    regime: Annotated[str, typer.Option(help="prefill, training or decode.")] = "prefill",
    flash: Annotated[bool, typer.Option(help="Keep attention scores on chip.")] = True,
    kv: Annotated[str | None, typer.Option(help="KV-cache format.")] = None,
    calibration: Annotated[str, typer.Option(help="ideal, auto, or the id of a calibration.")] = "ideal",
    dtype: lab.Dtype = "bf16", svg: lab.Svg = None, as_json: lab.Json = False,
) -> None:
    """List every operator of one transformer layer and where the time goes."""
    from planner.schemas.labs import LayerRequest

    answer = lab.service().layer(lab.asked(
        LayerRequest, sku=sku, dtype=dtype, d_model=d_model, seq=seq, batch=batch, kv_heads=kv_heads, regime=regime,
        flash=flash, kv_cache=kv, calibration=calibration), _DEFAULT)
    lab.shown(answer, "layer", svg=svg, as_json=as_json)


@app.command(epilog="Example: planner labs optimizer h100 7e9 --optimizer adam --shards 8")
def optimizer(
    sku: lab.Sku,
    params: Annotated[float, typer.Argument(help="Parameters.")],
    rule: Annotated[str, typer.Option("--optimizer", help="adam, adam_8bit, sgd, momentum, adafactor, muon.")] = "adam",
    shards: Annotated[int, typer.Option(help="Ranks that share the state.")] = 1,
    gradient_bytes: Annotated[int, typer.Option(help="4 for fp32 gradients, 2 for bf16.")] = 4,
    matrix_size: Annotated[int, typer.Option(help="Edge of Muon's matrices.")] = 4096,
    as_json: lab.Json = False,
) -> None:
    """Count an optimizer step's bytes and time."""
    from planner.schemas.labs import OptimizerRequest

    answer = lab.service().optimizer(lab.asked(
        OptimizerRequest, sku=sku, params=params, optimizer=rule, shards=shards, gradient_bytes=gradient_bytes,
        matrix_size=matrix_size), _DEFAULT)
    lab.shown(answer, "optimizer", svg=None, as_json=as_json)


@app.command(epilog="Example: planner labs head h100 8192 4096 100000 --logit-bytes 4")
def head(
    sku: lab.Sku,
    tokens: Annotated[int, typer.Argument(help="Tokens.")],
    d_model: Annotated[int, typer.Argument(help="Hidden width.")],
    vocabulary: Annotated[int, typer.Argument(help="Vocabulary.")],
    logit_bytes: Annotated[int | None, typer.Option(help="Bytes per logit as written: 2 or 4.")] = None,
    chunk: Annotated[int | None, typer.Option(help="Tokens per chunk of a fused loss.")] = None,
    dtype: lab.Dtype = "bf16", as_json: lab.Json = False,
) -> None:
    """Count the LM head and its cross-entropy, apart."""
    from planner.schemas.labs import HeadRequest

    answer = lab.service().head(lab.asked(HeadRequest, sku=sku, dtype=dtype, tokens=tokens, d_model=d_model,
                                          vocabulary=vocabulary, logit_bytes=logit_bytes, chunk=chunk), _DEFAULT)
    lab.shown(answer, "head", svg=None, as_json=as_json)
