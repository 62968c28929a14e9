"""The contract's JSON of a validation in time linear in its rows, and the same errors by any other label of a row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.fitting.measured import MeasuredRow
from planner.core.fitting.residuals import measures
from planner.core.quantities.arrays import Array
from planner.services.validation.report import QUANTITIES, Validation, interval_factors

GROUPS: tuple[tuple[str, ...], ...] = (("engine", "gpu", "model"), ("engine",), ("gpu",), ("weights",), ("load",))
_LABELS: Mapping[str, Callable[[MeasuredRow], str]] = {
    "engine": lambda row: row.engine, "gpu": lambda row: row.sku, "model": lambda row: row.model,
    "weights": lambda row: row.weights, "load": lambda row: row.load.value}
Places = npt.NDArray[np.int64]
Metrics = dict[str, dict[str, Any] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    predicted: Array
    measured: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A validation with its columns worked out once; rows that fail a gate or were refused have no prediction."""

    found: Validation
    columns: Mapping[str, _Column]
    group: Places
    usable: npt.NDArray[np.bool_]
    """Rows that some prediction scores."""

    def metrics(self, places: Places) -> Metrics:
        """Errors over some rows, by quantity; None where none of them has it."""
        errors: Metrics = {}
        for name, column in self.columns.items():
            one = measures(column.predicted[places], column.measured[places], self.group[places],
                           low=column.low[places], high=column.high[places])
            errors[name] = None if one is None else asdict(one)
        return errors

    def by(self, label: Callable[[int], tuple[str, ...]], names: Sequence[str]) -> list[dict[str, Any]]:
        """Errors by a label of each row's place; labels without a scored row are left out."""
        members: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place in range(len(self.found.rows)):
            members[label(place)].append(place)
        kept = self.found.kept.astype(bool)
        return [{"by": dict(zip(names, values, strict=True)), "n": int(kept[places].sum()),
                 "metrics": self.metrics(np.array(places))}
                for values, places in sorted(members.items()) if self.usable[places].any()]


def scored(found: Validation) -> Scored:
    """A validation's columns, gated rows blanked."""
    kept = found.kept.astype(bool)
    columns = {name: _column(found, name, kept) for name in QUANTITIES}
    columns["primary"] = _Column(predicted=np.where(kept, found.first("predicted"), np.nan),
                                 measured=found.first("measured"), low=found.low, high=found.high)
    names = {name: number for number, name in enumerate(sorted({row.group for row in found.rows}))}
    usable = np.zeros(len(found.rows), dtype=bool)
    for column in columns.values():
        usable |= np.isfinite(column.predicted) & np.isfinite(column.measured)
    return Scored(found=found, columns=columns, usable=usable,
                  group=np.array([names[row.group] for row in found.rows], dtype=np.int64))


def _column(found: Validation, quantity: str, kept: npt.NDArray[np.bool_]) -> _Column:
    low, high = np.full(len(found.rows), np.nan), np.full(len(found.rows), np.nan)
    values = found.column(quantity)
    for place, configuration in found.prepared.configurations.items():
        below, above = interval_factors(configuration, found.rows[place], quantity)
        low[place], high[place] = values[place] * below, values[place] * above
    return _Column(predicted=np.where(kept, values, np.nan), measured=found.measured(quantity), low=low, high=high)


def report(found: Validation) -> dict[str, Any]:
    """The contract's JSON."""
    scores = scored(found)
    read = {row.number for row in found.rows}
    groups = [entry for names in GROUPS for entry in scores.by(_labelled(found, names), names)]
    return {"rows": len(found.rows) + sum(number not in read for number in found.refused),
            "predicted": _predicted(found), "refused": _counted(found.refused.values()),
            "gated": _counted(found.gates.values()), "metrics": scores.metrics(np.arange(len(found.rows))),
            "groups": groups}


def _labelled(found: Validation, names: Sequence[str]) -> Callable[[int], tuple[str, ...]]:
    return lambda place: tuple(_LABELS[name](found.rows[place]) for name in names)


def _predicted(found: Validation) -> int:
    """Rows with at least one measured quantity predicted, gated ones included."""
    some = np.zeros(len(found.rows), dtype=bool)
    for name in QUANTITIES:
        some |= np.isfinite(found.column(name)) & np.isfinite(found.measured(name))
    return int(some.sum())


def _counted(reasons: Iterable[str]) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": count} for reason, count in Counter(reasons).most_common()]
