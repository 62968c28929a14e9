"""The simulation question."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.schemas.base import Question
from planner.schemas.plan import PlanRequest, Spread, Tokens
from planner.schemas.size import Percentile


class LawQuestion(Question):
    """A law of lengths: fixed (tokens), uniform (low, high), lognormal (mean, cv), empirical (points, cumulative)."""

    kind: Literal["fixed", "uniform", "lognormal", "empirical"]
    tokens: Tokens | None = None
    low: Tokens | None = None
    high: Tokens | None = None
    mean: Tokens | None = None
    cv: Spread | None = None
    points: Annotated[list[Tokens], Field(min_length=1, max_length=4096)] | None = None
    cumulative: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=4096)] | None = None


class SimulationRequest(Question):
    """A plan's deployment under a played load: its rate, its users, a benchmark as it was run, or a recorded trace."""

    plan: PlanRequest
    mode: Literal["steady", "benchmark", "trace"] = "steady"
    requests: Annotated[int, Field(ge=1, le=5_000_000, description="Measured; a benchmark's prompts")] = 20_000
    warmup: Annotated[float, Field(ge=0, le=1)] = 0.1
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    replicas: Annotated[int, Field(ge=1, le=1024)] = 1
    router: Literal["round_robin", "least_loaded", "prefix_aware"] = "round_robin"
    queue: Literal["fcfs", "priority"] = "fcfs"
    sessions: Annotated[int, Field(ge=0, le=10_000_000, description="Conversations requests belong to; 0: none")] = 0
    priorities: Annotated[int, Field(ge=1, le=100)] = 1
    input_law: LawQuestion | None = None
    output_law: LawQuestion | None = None
    trace: Annotated[str, Field(max_length=64_000_000)] | None = Field(
        None, description="CSV with a header, or JSON lines: time, input, output, session.")
    trace_scale: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    percentile: Percentile = 0.95
