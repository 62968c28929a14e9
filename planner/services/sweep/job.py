"""Sweeps as jobs: the result is JSON while it is short, an Arrow stream when it is long."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planner.services.ports import Caller, Document
from planner.services.sweep.axes import read_axes
from planner.services.sweep.output import as_document
from planner.services.sweep.service import SweepService
from planner.services.worker import Handler, Outcome, Report

LARGEST = 50_000_000
"""Points a job answers at most [1]."""


def handler(service: Callable[[], SweepService]) -> Handler:
    """Return what a worker runs for a sweep."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        axes = read_axes(request["axes"], LARGEST)
        columns = service().columns(request["base"], axes, request["metrics"], caller.workspace,
                                    progress=lambda share: report(share, "evaluating"))
        return Outcome(content=orjson.dumps(as_document(columns)))

    return run
