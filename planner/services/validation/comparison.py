"""Side by side with another tool's predictions of the same rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from planner.core.quantities.units import MILLI
from planner.services.validation.reading import Record
from planner.services.validation.report import Validation

_PREFIXES = ("aic_", "other_", "predicted_")


def compare(found: Validation, records: Iterable[Record]) -> dict[str, Any]:
    """TPOT and TTFT errors of both tools on the rows both predict, matched by configuration and measured value."""
    answers = {_key_of_record(record): record for record in records}
    if not answers:
        return {"n": 0}
    prefix = next((p for p in _PREFIXES if f"{p}tpot_ms" in next(iter(answers.values()))), _PREFIXES[0])
    own: dict[str, list[float]] = {"tpot": [], "ttft": []}
    other: dict[str, list[float]] = {"tpot": [], "ttft": []}
    for place, row in enumerate(found.rows):
        record = answers.get(_key(row.model, row.sku, row.engine_label, row.input_tokens, row.output_tokens,
                                  row.concurrency, row.tpot))
        if record is None or row.number in found.gates:
            continue
        for quantity, measured in (("tpot", row.tpot), ("ttft", row.ttft)):
            text = record.get(f"{prefix}{quantity}_ms", "")
            predicted = found.column(quantity)[place]
            if text and measured and np.isfinite(predicted):
                own[quantity].append(abs(float(predicted) / measured - 1))
                other[quantity].append(abs(float(text) * MILLI / measured - 1))
    report: dict[str, Any] = {"n": len(own["tpot"])}
    for quantity in ("tpot", "ttft"):
        for name, errors in (("own", own[quantity]), ("other", other[quantity])):
            if errors:
                report[f"{name}_{quantity}_mape"] = float(np.mean(errors))
                report[f"{name}_{quantity}_median"] = float(np.median(errors))
    return report


def _key_of_record(record: Record) -> tuple[str, ...]:
    return _key(record["model"], record["gpu"], record["engine"], float(record["isl"]), float(record["osl"]),
                float(record["concurrency"]), float(record["tpot_ms"]) * MILLI)


def _key(model: str, gpu: str, engine: str, isl: float, osl: float, users: float,
         tpot: float | None) -> tuple[str, ...]:
    return (model.lower(), gpu.lower(), engine.lower(), f"{isl:.0f}", f"{osl:.0f}", f"{users:.0f}",
            "" if tpot is None else f"{tpot / MILLI:.3f}")
