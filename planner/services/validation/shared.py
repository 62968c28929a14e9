"""The end-to-end half of `planner fit`: shared coefficients and interval spreads from served runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.fitting.coefficients import (
    ENGINES,
    EVERYTHING,
    FAMILY_FACTORS,
    FITTED,
    FITTED_FIRST,
    adjuster,
    overhead_fields,
    serving_fields,
    usual_values,
)
from planner.core.fitting.end_to_end import Index, Residuals, Rows, SharedFit, Values, fit_shared, group_weights
from planner.core.fitting.intervals import PLAIN, coverage, spread_of
from planner.core.fitting.measured import Load, MeasuredRow
from planner.core.fitting.runs import Case, predict_runs
from planner.core.hardware.efficiency.overhead import Spread
from planner.core.quantities.arrays import Array
from planner.services.plan.answer import PlanService
from planner.services.validation.predicting import Prepared, prepare

_TPOT_SCALE, _TTFT_SCALE = 0.1, 0.15  # residuals beyond which a row counts linearly
_LEAST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFit:
    """Coefficients with their leave-one-group-out errors and the spreads intervals are made of."""

    values: Values
    step: SharedFit
    first: SharedFit
    groups: tuple[str, ...]
    group: Index
    mixture: npt.NDArray[np.bool_]
    """Rows whose model is a mixture of experts."""
    spreads: Mapping[str, Spread]
    pairs: Mapping[tuple[str, str], int]
    """(SKU, engine) → runs of it."""

    def report(self) -> dict[str, Any]:
        """Errors in and out of group, and how many left-out rows the intervals cover."""
        dense, mixed = ~self.mixture, self.mixture
        return {
            "rows": int(self.group.size), "groups": len(self.groups), "coefficients": dict(self.values),
            "tpot_in_sample": _errors(self.step.residuals), "tpot_left_out": _errors(self.step.left_out),
            "ttft_in_sample": _errors(self.first.residuals), "ttft_left_out": _errors(self.first.left_out),
            "coverage_dense": coverage(self.step.left_out[dense], self.spreads["tpot_dense"]) if dense.any() else None,
            "coverage_moe": coverage(self.step.left_out[mixed], self.spreads["tpot_moe"]) if mixed.any() else None,
            "coverage_ttft": coverage(self.first.left_out, self.spreads["ttft"]),
            "left_out_groups": [{"group": name, **_errors(self.step.left_out[self.group == number]),
                                 "ttft_median_ape": _errors(self.first.left_out[self.group == number])["median_ape"]}
                                for number, name in enumerate(self.groups)],
        }


def fit_runs(plans: PlanService, rows: Sequence[MeasuredRow]) -> RunFit:
    """Shared coefficients from closed-loop runs that have a TPOT and a TTFT."""
    usable = [row for row in rows if row.load is Load.CLOSED and row.tpot and row.ttft and not row.problem
              and not row.speculative]
    prepared = prepare(plans, usable)
    keep = [place for place in range(len(usable)) if place not in prepared.refused]
    if len(keep) < _LEAST:
        raise InvalidQuantity(f"{len(keep)} usable runs are too few to fit shared coefficients.")
    if len(keep) < len(usable):
        usable = [usable[place] for place in keep]
        prepared = prepare(plans, usable)
    groups = tuple(sorted({row.group for row in usable}))
    group = np.array([groups.index(row.group) for row in usable], dtype=np.int64)
    weight = group_weights(group)
    step = fit_shared([EVERYTHING[name] for name in FITTED],
                      _residuals(prepared, "tpot", np.array([row.tpot for row in usable]), {}),
                      Rows(group=group, weight=weight, scale=np.full(group.size, _TPOT_SCALE)))
    first = fit_shared([EVERYTHING[name] for name in FITTED_FIRST],
                       _residuals(prepared, "ttft", np.array([row.ttft for row in usable]), step.values),
                       Rows(group=group, weight=weight, scale=np.full(group.size, _TTFT_SCALE)))
    mixture = np.array([bool(prepared.configurations[place].table.mixtures.names) for place in range(len(usable))])
    pairs = Counter((prepared.configurations[place].resolved.chip.id, row.engine) for place, row in enumerate(usable))
    return RunFit(values={**usual_values(), **step.values, **first.values}, step=step, first=first, groups=groups,
                  pairs=pairs, group=group, mixture=mixture,
                  spreads=_spreads(step.left_out, first.left_out, group, mixture))


def _residuals(prepared: Prepared, column: str, measured: Array, fixed: Values) -> Residuals:
    where: dict[int, Case] = {int(place): case for case in prepared.cases for place in case.rows}

    def residuals(values: Values, keep: Index) -> Array:
        wanted = {id(where[int(place)]): where[int(place)] for place in keep}
        found = predict_runs(list(wanted.values()), measured.size, adjuster({**fixed, **values}))
        return np.asarray(np.log(getattr(found, column) / measured)[keep])

    return residuals


def _spreads(step: Array, first: Array, group: Index, mixture: npt.NDArray[np.bool_]) -> dict[str, Spread]:
    dense = ~mixture if (~mixture).sum() >= _LEAST else np.ones_like(mixture)
    mixed = mixture if mixture.sum() >= _LEAST else np.ones_like(mixture)
    return {"tpot_dense": spread_of(step[dense], group[dense]), "tpot_moe": spread_of(step[mixed], group[mixed]),
            "ttft": spread_of(first, group, PLAIN)}


def _errors(residual: Array) -> dict[str, float]:
    error = np.abs(np.exp(residual) - 1)
    return {"n": int(residual.size), "mape": float(error.mean()), "median_ape": float(np.median(error)),
            "p90_ape": float(np.quantile(error, 0.9)), "bias": float((np.exp(residual) - 1).mean())}


def _own(values: Values, engine: str, family: str, against: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The overheads of an engine, or of it on a family, that differ from a wider level's."""
    own = _overhead(values, engine, family)["overhead"]
    changed = {name: value for name, value in own.items() if value != against[name]}
    return {"overhead": changed} if changed else {}


