"""What-ifs and fleets as jobs."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planner.services.pointers import at
from planner.services.ports import Caller, Document
from planner.services.procurement.fleet import FleetService
from planner.services.procurement.whatif import ProcurementService
from planner.services.worker import Handler, Outcome, Report

LONGEST_S = 60.0
"""A fleet that names no time limit is optimised so long [s]."""


def fleet_handler(service: Callable[[], FleetService]) -> Handler:
    """Return what a worker runs for a fleet."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        report(0.0, "optimising")
        with at("/scenario"):
            answer = service().answer(request["scenario"], gap=request["gap"], workspace=caller.workspace,
                                      time_limit_s=request["time_limit_s"] or LONGEST_S)
        return Outcome(content=orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))

    return run


def whatif_handler(service: Callable[[], ProcurementService]) -> Handler:
    """Return what a worker runs for a what-if."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        report(0.0, "ranking")
        with at("/scenario", beside=("/against",)):
            answer = service().answer(request["scenario"], against=request["against"], sensitive=request["sensitivity"],
                                      uncertain=request["uncertainty"], workspace=caller.workspace)
        return Outcome(content=orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))

    return run
