"""The labs' questions and, for the reference page and the client, the outlines of their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from planner.schemas.base import Answer, Question

Sku = Annotated[str, Field(min_length=1, max_length=200)] | dict[str, Any]
Dtype = Annotated[str, Field(min_length=1, max_length=40, examples=["bf16"])]
Flop = Annotated[float, Field(ge=0, le=1e30, description="[FLOP]")]
Bytes = Annotated[float, Field(gt=0, le=1e30, description="[byte]")]
Size = Annotated[int, Field(ge=1, le=2**31)]
Count = Annotated[int, Field(ge=1, le=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]
Tensors = Annotated[int, Field(ge=0, le=64)] | Annotated[list[Annotated[str, Field(min_length=1, max_length=60)]],
                                                        Field(max_length=64)]


def _example(**question: Any) -> ConfigDict:  # noqa: ANN401 - any JSON
    return ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True,
                      json_schema_extra={"examples": [{"sku": "h100-sxm-80gb", **question}]})


class ChipQuestion(Question):
    """What every lab asks: a chip, by name or inline, and a number format."""

    sku: Sku = Field(description="A catalogue name, or an inline SKU in the creation form.", examples=["h100-sxm-80gb"])
    dtype: Dtype = "bf16"


class RooflineRequest(ChipQuestion):
    """An intensity, or work and traffic, under the roof of one boundary."""

    intensity_flop_per_byte: Annotated[float, Field(gt=0, le=1e30)] | None = None
    flop: Flop | None = None
    bytes: Bytes | None = None
    boundary: Annotated[str, Field(min_length=1, max_length=40)] = "memory"
    overlap: Literal["full", "none"] = "full"

    model_config = _example(dtype="bf16", flop=1.0e12, bytes=1.0e9)


class RooflineAnswer(Answer):
    """The point under the roof, and the ridge at every boundary."""

    peak_flop_per_s: float
    bandwidth_bytes_per_s: float
    ridge_flop_per_byte: float
    intensity_flop_per_byte: float
    attainable_flop_per_s: float
    fraction_of_peak: float
    bound: str
    time_s: float | None
    boundaries: list[dict[str, Any]]


class DiagnoseRequest(ChipQuestion):
    """A kernel, or a chain of them: work from the shapes, bytes from counters, time from a loop."""

    flop: Flop
    bytes: Bytes
    time_s: Annotated[float, Field(gt=0, le=1e9, description="[s]")]
    kernels: Count | None = None
    bytes_algorithmic: Bytes | None = None
    grid_blocks: Count | None = None
    bytes_in_flight: Bytes | None = None
    stream_bytes_per_s: Annotated[float, Field(gt=0, le=1e24, description="measured copy [byte/s]")] | None = None

    model_config = _example(dtype="bf16", flop=1.3e8, bytes=1.34e8, time_s=1.0e-4, kernels=1)


class DiagnoseAnswer(Answer):
    """Where the kernel sits, what explains the gap, and what would help."""

    position: Literal["slope", "roof", "below"]
    roof_fraction: float
    cause: str
    causes: list[dict[str, Any]]
    questions: list[dict[str, str]]
    levers: list[dict[str, Any]]


class GemmRequest(ChipQuestion):
    """A matrix product m×k by k×n, and its tile."""

    m: Size
    n: Size
    k: Size
    tile: list[Size] = Field(default=[128, 128], min_length=2, max_length=2, description="rows and columns of a tile")
    l2_absorption: Share = 0.85

    model_config = _example(m=4096, n=4096, k=4096, tile=[256, 128], l2_absorption=0.85)


class GemmAnswer(Answer):
    """Three accountings of traffic, the corridor between them, waves and every boundary's verdict."""

    flop: float
    bytes_compulsory: float
    bytes_tiled: float
    bytes_modelled: float
    intensity_flop_per_byte: float
    fraction_of_peak: float
    time_s: float
    waves: dict[str, Any] | None
    corridor: dict[str, Any]


class FusionOperation(Question):
    """One element-wise operation, per element; reads and writes name tensors, or count them (side inputs shared)."""

    name: Annotated[str, Field(min_length=1, max_length=60)]
    flop: Annotated[float, Field(ge=0, le=1e6, description="per element [FLOP]")] = 1.0
    reads: Tensors = 1
    writes: Tensors = 1


