"""The sizing question and its options."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.schemas.base import Answer, Question
from planner.schemas.plan import DeploymentQuestion, EngineName, FormatName, Seconds, Share, Spread, SubjectName, Tokens

Rate = Annotated[float, Field(ge=1e-9, le=1e5, description="[1/s]; the least is one request in thirty years")]
Percentile = Annotated[float, Field(ge=0.5, le=0.999, description="Share of requests that must meet the objective [1]")]


class SizeDemand(Question):
    """The whole demand: how many requests a second, and how long they are."""

    request_rate: Rate
    input_tokens: Tokens
    output_tokens: Tokens
    input_cv: Spread = 0.0
    output_cv: Spread = 0.0
    arrival_cv: Spread = 1.0
    prefix_cache_hit: Share = 0.0
    hourly_request_rates: Annotated[list[Annotated[float, Field(ge=0, le=1e5)]], Field(max_length=8784)] = Field([])


class SizeObjective(Question):
    """What a share of the requests must meet; with neither target only stability is asked."""

    ttft_s: Seconds | None = None
    tpot_s: Seconds | None = None
    percentile: Percentile = 0.95


class SizeConstraints(Question):
    """What an option may be."""

    max_gpus: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    engines: Annotated[list[EngineName], Field(min_length=1, max_length=4)] = Field(["vllm"])
    formats: Annotated[list[FormatName], Field(max_length=12)] | None = None
    headroom: Annotated[float, Field(ge=0, le=10)] = 0.2
    spare_replicas: Annotated[int, Field(ge=0, le=1000)] = 0


class SizeRequest(Question):
    """How many GPUs a demand needs, of which kind, in which layout."""

    model: SubjectName | dict[str, Any] = Field(examples=["llama-3.1-70b"])
    skus: Annotated[list[SubjectName | dict[str, Any]], Field(min_length=1, max_length=64)] | None = Field(
        None, description="Names or inline SKUs; null: every catalogued SKU with a price.",
        examples=[["h100-sxm-80gb", "h200-sxm-141gb"]])
    demand: SizeDemand
    slo: SizeObjective = SizeObjective()
    constraints: SizeConstraints = SizeConstraints()
    deployment: DeploymentQuestion = DeploymentQuestion()
    usd_per_gpu_hour: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        {}, description="Own prices by SKU id.", max_length=64)
    rank_by: Literal["cost", "gpus", "power"] = "cost"
    verification: Literal["simulated", "closed_form"] = "simulated"
    calibration: SubjectName = "auto"

    model_config = Question.model_config | {"json_schema_extra": {"examples": [{
        "model": "llama-3.1-70b", "skus": ["h100-sxm-80gb", "h200-sxm-141gb"],
        "demand": {"request_rate": 20, "input_tokens": 1000, "output_tokens": 300},
        "slo": {"ttft_s": 1.0, "tpot_s": 0.05, "percentile": 0.95}}]}}


class SizeAnswer(Answer):
    """Options ranked, the picks as indices into them, and why the rest lost."""

    options: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    picks: dict[str, int | None]
    demand: dict[str, Any]
    assumptions: list[str]
