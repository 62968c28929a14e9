"""The published accuracy report of measured files: scores by label, out of group, against noise and another tool."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.services.accuracy.files import Record, checked_rows
from planner.services.accuracy.own_rows import level_report
from planner.services.accuracy.scores import Scored, report, scored
from planner.services.accuracy.validating import ValidationService
from planner.services.plan.answer import PlanService
from planner.services.validation.comparison import compare
from planner.services.validation.learning import learning_report
from planner.services.validation.report import Validation
from planner.services.validation.shared import fit_runs

BANDS = ((1.0, "1"), (8.0, "2-8"), (32.0, "9-32"), (128.0, "33-128"), (512.0, "129-512"))
"""Upper ends of the concurrency bands the report speaks of [1]."""
_ORDER = {name: place for place, name in enumerate([*(name for _, name in BANDS), "over 512", "full"])}
_REPEATED = frozenset({"measured", "ttft_ms", "tpot_ms", "image", "group"})
"""Columns in which repeats of a run may differ."""
NOT_MODELLED = (
    "Disaggregated runs: published rows do not say how many workers share the load; they are refused, not scored.",
    "Speculative decoding in measured rows: where stated, or revealed by a twin row, it is gated.",
    "Preemption and recomputation beyond the KV limit: the batch is capped instead, which is too fast by 20 to 40 %.",
    "First builds of an engine for a new architecture, before kernels were tuned: predictions assume the tuned path.",
    "Cold starts, compilation and autotuning during a run.",
    "Which experts a prompt really chooses: one popularity law stands for all models and layers.",
    "Front ends as bottlenecks: tokenisers, HTTP and client limits beyond a fixed cost per request.",
    "Traffic between nodes inside a replica beyond the datasheet rate of its network.",
    "Clocks lowered by heat or power limits; other jobs on the same GPUs.",
    "Quantised formats that mix widths inside a tensor (EXL2): refused by name.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A measured file to be reported, and what may be said about where it comes from."""

    name: str
    records: Sequence[Record]
    source: str
    licence: str
    other: Sequence[Record] = ()
    """Another tool's answers on the same rows."""
    other_name: str = ""
    deployments: bool = False
    """Whether its groups are deployments under closed loops: what shared coefficients are fitted to, group by group
    left out, and what a few own rows can correct."""


def file_report(plans: PlanService, file: Published) -> dict[str, Any]:
    """The contract's JSON of a file, its breakdowns, learning, comparison and leave-one-group-out errors."""
    found = ValidationService(plans).validation(checked_rows(file.records))
    scores = scored(found)
    answer = {"file": file.name, "source": file.source, "licence": file.licence, **report(found),
              "metrics_ungated": scored(replace(found, gates={})).metrics(np.arange(len(found.rows))),
              "breakdowns": {name: _breakdown(scores, name) for name in LABELS}}
    if file.other:
        answer["comparison"] = {"tool": file.other_name, **compare(found, file.other)}
    if file.deployments:
        answer["leave_one_group_out"] = _left_out(plans, found)
        answer["learning"] = [learning_report(found, count) for count in (1, 3, 5)]
        answer["stored_corrections"] = [level_report(found, count) for count in (1, 3, 5)]
    return answer


def _breakdown(scores: Scored, name: str) -> list[dict[str, Any]]:
    """Errors by one label, with how many groups of rows each value has."""
    label, found = LABELS[name], scores.found
    groups: dict[str, set[str]] = defaultdict(set)
    for place, row in enumerate(found.rows):
        groups[label(found, place)].add(row.group)
    entries = [{**entry, "groups": len(groups[entry["by"][name]])}
               for entry in scores.by(lambda place: (label(found, place),), (name,))]
    return sorted(entries, key=lambda entry: _ORDER.get(entry["by"][name], 0))


def _family(found: Validation, place: int) -> str:
    configuration = found.prepared.configurations.get(place)
    if configuration is None:
        return "refused"
    table = configuration.table
    mixers = " + ".join(sorted(table.kind_layers)) or "none"
    return f"{'mixture' if table.mixtures.names else 'dense'}, {mixers}"


def _band(found: Validation, place: int) -> str:
    users = found.rows[place].concurrency
    if users <= 0:
        return "full"
    return next((name for most, name in BANDS if users <= most), "over 512")


def _sku(found: Validation, place: int) -> str:
    """The catalogued SKU, so that labels of one chip are one line."""
    configuration = found.prepared.configurations.get(place)
    return found.rows[place].sku if configuration is None else configuration.resolved.chip.id


LABELS: Mapping[str, Callable[[Validation, int], str]] = {
    "engine": lambda found, place: found.rows[place].engine, "sku": _sku, "family": _family,
    "weights": lambda found, place: found.rows[place].weights, "concurrency": _band,
    "load": lambda found, place: found.rows[place].load.value,
    "group": lambda found, place: found.rows[place].group}
"""What the report breaks errors down by."""


def _left_out(plans: PlanService, found: Validation) -> dict[str, Any]:
    """Errors on rows of a group that the shared coefficients were not fitted to."""
    errors = fit_runs(plans, found.rows).report()
    return {name: value for name, value in errors.items() if name != "coefficients"}


def noise_floor(records: Sequence[Record]) -> dict[str, Any]:
    """How far apart two measurements of one configuration are: on another date, and under another version."""
    return {"same_version": _repeats(records, ()), "other_version": _repeats(records, ("engine_version",))}


def _repeats(records: Sequence[Record], free: Sequence[str]) -> dict[str, float] | None:
    if not records:
        raise InvalidQuantity("Noise needs rows.")
    same: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in records:
        if record.get("measured") and record.get("tpot_ms"):
            same[tuple(v for name, v in record.items() if name not in _REPEATED and name not in free)].append(record)
    gaps = [abs(float(np.log(float(a["tpot_ms"]) / float(b["tpot_ms"])))) for members in same.values()
            for place, a in enumerate(members) for b in members[:place]
            if a["measured"] != b["measured"] and all(a[name] != b[name] for name in free)]
    if not gaps:
        return None
    return {"pairs": len(gaps), "median": float(np.median(gaps)), "mean": float(np.mean(gaps)),
            "p90": float(np.quantile(gaps, 0.9))}


def sources_of(records: Sequence[Record]) -> str:
    """The published sources of a file that names them, with the rows each gave."""
    counts = Counter(record["source"] for record in records)
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
