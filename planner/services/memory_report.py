"""Start-up logs against predictions: a line for each, and the figures that a set of logs is judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from planner.core.errors import PlannerError
from planner.core.quantities.units import GIB
from planner.services.memory_logs import (
    Budget,
    ChipOf,
    ModelOf,
    Row,
    Setup,
    capacity_of,
    known_budget,
    number,
    pool_of,
    predicted_budget,
    setup_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the report."""

    id: str
    model: str
    engine: str
    quantity: str
    """tokens | blocks | pool: what the log gives to compare with."""
    observed: float
    known: float | None
    """Predicted with the log's overheads passed in, or its pool where overheads are not all logged."""
    complete: bool
    """All overheads were in the log."""
    withheld: float | None
    """Predicted with nothing of the log's but its settings."""
    observed_concurrency: float | None
    concurrency: float | None
    """Of the blocks the log reports, at its maximum length."""
    hybrid: bool
    reason: str | None
    """Why a prediction is missing."""

    def error(self, value: float | None) -> float | None:
        """Signed relative error of a prediction."""
        return None if value is None else value / self.observed - 1


def report_line(row: Row, model_of: ModelOf, chip_of: ChipOf) -> Line | None:
    """The line of one row; None where it has nothing to compare with."""
    seen = _observed(row)
    if seen is None:
        return None
    quantity, observed = seen
    base = Line(id=row.get("id", ""), model=row["model"], engine=f"{row.get('engine')} {row.get('engine_version')}",
                quantity=quantity, observed=observed, known=None, withheld=None, concurrency=None, hybrid=False,
                complete=False, observed_concurrency=number(row, "max_concurrency"), reason=None)
    try:
        setup = setup_of(row, model_of, chip_of)
        cut = pool_of(setup)
    except PlannerError as error:
        return replace(base, reason=error.detail)
    known, complete, why_known = _attempt(lambda: known_budget(setup, row), setup, quantity)
    withheld, _, why_withheld = _attempt(lambda: predicted_budget(setup), setup, quantity)
    blocks = number(row, "gpu_blocks")
    concurrency = None if blocks is None else float(blocks / cut.blocks(setup.longest))
    return replace(base, known=known, withheld=withheld, concurrency=concurrency, hybrid=len(cut.groups) > 1,
                   complete=complete,
                   reason=why_withheld or (why_known if quantity != "pool" else None))


def _attempt(budget: Callable[[], Budget], setup: Setup, quantity: str) -> tuple[float | None, bool, str | None]:
    try:
        memory = budget()
        held = capacity_of(setup, memory.pool)
    except PlannerError as error:
        return None, False, error.detail
    return {"tokens": held.tokens, "blocks": held.blocks, "pool": held.pool}[quantity], memory.complete, None


def _observed(row: Row) -> tuple[str, float] | None:
    for column, quantity, factor in (("kv_tokens", "tokens", 1.0), ("gpu_blocks", "blocks", 1.0),
                                     ("kv_avail_gib_per_gpu", "pool", GIB)):
        value = number(row, column)
        if value:
            return quantity, value * factor
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures a set of logs is judged by."""

    rows: int
    known: int
    """Rows whose log has weights and every overhead; they are passed in."""
    known_median: float | None
    known_p90: float | None
    pooled: int
    """Rows whose log has only the pool; it is passed in."""
    pooled_median: float | None
    pooled_p90: float | None
    withheld: int
    withheld_median: float | None
    withheld_p90: float | None
    hybrids: int
    hybrids_exact: int
    """Hybrid rows whose printed concurrency is reproduced to its last digit."""


def summary(lines: Sequence[Line]) -> Summary:
    """The summary of report lines."""
    given = [(line.complete, abs(e)) for line in lines if (line.quantity != "pool" or line.complete)
             and (e := line.error(line.known)) is not None]
    known, pooled = ([e for complete, e in given if complete is wanted] for wanted in (True, False))
    withheld = [abs(e) for line in lines if (e := line.error(line.withheld)) is not None]
    hybrids = [line for line in lines if line.hybrid and line.concurrency is not None
               and line.observed_concurrency is not None]
    exact = sum(f"{line.concurrency:.2f}" == f"{line.observed_concurrency:.2f}" for line in hybrids)
    return Summary(rows=len(lines), known=len(known), known_median=_median(known), known_p90=_p90(known),
                   pooled=len(pooled), pooled_median=_median(pooled), pooled_p90=_p90(pooled),
                   withheld=len(withheld), withheld_median=_median(withheld), withheld_p90=_p90(withheld),
                   hybrids=len(hybrids), hybrids_exact=exact)


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _p90(values: Sequence[float]) -> float | None:
    """The value that nine tenths do not exceed (nearest rank)."""
    return sorted(values)[max(0, -(-9 * len(values) // 10) - 1)] if values else None


def report(rows: Iterable[Row], model_of: ModelOf, chip_of: ChipOf) -> list[Line]:
    """The lines of all rows that have something to compare with."""
    return [line for row in rows if (line := report_line(row, model_of, chip_of)) is not None]
