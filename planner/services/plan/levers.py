"""Levers: single changes to the deployment or the machine, each with what it would do, useless ones included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from planner.core.errors import PlannerError
from planner.core.hardware.chip import Chip
from planner.core.memory.fit import MemoryFit
from planner.core.precision import weight_format
from planner.services.plan.configuration import Compiler, Configuration
from planner.services.plan.load import Load
from planner.services.plan.question import Deployment

USELESS = 1.03
"""A change that gains less is called useless [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A lever before its effect is known."""

    text: str
    configuration: Configuration
    batch_factor: float = 1.0
    """Batch it is timed at over the plan's [1]."""
    real: bool = True
    """False for a machine that only shows which ceiling would help."""


def changes(compiler: Compiler, configuration: Configuration, deployment: Deployment) -> list[Change]:
    """Every lever that applies; what the chip or the model refuses is left out."""
    fixed = replace(deployment, tensor_parallel=configuration.layout.tensor)
    found = []
    for text, wanted in _settings(configuration, fixed):
        try:
            made = compiler.configuration(configuration.resolved, wanted)
        except PlannerError:
            continue
        found.append(Change(text=text, configuration=made))
    found.append(Change(text="twice the batch", configuration=configuration, batch_factor=2.0))
    for text, chip in _machines(configuration.resolved.chip):
        resolved = replace(configuration.resolved, chip=chip, chip_key=(configuration.resolved.chip_key, text))
        found.append(Change(text=text, configuration=compiler.configuration(resolved, fixed), real=False))
    return found


def _settings(configuration: Configuration, fixed: Deployment) -> Iterator[tuple[str, Deployment]]:
    now = weight_format(configuration.weights).bytes_per_element
    peaks = configuration.resolved.chip.peaks
    if now > 1.01:
        name = "fp8" if peaks.get("fp8") else "w8a16"
        yield f"{name} weights", replace(fixed, weights=name)
    if now > 0.6:
        name = "nvfp4" if peaks.get("fp4") else "w4a16"
        yield f"{name} weights", replace(fixed, weights=name)
    if configuration.kv_cache in {"bf16", "fp16"}:
        yield "fp8 KV cache", replace(fixed, kv_cache="fp8")
    width = fixed.tensor_parallel or 1
    yield f"tensor_parallel {2 * width}", replace(fixed, tensor_parallel=2 * width)


def _machines(chip: Chip) -> Iterator[tuple[str, Chip]]:
    yield "1.5× memory bandwidth", replace(chip, bandwidth=1.5 * chip.bandwidth)
    yield "2× arithmetic peak", replace(chip, peaks={k: 2 * v for k, v in chip.peaks.items() if v})


def lever_section(found: Sequence[Change], times: list[float], configuration: Configuration, deployment: Deployment,
                  load: Load, fit: MemoryFit, step: float) -> list[dict[str, Any]]:
    """Levers with their effect, best first; ``times`` are their steps [s].

    The metric is tokens per second and GPU at the plan's batch and context, or how many requests fit at once where
    memory is what the deployment lacks.
    """
    short = not fit.fits or load.room < load.batch
    before = load.batch / step / configuration.layout.gpus
    rows = []
    for change, time in zip(found, times, strict=True):
        if change.batch_factor * load.batch > max(load.room, load.batch):
            continue  # there is no room for it
        if short and change.real:
            most = change.configuration.room(deployment).max_concurrency(load.request_tokens)
            effect = _effect("fit.max_concurrency", fit.max_concurrency, most)
        else:
            after = change.batch_factor * load.batch / time / change.configuration.layout.gpus
            effect = _effect("decode.tokens_per_s_per_gpu", before, after)
        helps = effect["after"] > 0 and (effect["ratio"] is None or effect["ratio"] >= USELESS)
        rows.append({"change": change.text, "setting": change.real, "effect": effect,
                     "note": _note(change, effect, step, time), "helps": helps})
    return sorted(rows, key=_worth)


def _worth(row: dict[str, Any]) -> tuple[float, float]:
    """What a lever brings, the most first: from nothing to something before any ratio."""
    effect = row["effect"]
    from_none = inf if effect["after"] > 0 else 0.0
    return -(effect["ratio"] if effect["ratio"] is not None else from_none), -effect["after"]


def _effect(metric: str, before: float, after: float) -> dict[str, Any]:
    return {"metric": metric, "before": before, "after": after, "ratio": after / before if before > 0 else None}


def _note(change: Change, effect: dict[str, Any], step: float, time: float) -> str:
    ratio = effect["ratio"]
    if ratio is None and not effect["after"]:
        return "Not enough by itself: no request fits."
    if ratio is not None and ratio < USELESS:
        lost = "Useless here" if ratio > 1 / USELESS else "Costs throughput per GPU"
        faster = f"; each user gets {step / time:.2f}× the speed" if step / time >= USELESS else ""
        return f"{lost}: it is not what limits the step{faster}." if ratio > 1 / USELESS else f"{lost}{faster}."
    if not change.real:
        return "Not a setting: it shows which ceiling a different SKU should raise."
    if effect["metric"] == "fit.max_concurrency":
        return "Room for requests at once."
    slower = f"Each user's tokens come {time / step:.2f}× slower." if time / step > USELESS else ""
    return slower or "Same batch and context."
