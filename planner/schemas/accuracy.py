"""What the accuracy endpoints take and answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from planner.schemas.base import Answer, Name, Question, Slug

Cell = Annotated[str, Field(max_length=4000)] | Annotated[float, Field(ge=-1e15, le=1e15)] | None
Row = Annotated[dict[Annotated[str, Field(min_length=1, max_length=100)], Cell], Field(min_length=1, max_length=100)]
EXAMPLE = {"model": "meta-llama/Llama-3.1-70B", "gpu": "H100", "engine": "vllm", "weight_dtype": "fp8", "isl": 1024,
           "osl": 1024, "concurrency": 32, "tp": 4, "dp": 1, "moe_tp": 1, "ep": 1, "measured": "2026-11-02",
           "ttft_ms": 181.0, "tpot_ms": 19.4}
Pair = Annotated[list[float], Field(min_length=2, max_length=2)]


class ValidateRequest(Question):
    """Measured runs, one object a row, with the columns of either measured-row file."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=100_000)] = Field(examples=[[EXAMPLE]])


class FromRowsRequest(Question):
    """One to five measured runs of one deployment, and what the calibration shall be called."""

    id: Slug | None = None
    name: Name | None = None
    rows: Annotated[list[Row], Field(min_length=1, max_length=5)] = Field(examples=[[EXAMPLE]])
    notes: Annotated[str, Field(max_length=10_000)] | None = None


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class Counted(_Part):
    """How many rows share a reason."""

    reason: str
    count: int


class ErrorsOf(_Part):
    """Errors of one quantity; absolute percentage errors are fractions."""

    n: int
    mape: float
    median_ape: float
    p90_ape: float
    bias: float = Field(description="Mean of predicted/measured - 1 [1].")
    coverage_90: float | None = Field(description="Share of measured values inside their 90 % intervals [1].")
    mape_interval: Pair | None = Field(None, description="90 % bootstrap interval over groups.")


class GroupErrors(_Part):
    """Errors of the rows that share a label."""

    by: dict[str, str]
    n: int
    metrics: dict[str, ErrorsOf | None]


class ValidationAnswer(Answer):
    """Predictions against measured rows: what was predicted, refused and gated, and the errors of the rest."""

    rows: int
    predicted: int
    refused: list[Counted]
    gated: list[Counted]
    metrics: dict[str, ErrorsOf | None] = Field(description="tpot, ttft, throughput, and primary: the first of tpot, "
                                                            "throughput and ttft that a row has.")
    groups: list[GroupErrors]
    learning: dict[str, Any] | None = None
    warnings: list[str] = Field(description="Columns that nothing reads.")
    row_results: list[dict[str, Any]] | None = Field(None, description="With detail=rows.")


class LearntAnswer(Answer):
    """A calibration learnt from own runs: name its id in a plan's calibration."""

    calibration: dict[str, Any] = Field(description="The stored entry.")
    factor: float = Field(description="On step times: measured over predicted, shrunk [1].")
    factor_interval: Pair = Field(
        description="What the correction leaves, not an interval of the factor: 90 % of measured step times are within "
                    "these multiples of the corrected ones, at any load of the deployment [1].")
    measured_over_corrected_interval: Pair = Field(description="factor_interval by what it is [1].")
    rows: list[dict[str, Any]]
    warnings: list[str]


class AccuracyAnswer(Answer):
    """The published accuracy report: errors on public measured rows, in group and out of it."""

    date: str
    version: str
    files: list[dict[str, Any]]
    noise_floor: dict[str, Any]
    kernels: list[dict[str, Any]] = Field(description="Leave-shapes-out error of kernel curves, one entry an operator, "
                                                      "SKU and engine.")
    not_modelled: list[str]
