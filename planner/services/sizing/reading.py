"""Sizing questions from documents in the contract's shape, and the job that answers one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from planner.core.serving.objective import Objective
from planner.core.workload import Workload
from planner.services.formats import check_all_weights, deployment_of
from planner.services.ports import Caller, Document
from planner.services.sizing.question import Constraints, SizingQuestion
from planner.services.sizing.service import SizingService
from planner.services.worker import Handler, Outcome, Report


def sizing_question(document: Mapping[str, Any], workspace: str = "default") -> SizingQuestion:
    """The question of a validated request body."""
    demand, slo = dict(document["demand"]), document.get("slo") or {}
    limits = document.get("constraints") or {}
    check_all_weights(limits.get("formats") or (), "/constraints/formats")
    hourly = demand.pop("hourly_request_rates", [])
    return SizingQuestion(
        model=document["model"], skus=tuple(document.get("skus") or ()), workload=Workload(**demand),
        objective=Objective(ttft=slo.get("ttft_s"), tpot=slo.get("tpot_s"), percentile=slo.get("percentile", 0.95)),
        constraints=Constraints(
            max_gpus=limits.get("max_gpus"), engines=tuple(limits.get("engines") or ("vllm",)),
            formats=tuple(limits.get("formats") or ()), headroom=limits.get("headroom", 0.2),
            spare_replicas=limits.get("spare_replicas", 0)),
        deployment=deployment_of(document), hourly_rates=tuple(hourly),
        usd_per_gpu_hour=document.get("usd_per_gpu_hour") or {}, rank_by=document.get("rank_by", "cost"),
        simulate=document.get("verification", "simulated") == "simulated",
        calibration=document.get("calibration", "auto"), workspace=workspace)


def handler(service: Callable[[], SizingService]) -> Handler:
    """Return what a worker runs for a sizing."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        answer = service().answer(sizing_question(request, caller.workspace),
                                  report=lambda share: report(share, "sizing"))
        return Outcome(content=orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))

    return run
