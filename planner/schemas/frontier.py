"""Frontier, disaggregation, speculation and prefix questions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from planner.schemas.base import Answer, Question
from planner.schemas.plan import (
    Count,
    DeploymentQuestion,
    EngineName,
    FormatName,
    PlanRequest,
    Share,
    Spread,
    SubjectName,
    Tokens,
)
from planner.schemas.size import Rate

Users = Annotated[float, Field(ge=1, le=1e6)]


class FrontierWorkload(Question):
    """Request lengths."""

    input_tokens: Tokens = 1000.0
    output_tokens: Tokens = 1000.0
    input_cv: Spread = 0.0
    output_cv: Spread = 0.0
    prefix_cache_hit: Share = 0.0


class LayoutQuestion(Question):
    """A parallel layout."""

    tensor_parallel: Count
    pipeline_parallel: Count = 1
    data_parallel: Count = 1
    expert_parallel: Count = 1


class FrontierRequest(Question):
    """Tokens/s per GPU against tokens/s per user over layouts, formats and concurrency."""

    model: SubjectName | dict[str, Any] = Field(examples=["llama-3.1-70b"])
    skus: Annotated[list[SubjectName | dict[str, Any]], Field(min_length=1, max_length=64)] = Field(
        examples=[["h100-sxm-80gb"]])
    workload: FrontierWorkload = FrontierWorkload()
    formats: Annotated[list[FormatName], Field(max_length=12)] | None = None
    layouts: Annotated[list[LayoutQuestion], Field(min_length=1, max_length=64)] | None = None
    concurrency: Annotated[list[Users], Field(min_length=1, max_length=256)] | None = None
    engines: Annotated[list[EngineName], Field(min_length=1, max_length=4)] = Field(["vllm"])
    max_gpus: Annotated[int, Field(ge=1, le=4096)] | None = None
    deployment: DeploymentQuestion = DeploymentQuestion()
    usd_per_gpu_hour: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field({}, max_length=64)
    calibration: SubjectName = "auto"


class FrontierAnswer(Answer):
    """Points with the Pareto set marked."""

    points: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    assumptions: list[str]


class DisaggregationRequest(Question):
    """Which split of GPUs into a prefill and a decode pool carries a rate."""

    base: PlanRequest = Field(description="A plan; its deployment is one decode replica's.")
    request_rate: Rate
    gpus: Annotated[int, Field(ge=2, le=4096)]
    prefill_deployment: DeploymentQuestion | None = Field(None, description="One prefill replica's; null: the same.")
    transfer_bytes_per_s: Annotated[float, Field(ge=1e3, le=1e15)] | None = Field(
        None, description="Between the pools; null: the SKU's scale-up link.")
    transfer_latency_s: Annotated[float, Field(ge=0, le=60)] = 0.0


class DisaggregationAnswer(Answer):
    """Splits, the best first; unstable ones are marked."""

    ratios: list[dict[str, Any]]
    colocated: dict[str, Any]
    transfer_s: float
    assumptions: list[str]


class SpeculationRequest(Question):
    """Whether a draft pays, and up to which batch."""

    base: PlanRequest
    draft_tokens: Annotated[int, Field(ge=1, le=64)] = 3
    acceptance: Share | None = Field(None, description="Chance that one drafted token is accepted.")
    accepted_tokens: Annotated[float, Field(ge=1, le=65)] | None = Field(
        None, description="Measured tokens gained per step, instead of an acceptance.")
    draft_step_share: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="Time to draft one token as a share of a decode step at batch 1.")


class SpeculationAnswer(Answer):
    """Speed-up over batch."""

    accepted_tokens: float
    draft_time_s: float
    batch: list[float]
    speed_up: list[float]
    break_even_batch: float | None
    verdict: str


class PrefixRequest(Question):
    """What a prefix cache saves."""

    base: PlanRequest
    hits: Annotated[list[Share], Field(min_length=1, max_length=32)] = Field([0.25, 0.5, 0.75, 0.9])
    replicas: Annotated[int, Field(ge=1, le=100_000)] = 1
    turns: Annotated[float, Field(ge=1, le=1e4)] = Field(4.0, description="Mean turns of a conversation.")


class PrefixAnswer(Answer):
    """One row per hit share."""

    rows: list[dict[str, Any]]
    assumptions: list[str]
