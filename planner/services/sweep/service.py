"""Sweeps: configurations one by one, loads as arrays, chunks small enough for the memory of a small machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from planner.core.errors import InvalidQuantity, PlannerError
from planner.core.quantities.arrays import Array
from planner.services.plan.answer import PlanService
from planner.services.plan.configuration import Configuration, widths
from planner.services.plan.question import PlanQuestion
from planner.services.plan.reading import place, question_of
from planner.services.pointers import at, moved, step_of
from planner.services.refusals import told
from planner.services.sweep.axes import Axis
from planner.services.sweep.grid import Grid
from planner.services.sweep.metrics import METRICS

CHUNK = 131_072
"""Points evaluated at once: a column of doubles is one MiB [1]."""
Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The answer of a sweep, flat in C order of the axes."""

    axes: tuple[Axis, ...]
    metrics: Mapping[str, Array]
    refused: tuple[Mapping[str, Any], ...]
    """Configurations that cannot be asked about, with the reason; their points are NaN."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis."""
        return tuple(len(axis.values) for axis in self.axes)


class SweepService:
    """Answers sweeps from the plan's own configurations and formulas."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans

    def columns(self, base: Mapping[str, Any], axes: Sequence[Axis], metrics: Sequence[str], workspace: str = "default",
                progress: Progress | None = None) -> Columns:
        """Every metric at every point of the axes' product."""
        wanted = list(metrics)
        for index, name in enumerate(wanted):
            if name not in METRICS:
                raise InvalidQuantity(f"{name} is not a column of a sweep.", pointer=f"/metrics/{index}",
                                      hint="Columns are: " + ", ".join(METRICS))
        sizes = tuple(len(axis.values) for axis in axes)
        found = {name: np.full(sizes, np.nan) for name in wanted}
        refused: list[Mapping[str, Any]] = []
        discrete = [i for i, axis in enumerate(axes) if not axis.continuous]
        choices = list(product(*(range(sizes[i]) for i in discrete)))
        for done, choice in enumerate(choices):
            where: list[Any] = [slice(None)] * len(axes)
            document = _copied(base)
            for index, position in zip(discrete, choice, strict=True):
                where[index] = position
                place(document, axes[index].path, axes[index].values[position])
            try:
                with at("/base"):
                    self._fill(found, tuple(where), document, [a for a in axes if a.continuous], wanted, workspace)
            except PlannerError as error:
                named = {axes[i].path: axes[i].values[p] for i, p in zip(discrete, choice, strict=True)}
                error.pointer = _on_axis(error.pointer, axes, dict(zip(discrete, choice, strict=True)))
                refused.append({"at": named, **told(error)})
                if not discrete:
                    raise
            if progress is not None:
                progress((done + 1) / len(choices))
        return Columns(axes=tuple(axes), metrics={name: column.ravel() for name, column in found.items()},
                       refused=tuple(refused))

    def _fill(self, found: Mapping[str, Array], where: tuple[Any, ...], document: Mapping[str, Any], loads: list[Axis],
              metrics: list[str], workspace: str) -> None:
        question = question_of(document, workspace)
        shape = tuple(len(axis.values) for axis in loads)
        for part, varied in _chunks(loads, shape):
            values = self._evaluate(question, varied, metrics)
            for name in metrics:
                target = found[name][where]
                if shape:
                    target[part] = values[name]
                else:
                    found[name][where] = values[name]

    def _evaluate(self, question: PlanQuestion, varied: Mapping[str, Array], metrics: list[str]) -> dict[str, Any]:
        resolved, deployment, _ = self._plans.resolve(question)
        if deployment.tensor_parallel is not None:
            configuration = self._plans.compiler.configuration(resolved, deployment)
            return _columns(_grid(configuration, question, deployment, varied), metrics)
        merged: dict[str, Any] = {}
        missing: Any = True
        last: PlannerError | None = None
        for tensor in widths(resolved):
            try:
                fixed = replace(deployment, tensor_parallel=tensor)
                grid = _grid(self._plans.compiler.configuration(resolved, fixed), question, fixed, varied)
            except PlannerError as error:
                last = error
                continue
            if not np.any(missing):
                break
            for name, value in _columns(grid, metrics).items():
                merged[name] = value if name not in merged else np.where(missing, value, merged[name])
            missing = np.logical_and(missing, np.logical_not(grid.fit.fits))
        if not merged and last is not None:
            raise last
        return merged


def _on_axis(pointer: str | None, axes: Sequence[Axis], chosen: Mapping[int, int]) -> str | None:
    """Return where a field of the base was said: in the value of its axis, or all over an axis of numbers."""
    for index, axis in enumerate(axes):
        value = f"/{chosen[index]}" if index in chosen else ""
        found = moved(pointer, f"/axes/{step_of(axis.path)}{value}", instead_of="/base/" + axis.path.replace(".", "/"))
        if found != pointer:
            return found
    return pointer


def _columns(grid: Grid, metrics: Sequence[str]) -> dict[str, Any]:
    return {name: METRICS[name](grid) for name in metrics}


def _grid(configuration: Configuration, question: PlanQuestion, deployment: Any, varied: Mapping[str, Array]) -> Grid:  # noqa: ANN401 - read by field
    return Grid(configuration, deployment, question.workload, varied, question.usd_per_gpu_hour)


def _chunks(loads: list[Axis], shape: tuple[int, ...]) -> Iterator[tuple[tuple[slice, ...], dict[str, Array]]]:
    """Parts of the load grid along its first axes, each with the arrays of its axes."""
    if not loads:
        yield (), {}
        return
    rest = prod(shape[1:])
    rows = max(1, CHUNK // max(rest, 1))
    for start in range(0, shape[0], rows):
        part = slice(start, min(start + rows, shape[0]))
        varied = {}
        for index, axis in enumerate(loads):
            values = np.array(axis.values[part] if index == 0 else axis.values, dtype=np.float64)
            varied[axis.path] = values.reshape(tuple(-1 if i == index else 1 for i in range(len(loads))))
        yield (part, *(slice(None),) * (len(loads) - 1)), varied


def _copied(base: Mapping[str, Any]) -> dict[str, Any]:
    return {name: dict(value) if isinstance(value, dict) and name not in {"model", "sku"} else value
            for name, value in base.items()}
