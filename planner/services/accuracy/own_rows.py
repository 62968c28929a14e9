"""One to five measured rows of a deployment turned into a correction that plans can name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.interval import Z90, factors, student_quantile
from planner.core.execution.own_runs import slowed
from planner.core.fitting.residuals import local_correction
from planner.core.hardware.efficiency.overhead import Spread
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.quantities.arrays import Array
from planner.services.accuracy.corrected import OWN_ROWS
from planner.services.accuracy.files import CheckedRows
from planner.services.accuracy.validating import ValidationService
from planner.services.plan.configuration import Configuration
from planner.services.plan.evidence import known_pair
from planner.services.validation.learning import MOST, features
from planner.services.validation.report import Validation

_FAR = 20.0  # ln of a load so far away that only the deployment's own level is left of a correction
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """What a few own rows teach: the document of a calibration, and how it does on them."""

    document: dict[str, Any]
    factor: float
    """On step times [1]."""
    factor_interval: tuple[float, float]
    """90 % interval of measured over corrected step times at any load of the deployment, not of the factor [1]."""
    rows: tuple[Mapping[str, Any], ...]
    warnings: tuple[str, ...]


class OwnRowsService:
    """Learns corrections."""

    def __init__(self, validations: ValidationService) -> None:
        self._validations = validations

    def learn(self, rows: CheckedRows) -> Learnt:
        """A shrunk correction of step times from rows of one deployment; refused where a row says nothing of it."""
        if not 1 <= len(rows.records) + len(rows.refused) <= MOST:
            raise InvalidQuantity(f"A correction is learnt from 1 to {MOST} rows; with more, validate them and fit.",
                                  pointer="/rows")
        found = self._validations.validation(rows)
        _refuse_unread(found)
        places = np.array([place for place in range(len(found.rows)) if found.rows[place].number not in found.gates])
        if not places.size:
            raise InvalidQuantity("No row is a steady run: " + ", ".join(sorted(set(found.gates.values()))) + ".",
                                  pointer="/rows")
        configuration = _one_deployment(found, places)
        profile = configuration.resolved.profile
        if profile is None:
            raise InvalidQuantity("Bounds learn nothing from runs.", pointer="/rows")
        kind, prior = _prior(configuration, profile)
        residual = _residuals(found, places)
        factor, spread = level(found, places, residual, prior)
        document = _document(found, places, configuration, profile, kind, factor, spread)
        half = _half(spread)
        return Learnt(document=document, factor=factor, factor_interval=(float(np.exp(-half)), float(np.exp(half))),
                      rows=_shown(found, places, residual, factor),
                      warnings=(*rows.warnings, *_warnings(residual, profile, prior)))


def _refuse_unread(found: Validation) -> None:
    if found.refused:
        number, reason = min(found.refused.items())
        column = found.columns.get(number)
        raise InvalidQuantity(f"Row {number} cannot be used: {reason}.".replace("..", "."),
                              pointer=f"/rows/{number - 1}" + (f"/{column}" if column else ""))


def _one_deployment(found: Validation, places: Array) -> Configuration:
    configurations = [found.prepared.configurations[int(place)] for place in places]
    if len({configuration.key for configuration in configurations}) > 1:
        raise InvalidQuantity("The rows describe more than one deployment (model, SKU, engine, formats and layout).",
                              hint="Send the rows of each deployment by themselves.", pointer="/rows")
    return configurations[0]


def _residuals(found: Validation, places: Array) -> Array:
    """ln(measured/predicted) of the step time: by TPOT, else by throughput, which is its inverse."""
    step = np.log(found.measured("tpot")[places] / found.column("tpot")[places])
    rate = np.log(found.column("throughput")[places] / found.measured("throughput")[places])
    residual: Array = np.where(np.isfinite(step), step, rate)
    if not np.isfinite(residual).all():
        number = found.rows[int(places[int(np.argmin(np.isfinite(residual)))])].number
        raise InvalidQuantity(f"Row {number} has neither a time per output token nor a throughput.",
                              pointer=f"/rows/{number - 1}")
    return residual


def _prior(configuration: Configuration, profile: EfficiencyProfile) -> tuple[str, Spread]:
    """The spread that own rows narrow, and its name."""
    kind = "tpot_moe" if configuration.table.mixtures.names else "tpot_dense"
    prior = profile.spread[kind]
    return kind, prior if known_pair(profile) else replace(prior, between=prior.between_unseen)


def level(found: Validation, places: Array, residual: Array, prior: Spread) -> tuple[float, Spread]:
    """The deployment's level, shrunk towards the profile's, and the spread it leaves at any load."""
    own = features([found.rows[int(place)] for place in places])
    far = own.mean(axis=0, keepdims=True) + np.array([[_FAR, 0.0, 0.0, 0.0, 0.0]])
    left = local_correction(own, residual, far, prior)
    between = float(np.sqrt(max(float(left.deviation[0])**2 - prior.within**2, 0.0)))
    return float(np.exp(left.mean[0])), replace(prior, between=between, between_unseen=between, bias=0.0)


def _document(found: Validation, places: Array, configuration: Configuration, profile: EfficiencyProfile, kind: str,
              factor: float, spread: Spread) -> dict[str, Any]:
    used = [found.rows[int(place)] for place in places]
    dates = [row.date for row in used if _DATE.fullmatch(row.date)]
    own = {
        "model": configuration.resolved.model_id, "engine": configuration.engine, "kind": kind, "factor": factor,
        "spread": {name: value for name, value in asdict(spread).items() if name in {"within", "between", "degrees"}},
        "rows_learnt": len(used), "learnt_over": profile.measured_on,
        "measured_on": max(dates) if dates else datetime.now(tz=UTC).date().isoformat(),
        "deployment": {"tensor_parallel": configuration.layout.tensor, "data_parallel": configuration.layout.data,
                       "pipeline_parallel": configuration.layout.pipeline,
                       "expert_parallel": configuration.layout.expert,
                       "weights": configuration.weights, "kv_cache": configuration.kv_cache},
        "rows": [{"input_tokens": row.input_tokens, "output_tokens": row.output_tokens, "concurrency": row.concurrency,
                  "tpot_s": row.tpot, "ttft_s": row.ttft, "output_tokens_per_s_per_gpu": row.rate} for row in used],
    }
    return {"sku": configuration.resolved.chip.id, "engine": configuration.engine, "measured_on": own["measured_on"],
            "record": {OWN_ROWS: own}}


def _shown(found: Validation, places: Array, residual: Array, factor: float) -> tuple[Mapping[str, Any], ...]:
    """Measured step times beside what was and what will be predicted for the same runs."""
    after = found.prepared.predict(lambda old: slowed(old, factor))
    shown = []
    for place, off in zip(places, residual, strict=True):
        row = found.rows[int(place)]
        shown.append({
            "number": row.number, "measured_over_predicted": float(np.exp(off)), "measured_tpot_s": row.tpot,
            "predicted_tpot_s": float(found.column("tpot")[place]), "corrected_tpot_s": float(after.tpot[place])})
    left = [row for place, row in enumerate(found.rows) if place not in places]
    return (*shown, *({"number": row.number, "left_out": found.gates[row.number]} for row in left))


def _warnings(residual: Array, profile: EfficiencyProfile, prior: Spread) -> tuple[str, ...]:
    low, high = factors(prior, known=known_pair(profile))
    outside = int(((np.exp(residual) < low) | (np.exp(residual) > high)).sum())
    if not outside:
        return ()
    return (f"{outside} row(s) are outside the profile's 90 % interval; check their GPU count, formats and units.",)


def level_report(found: Validation, count: int, *, seeds: int = 20) -> dict[str, Any]:
    """Errors on the rest of each deployment after a stored correction from ``count`` of its rows, random choices."""
    deployments: dict[object, list[int]] = defaultdict(list)
    residual = np.log(found.measured("tpot") / found.column("tpot"))
    for place in np.flatnonzero(np.isfinite(residual) & found.kept.astype(bool)):
        deployments[found.prepared.configurations[int(place)].key].append(int(place))
    before, after, inside = [], [], []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        for members in (np.array(m) for m in deployments.values() if len(m) > count):
            own = random.choice(members, count, replace=False)
            rest = residual[np.setdiff1d(members, own)]
            configuration = found.prepared.configurations[int(own[0])]
            if configuration.resolved.profile is None:
                continue
            factor, spread = level(found, own, residual[own], _prior(configuration, configuration.resolved.profile)[1])
            before.append(np.abs(np.exp(-rest) - 1))
            after.append(np.abs(factor * np.exp(-rest) - 1))
            inside.append(np.abs(rest - np.log(factor)) <= _half(spread))
    if not after:
        return {"rows_learnt": count, "n": 0}
    old, new = np.concatenate(before), np.concatenate(after)
    return {"rows_learnt": count, "seeds": seeds, "n": int(new.size), "mape": float(new.mean()),
            "median_ape": float(np.median(new)), "p90_ape": float(np.quantile(new, 0.9)),
            "coverage_90": float(np.concatenate(inside).mean()), "mape_before": float(old.mean()),
            "median_ape_before": float(np.median(old))}


def _half(spread: Spread) -> float:
    """Half-width of the 90 % interval in ln."""
    return student_quantile(Z90, spread.degrees) * float(np.hypot(spread.within, spread.between))