class FusionRequest(ChipQuestion):
    """A chain of element-wise operations; a boundary that is true goes through memory."""

    elements: Count
    operations: Annotated[list[FusionOperation], Field(min_length=1, max_length=64)]
    boundaries: Annotated[list[bool], Field(max_length=63)] | None = None

    model_config = _example(elements=67108864, boundaries=[False, False, False], operations=[
        {"name": "rmsnorm", "flop": 5, "reads": ["x"], "writes": ["h"]},
        {"name": "silu", "flop": 4, "reads": ["h"], "writes": ["s"]},
        {"name": "mul", "flop": 1, "reads": ["s", "g"], "writes": ["t"]},
        {"name": "add", "flop": 1, "reads": ["t", "x"], "writes": ["y"]}])


class FusionAnswer(Answer):
    """Kernels, traffic and time of the cut chain, against every operation as its own kernel."""

    kernels: int
    flop: float
    bytes: float
    intensity_flop_per_byte: float
    time_s: float
    split: dict[str, Any]
    speedup: float
    groups: list[dict[str, Any]]


class AttentionRequest(ChipQuestion):
    """One attention: naive, flash or a decode step; a latent cache with kv_lora_rank and rope_head_dim."""

    seq: Size
    heads: Size
    kv_heads: Size | None = None
    head_dim: Size = 128
    mode: Literal["naive", "flash", "decode"] = "flash"
    block_rows: Size | None = None
    causal: bool = False
    skip_masked: bool = False
    batch: Size = 1
    kv_lora_rank: Size | None = None
    rope_head_dim: Size | None = None

    model_config = _example(seq=8192, heads=64, kv_heads=8, head_dim=128, mode="decode")


class AttentionAnswer(Answer):
    """Work, traffic and least time of one attention."""

    flop: float
    bytes: float
    bytes_compulsory: float
    intensity_flop_per_byte: float
    fraction_of_peak: float
    bound: str
    time_s: float


class LayerRequest(ChipQuestion):
    """One layer with heads of 128 and an MLP of 3.5·d_model."""

    d_model: Size = 8192
    seq: Size = 8192
    batch: Size = 1
    kv_heads: Size = 8
    regime: Literal["prefill", "training", "decode"] = "prefill"
    flash: bool = True
    kv_cache: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    calibration: Annotated[str, Field(min_length=1, max_length=200)] = "ideal"
    engine: Literal["vllm", "sglang", "trtllm", "generic"] = "vllm"

    model_config = _example(d_model=8192, seq=8192, batch=4, kv_heads=8, regime="decode")


class LayerAnswer(Answer):
    """Every operator of the layer, and where the time goes."""

    rows: list[dict[str, Any]]
    flop: float
    bytes: float
    time_s: float
    mfu: float
    memory_bound_share: float


class OptimizerRequest(Question):
    """One optimizer step."""

    sku: Sku = Field(description="A catalogue name, or an inline SKU in the creation form.", examples=["h100-sxm-80gb"])
    params: Annotated[float, Field(gt=0, le=1e18)]
    optimizer: Annotated[str, Field(min_length=1, max_length=40)] = "adam"
    shards: Size = 1
    gradient_bytes: Literal[2, 4] = 4
    matrix_size: Size = 4096

    model_config = _example(params=7.0e9, optimizer="adam", shards=1)


class OptimizerAnswer(Answer):
    """Bytes, work, time and state of one step on one rank."""

    bytes_per_parameter: float
    flop: float
    bytes: float
    intensity_flop_per_byte: float
    time_s: float
    state_bytes: float
    state_fits: bool
    network_bytes: float


class HeadRequest(ChipQuestion):
    """The LM head over a batch of tokens, and its cross-entropy."""

    tokens: Size
    d_model: Size
    vocabulary: Size
    logit_bytes: Literal[2, 4] | None = None
    chunk: Size | None = None

    model_config = _example(tokens=8192, d_model=4096, vocabulary=100000)


class HeadAnswer(Answer):
    """The product and the loss, apart."""

    flop: float
    bytes: float
    intensity_flop_per_byte: float
    time_s: float
    logits_bytes: float
    loss: dict[str, Any]
