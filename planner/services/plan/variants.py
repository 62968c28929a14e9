"""A plan's variants, formats and levers, compiled once for a configuration and timed together at every load."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable, stack_bound
from planner.core.execution.step import StepCost, decode_step
from planner.core.quantities.arrays import Array
from planner.services.plan import levers, precision
from planner.services.plan.configuration import Compiler, Configuration
from planner.services.plan.question import Deployment

GROUPS = ("matmuls", "mixtures", "cores", "states", "passes", "collectives")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """The configuration itself, its formats and its levers, stacked where they share rows."""

    formats: tuple[precision.Choice, ...]
    changes: tuple[levers.Change, ...]
    batches: Array
    """Batch of each variant over the plan's, shape (variant,) [1]."""
    stacks: tuple[tuple[Array, BoundTable], ...]
    """Places of the variants that share a table, and the table."""

    def steps(self, batch: float, context: float) -> tuple[StepCost, list[float], list[float]]:
        """The plan's own step, and the step times of formats and of levers [s]."""
        times = np.empty(self.batches.size)
        first: StepCost | None = None
        for places, bound in self.stacks:
            cost = decode_step(bound, batch * self.batches[places], np.full(places.size, context))
            times[places] = cost.step_time
            first = cost.variant(0) if first is None else first
        if first is None:
            raise ValueError("A plan has at least its own variant.")
        compiled = 1 + sum(choice.configuration is not None for choice in self.formats)
        return first, times[1:compiled].tolist(), times[compiled:].tolist()


def variants_of(compiler: Compiler, configuration: Configuration, deployment: Deployment) -> Variants:
    """The variants of a configuration; the deployment gives what no format and no lever changes."""
    formats = precision.choices(compiler, configuration, deployment)
    changes = levers.changes(compiler, configuration, deployment)
    made = [configuration, *(c.configuration for c in formats if c.configuration is not None),
            *(c.configuration for c in changes)]
    batches = np.ones(len(made))
    batches[len(made) - len(changes):] = [change.batch_factor for change in changes]
    stacks = tuple((np.array(places), stack_bound([made[i].bound for i in places])) for places in _alike(made))
    return Variants(formats=tuple(formats), changes=tuple(changes), batches=batches, stacks=stacks)


def _alike(made: Sequence[Configuration]) -> list[list[int]]:
    """Places grouped by what must be equal to share a table: layout sizes, engine profile and rows."""
    groups: dict[Hashable, list[int]] = {}
    for index, configuration in enumerate(made):
        table, profile = configuration.table, configuration.resolved.profile
        rows = tuple(getattr(table, group).names for group in GROUPS)
        key = (table.layout.data, table.layout.pipeline, table.layers, None if profile is None else profile.id, rows)
        groups.setdefault(key, []).append(index)
    return list(groups.values())
