"""A few own measured rows turned into a local correction of a deployment, and what it is worth on the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.execution.interval import Z90, student_quantile
from planner.core.fitting.measured import MeasuredRow
from planner.core.fitting.residuals import local_correction
from planner.core.quantities.arrays import Array
from planner.services.validation.report import Validation

MOST = 5
"""Own rows a correction is meant for; with more, fit a profile."""


def features(rows: Sequence[MeasuredRow]) -> Array:
    """Logarithms of users, input, output, tensor and data parallelism of runs, shape (row, 5)."""
    return np.log([[max(r.concurrency, 1.0), max(r.input_tokens, 1.0), r.output_tokens, float(r.tensor), float(r.data)]
                   for r in rows])


def learn(found: Validation, places: npt.NDArray[np.int64], asked: npt.NDArray[np.int64]) -> tuple[Array, Array]:
    """Factor on the TPOT of the asked rows learnt from ``places``, and its 90 % half-width in ln."""
    spread = _spread(found, int(places[0]))
    residual = np.log(found.measured("tpot")[places] / found.column("tpot")[places])
    own = features([found.rows[p] for p in places])
    correction = local_correction(own, residual, features([found.rows[p] for p in asked]), spread)
    return np.exp(correction.mean), student_quantile(Z90, spread.degrees) * correction.deviation


def _spread(found: Validation, place: int) -> Any:  # noqa: ANN401 - a Spread; profiles exist wherever rows are predicted
    configuration = found.prepared.configurations[place]
    kind = "tpot_moe" if configuration.table.mixtures.names else "tpot_dense"
    profile = configuration.resolved.profile
    return None if profile is None else profile.spread[kind]


def learning_report(found: Validation, count: int, *, seeds: int = 20) -> dict[str, Any]:
    """Errors on the rest of each group after learning from ``count`` of its rows, over random choices."""
    groups: dict[str, list[int]] = defaultdict(list)
    usable = found.kept & np.isfinite(found.column("tpot")) & np.isfinite(found.measured("tpot"))
    for place, row in enumerate(found.rows):
        if usable[place]:
            groups[row.group].append(place)
    before, after, inside = [], [], []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        for members in groups.values():
            if len(members) <= count:
                continue
            chosen = random.choice(len(members), count, replace=False)
            own = np.array(members)[chosen]
            rest = np.delete(np.array(members), chosen)
            factor, half = learn(found, own, rest)
            measured, predicted = found.measured("tpot")[rest], found.column("tpot")[rest]
            before.append(np.abs(predicted / measured - 1))
            after.append(np.abs(predicted * factor / measured - 1))
            inside.append(np.abs(np.log(measured / predicted / factor)) <= half)
    if not after:
        return {"rows_learnt": count, "n": 0}
    old, new = np.concatenate(before), np.concatenate(after)
    return {"rows_learnt": count, "seeds": seeds, "n": int(new.size), "mape": float(new.mean()),
            "median_ape": float(np.median(new)), "p90_ape": float(np.quantile(new, 0.9)),
            "coverage_90": float(np.concatenate(inside).mean()), "mape_before": float(old.mean()),
            "median_ape_before": float(np.median(old))}
