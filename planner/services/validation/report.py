"""`planner validate`: measured rows in, errors with their groups, refusals, gates and intervals out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.core.execution.interval import factors
from planner.core.execution.step import decode_step
from planner.core.fitting.gates import gate_rows
from planner.core.fitting.measured import MeasuredRow
from planner.core.fitting.runs import Predicted
from planner.core.quantities.arrays import Array
from planner.core.quantities.units import MILLI
from planner.services.plan.answer import PlanService
from planner.services.plan.configuration import Configuration
from planner.services.plan.evidence import known_pair
from planner.services.plan.question import AUTO
from planner.services.validation.predicting import Prepared, prepare
from planner.services.validation.reading import Record, read_rows

QUANTITIES = ("tpot", "ttft", "throughput")
_GROUPS: tuple[tuple[str, ...], ...] = (("engine", "gpu", "model"), ("engine",), ("gpu",), ("weights",), ("load",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Everything a validation found, rows included."""

    rows: tuple[MeasuredRow, ...]
    predicted: Predicted
    low: Array
    high: Array
    """90 % interval of each row's first measured quantity, in its own unit."""
    gates: Mapping[int, str]
    """Row number → reason."""
    refused: Mapping[int, str]
    """Row number → reason."""
    prepared: Prepared
    columns: Mapping[int, str] = field(default_factory=dict)
    """Row number → the column at fault of a refused row, where it is one."""

    def measured(self, quantity: str) -> Array:
        """A measured column; nan where the file has no number."""
        names = {"tpot": "tpot", "ttft": "ttft", "throughput": "rate"}
        return np.array([getattr(row, names[quantity]) or np.nan for row in self.rows], dtype=np.float64)

    def column(self, quantity: str) -> Array:
        """A predicted column; nan where refused."""
        return {"tpot": self.predicted.tpot, "ttft": self.predicted.ttft, "throughput": self.predicted.rate}[quantity]

    def first(self, column: str) -> Array:
        """The quantity each row is scored by: TPOT, else throughput, else TTFT; ``predicted`` or ``measured``."""
        chosen = np.full(len(self.rows), np.nan)
        for quantity in ("tpot", "throughput", "ttft"):
            measured = self.measured(quantity)
            use = np.isnan(chosen) & np.isfinite(measured) & np.isnan(self._done(quantity))
            chosen[use] = (measured if column == "measured" else self.column(quantity))[use]
        return chosen

    def _done(self, quantity: str) -> Array:
        """Not nan where an earlier quantity already scored the row."""
        order = ("tpot", "throughput", "ttft")
        done = np.full(len(self.rows), np.nan)
        for earlier in order[:order.index(quantity)]:
            done[np.isfinite(self.measured(earlier))] = 1.0
        return done

    @property
    def kept(self) -> Array:
        """True where a row passes the gates."""
        return np.array([row.number not in self.gates for row in self.rows])


def validate(plans: PlanService, records: Iterable[Record], calibration: str = AUTO) -> Validation:
    """Predictions and gates for every row of a file; gates never see a prediction."""
    reading = read_rows(records)
    prepared = prepare(plans, reading.rows, calibration)
    predicted = prepared.predict()
    refused = dict(reading.unread)
    refused |= {reading.rows[place].number: reason for place, reason in prepared.refused.items()}
    columns = dict(reading.columns)
    for place, pointer in prepared.pointers.items():
        if (column := reading.column_of(pointer)) is not None:
            columns[reading.rows[place].number] = column
    gates = gate_rows(reading.rows, same_model=lambda name: _architecture(prepared, reading.rows, name),
                      prompt_work=_prompt_work(prepared), fastest=_fastest(prepared))
    found = Validation(rows=reading.rows, predicted=predicted, low=np.empty(0), high=np.empty(0), gates=gates,
                       refused=refused, prepared=prepared)
    low, high = _intervals(found)
    return Validation(rows=reading.rows, predicted=predicted, low=low, high=high, gates=gates, refused=refused,
                      prepared=prepared, columns=columns)


