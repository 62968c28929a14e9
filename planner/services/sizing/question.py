"""What a sizing is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.core.serving.objective import Objective
from planner.core.workload import Workload
from planner.services.plan.question import Deployment, Subject

USUAL_FORMATS = 3
"""Formats tried when none is named: as published, fp8 and fp4 [1]."""
USUAL_SKUS = 24
"""SKUs with a price, asked about when none is named [1]."""
MOST_COMBINATIONS = 256
"""Combinations answered while a caller waits; each takes some hundredths of a second [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints:
    """What an option may be."""

    max_gpus: int | None = None
    engines: tuple[str, ...] = ("vllm",)
    formats: tuple[str, ...] = ()
    """Weight formats; none given: as published, and fp8 and fp4 where the chip computes in them."""
    headroom: float = 0.2
    """Capacity kept free above the demand [1]."""
    spare_replicas: int = 0
    """Replicas beyond that, for failures (N + k) [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingQuestion:
    """A demand, its objective, and what may serve it."""

    model: Subject
    skus: tuple[Subject, ...]
    """Empty: every catalogued SKU with a price."""
    workload: Workload
    """Lengths and the rate of the whole demand."""
    objective: Objective
    constraints: Constraints = field(default_factory=Constraints)
    deployment: Deployment = field(default_factory=Deployment)
    """What all options share; a given tensor_parallel fixes the layout."""
    hourly_rates: tuple[float, ...] = ()
    """Demand hour by hour, for GPUs over a day [1/s]."""
    usd_per_gpu_hour: Mapping[str, float] = field(default_factory=dict)
    """Own prices by SKU id."""
    rank_by: str = "cost"
    """cost, gpus or power."""
    simulate: bool = True
    """Whether the picks are verified by simulation."""
    calibration: str = "auto"
    workspace: str = "default"

    def combinations(self) -> int:
        """SKUs times engines times formats: what the time of an answer grows with [1]."""
        kept = self.constraints
        return (len(self.skus) or USUAL_SKUS) * len(kept.engines) * (len(kept.formats) or USUAL_FORMATS)


Row = dict[str, Any]
