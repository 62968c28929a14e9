"""Sweeps as jobs; columns go to JSON as arrays, so that millions of points never become millions of objects."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from planner.services.ports import Caller, Document
from planner.services.sweep.axes import read_axes
from planner.services.sweep.output import as_arrays
from planner.services.sweep.service import SweepService
from planner.services.worker import Handler, Outcome, Report

LARGEST = 5_000_000
"""Points a job answers at most [1]."""


def handler(service: Callable[[], SweepService]) -> Handler:
    """Return what a worker runs for a sweep."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        axes = read_axes(request["axes"], LARGEST)
        columns = service().columns(request["base"], axes, request["metrics"], caller.workspace,
                                    progress=lambda share: report(share, "evaluating"))
        return Outcome(content=orjson.dumps(as_arrays(columns), option=orjson.OPT_SERIALIZE_NUMPY))

    return run