def _architecture(prepared: Prepared, rows: Sequence[MeasuredRow], name: str) -> str:
    for place, configuration in prepared.configurations.items():
        if rows[place].model == name:
            model = configuration.resolved.model
            return str(hash((model.vocabulary, getattr(model, "layers", model.id))))
    return name


def _prompt_work(prepared: Prepared) -> dict[int, float]:
    """Least time per prompt token of the whole replica, at datasheet peaks [s/token]."""
    return {prepared.rows[place].number: _token_time(configuration)
            for place, configuration in prepared.configurations.items()}


def _token_time(configuration: Configuration) -> float:
    ideal = configuration.ideal
    products = ideal.table.matmuls
    dense = (products.count * (1 - products.is_head) * 2 * products.inputs * products.outputs / ideal.matmul_peak).sum()
    mixed = ideal.table.mixtures
    routed = (mixed.count * 2 * mixed.matrices * mixed.hidden * mixed.intermediate * mixed.experts_per_token
              / mixed.groups / ideal.mixture_peak).sum() * configuration.layout.data
    return float(dense + routed) / configuration.layout.data


def _fastest(prepared: Prepared) -> dict[int, float]:
    """Datasheet time of a decode step with one sequence, per row [s]."""
    one: dict[object, float] = {}
    found = {}
    for place, configuration in prepared.configurations.items():
        if configuration.key not in one:
            step = decode_step(configuration.ideal, np.asarray(1.0), np.asarray(1.0))
            one[configuration.key] = float(step.step_time)
        found[prepared.rows[place].number] = one[configuration.key]
    return found


def _intervals(found: Validation) -> tuple[Array, Array]:
    low, high = np.full(len(found.rows), np.nan), np.full(len(found.rows), np.nan)
    predicted = found.first("predicted")
    for place, configuration in found.prepared.configurations.items():
        below, above = interval_factors(configuration, found.rows[place])
        low[place], high[place] = predicted[place] * below, predicted[place] * above
    return low, high


def interval_factors(configuration: Configuration, row: MeasuredRow,
                     quantity: str | None = None) -> tuple[float, float]:
    """Lower and upper factor of the 90 % interval of a row's quantity, its first measured one unless named."""
    profile = configuration.resolved.profile
    if profile is None:
        return 1.0, 1.0
    wanted = quantity or ("tpot" if row.tpot else "throughput" if row.rate else "ttft")
    kind = "ttft" if wanted == "ttft" else "tpot_moe" if configuration.table.mixtures.names else "tpot_dense"
    below, above = factors(profile.spread[kind], known=known_pair(profile))
    return (1 / above, 1 / below) if wanted == "throughput" else (below, above)


def row_records(found: Validation) -> list[dict[str, Any]]:
    """Per-row output: predictions in the file's own units, the interval, the gate and the refusal."""
    records = []
    for place, row in enumerate(found.rows):
        of, scale = ("tpot_ms", MILLI) if row.tpot else ("tok_s_per_gpu", 1.0) if row.rate else ("ttft_ms", MILLI)
        records.append({
            "number": row.number, "model": row.model, "gpu": row.sku, "engine": row.engine, "group": row.group,
            "isl": row.input_tokens, "osl": row.output_tokens, "concurrency": row.concurrency,
            "measured_tpot_ms": _shown(row.tpot, MILLI), "measured_ttft_ms": _shown(row.ttft, MILLI),
            "measured_tok_s_per_gpu": row.rate,
            "predicted_tpot_ms": _shown(found.predicted.tpot[place], MILLI),
            "predicted_ttft_ms": _shown(found.predicted.ttft[place], MILLI),
            "predicted_tok_s_per_gpu": _shown(found.predicted.rate[place], 1.0),
            "interval_of": of, "low": _shown(found.low[place], scale), "high": _shown(found.high[place], scale),
            "gate": found.gates.get(row.number, ""), "refused_reason": found.refused.get(row.number, "")})
    read = {row.number for row in found.rows}
    records += [{"number": number, "gate": "", "refused_reason": reason} for number, reason in found.refused.items()
                if number not in read]
    return sorted(records, key=lambda record: record["number"])


def _shown(value: float | None, unit: float) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value / unit)