def overhead_tables(found: RunFit) -> dict[tuple[str, str], dict[str, dict[str, Any]]]:
    """Profile tables: shared overheads and spreads, each engine's own, and how many runs every pair was seen in."""
    shared = _overhead(found.values, "generic")
    levels = {("default", "generic"): {
        **shared, "serving": _seconds(serving_fields(found.values, "generic")), "served": {"runs": 0},
        **{f"spread.{name}": {f.name: getattr(spread, f.name) for f in fields(spread)}
           for name, spread in found.spreads.items()}}}
    for engine in ENGINES:
        levels["default", engine] = {**_own(found.values, engine, "", shared["overhead"]),
                                     "serving": _seconds(serving_fields(found.values, engine))}
    for coefficient in FAMILY_FACTORS:
        family, engine = coefficient.name.split("@")[1].split("/")
        levels[family, engine] = _own(found.values, engine, family, _overhead(found.values, engine)["overhead"])
    for pair, runs in found.pairs.items():
        levels[pair] = {"served": {"runs": runs}}
    return levels


_TIMES = frozenset({"per_layer", "per_step", "per_request", "prefill_step", "per_prefill_token", "per_mixture",
                    "ingest", "ingest_fixed"})


def _seconds(values: Mapping[str, float]) -> dict[str, float]:
    return {f"{name}_s" if name in _TIMES else name: value for name, value in values.items()}


def _overhead(values: Values, engine: str, family: str = "") -> dict[str, dict[str, Any]]:
    found = overhead_fields(values, engine, family)
    kinds, pipes = found.pop("per_kind"), found.pop("prefill_compute")
    return {"overhead": _seconds(found), "overhead.per_kind": {f"{k}_s": v for k, v in kinds.items()},
            "overhead.prefill_compute": dict(pipes)}
