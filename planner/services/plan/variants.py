"""Variants of a configuration evaluated together: one stacked table, one decode step for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from planner.core.execution.bound import BoundTable, stack_bound
from planner.core.execution.step import StepCost, decode_step
from planner.services.plan.configuration import Configuration, Memo

GROUPS = ("matmuls", "mixtures", "cores", "states", "passes", "collectives")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One configuration at one batch and context."""

    configuration: Configuration
    batch: float
    context: float


class VariantTimes:
    """Decode steps of variants; stacked tables are kept by the configurations they are made of."""

    def __init__(self, entries: int = 2048) -> None:
        self._stacks = Memo(entries)

    def steps(self, variants: Sequence[Variant]) -> tuple[StepCost, list[float]]:
        """The whole step of the first variant, and the step time of each [s]."""
        times = np.empty(len(variants))
        first: StepCost | None = None
        for members in _alike(variants):
            chosen = [variants[i] for i in members]
            key = tuple(v.configuration.key for v in chosen)
            bound = self._stacks.get(key, partial(_stacked, chosen))
            cost = decode_step(bound, np.array([v.batch for v in chosen]), np.array([v.context for v in chosen]))
            times[members] = cost.step_time
            first = cost.variant(0) if first is None else first
        if first is None:
            raise ValueError("There is no variant to time.")
        return first, times.tolist()


def _stacked(variants: Sequence[Variant]) -> BoundTable:
    return stack_bound([variant.configuration.bound for variant in variants])


def _alike(variants: Sequence[Variant]) -> list[list[int]]:
    """Indices grouped by what must be equal to share a table: layout sizes, engine profile and rows."""
    groups: dict[Hashable, list[int]] = {}
    for index, variant in enumerate(variants):
        table, chip = variant.configuration.table, variant.configuration.resolved
        profile = None if chip.profile is None else chip.profile.id
        rows = tuple(getattr(table, group).names for group in GROUPS)
        key = (table.layout.data, table.layout.pipeline, table.layers, profile, rows)
        groups.setdefault(key, []).append(index)
    return list(groups.values())
