"""Frontier questions from documents in the contract's shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.workload import Workload
from planner.services.formats import check_all_weights, deployment_of
from planner.services.frontier.service import CONCURRENCY, FrontierQuestion
from planner.services.sizing.question import Constraints


def frontier_question(document: Mapping[str, Any], workspace: str = "default") -> FrontierQuestion:
    """The question of a validated request body."""
    check_all_weights(document.get("formats") or (), "/formats")
    layouts = [{name: size for name, size in layout.items() if size is not None}
               for layout in document.get("layouts") or ()]
    return FrontierQuestion(
        model=document["model"], skus=tuple(document["skus"]),
        workload=Workload(**document["workload"], concurrency=1.0),
        constraints=Constraints(engines=tuple(document.get("engines") or ("vllm",)),
                                formats=tuple(document.get("formats") or ()), max_gpus=document.get("max_gpus")),
        deployment=deployment_of(document), layouts=tuple(layouts),
        concurrency=tuple(float(n) for n in document.get("concurrency") or CONCURRENCY),
        usd_per_gpu_hour=document.get("usd_per_gpu_hour") or {}, calibration=document.get("calibration", "auto"),
        workspace=workspace)
