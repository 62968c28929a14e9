"""What a plan is asked: a model on a SKU, how it is deployed, what load it gets, what matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.core.workload import Workload

Subject = str | Mapping[str, Any]
"""A catalogue name, or an inline document in the creation form."""

AUTO, IDEAL = "auto", "ideal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """How one replica runs; None leaves the choice to the planner."""

    engine: str = "vllm"
    engine_version: str | None = None
    tensor_parallel: int | None = None
    """None picks the smallest that fits."""
    pipeline_parallel: int = 1
    data_parallel: int = 1
    expert_parallel: int = 1
    weights: str = AUTO
    kv_cache: str = AUTO
    memory_utilization: float = 0.9
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    max_model_len: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What the user must feel at most."""

    ttft_s: float | None = None
    tpot_s: float | None = None


def _default_workload() -> Workload:
    return Workload(input_tokens=1000.0, output_tokens=1000.0, concurrency=64.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanQuestion:
    """One plan."""

    model: Subject
    sku: Subject
    deployment: Deployment = field(default_factory=Deployment)
    workload: Workload = field(default_factory=_default_workload)
    objective: Objective = field(default_factory=Objective)
    usd_per_gpu_hour: float | None = None
    calibration: str = AUTO
    workspace: str = "default"
    load_assumed: bool = False
    """Whether the workload's load is a default that nobody asked for."""
