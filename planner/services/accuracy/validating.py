"""Validations for callers: checked rows predicted and scored, with every fault under the row's own number."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from planner.core.errors import InvalidQuantity
from planner.core.fitting.runs import Predicted
from planner.services.accuracy.files import CheckedRows, Record, checked_rows
from planner.services.accuracy.scores import report as scores_of
from planner.services.plan.answer import PlanService
from planner.services.plan.question import AUTO
from planner.services.ports import Caller, Document
from planner.services.validation.learning import MOST, learning_report
from planner.services.validation.predicting import Prepared
from planner.services.validation.report import Validation, row_records, validate
from planner.services.worker import Handler, Outcome, Report

AT_ONCE_ROWS = 2_000
"""Rows answered while the caller waits: about three seconds; longer files become jobs [1]."""
_LARGEST_REQUEST = 256 * 10**6  # [byte] of a job's rows once unpacked; MOST_ROWS rows are a fifth of it


class ValidationService:
    """Scores predictions against measured rows."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans

    def answer(self, rows: CheckedRows, *, calibration: str = AUTO, detail: bool = False,
               learn: int = 0) -> dict[str, Any]:
        """The contract's JSON, with each row's prediction and with learning from a few rows where asked."""
        found = self.validation(rows, calibration)
        answer = scores_of(found) | {"warnings": list(rows.warnings)}
        if learn:
            count = min(learn, MOST)
            answer["learning"] = learning_report(found, count) if found.rows else {"rows_learnt": count, "n": 0}
        if detail:
            answer["row_results"] = row_records(found)
        return answer

    def validation(self, rows: CheckedRows, calibration: str = AUTO) -> Validation:
        """Every row's prediction, gate or refusal, numbered as in the file."""
        if calibration != AUTO:
            self._known(calibration)
        found = validate(self._plans, rows.records, calibration) if rows.records else _nothing()
        named = tuple(replace(row, number=rows.numbers[row.number - 1]) for row in found.rows)
        refused = {rows.numbers[number - 1]: reason for number, reason in found.refused.items()}
        gates = {rows.numbers[number - 1]: reason for number, reason in found.gates.items()}
        columns = {rows.numbers[number - 1]: column for number, column in found.columns.items()}
        return replace(found, rows=named, refused={**refused, **dict(rows.refused)}, gates=gates,
                       columns={**columns, **rows.columns})

    def _known(self, calibration: str) -> None:
        """Refuse bounds, which are no predictions; an unknown id is refused row by row by the planner."""
        if calibration == "ideal":
            raise InvalidQuantity("calibration=ideal gives bounds, which measured rows cannot validate.",
                                  pointer="/query/calibration")


def _nothing() -> Validation:
    none = np.empty(0)
    return Validation(rows=(), predicted=Predicted(tpot=none, ttft=none, rate=none), low=none, high=none, gates={},
                      refused={}, prepared=Prepared(rows=(), cases=(), refused={}, configurations={}))


def packed(records: list[Record]) -> str:
    """Rows as a job keeps them: short enough to list."""
    return base64.b64encode(zlib.compress(orjson.dumps(records), 6)).decode()


def unpacked(text: str) -> list[Record]:
    """The rows of a job; never more than a file may hold."""
    inflater = zlib.decompressobj()
    raw = inflater.decompress(base64.b64decode(text), _LARGEST_REQUEST)
    if inflater.unconsumed_tail:
        raise InvalidQuantity("The job's rows are larger than a file may be.")
    rows: list[Record] = json.loads(raw)
    return rows


def handler(service: Callable[[], ValidationService]) -> Handler:
    """Return what a worker runs for a validation."""

    def run(request: Document, caller: Caller, report: Report) -> Outcome:
        del caller
        report(0.0, "reading")
        rows = checked_rows(unpacked(request["rows_zlib"]))
        report(0.05, "predicting")
        answer = service().answer(rows, calibration=request["calibration"], detail=request["detail"],
                                  learn=request["learn"])
        return Outcome(content=orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY))

    return run
