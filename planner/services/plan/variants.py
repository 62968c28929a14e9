"""A plan's variants, formats and levers, compiled once for a configuration and timed together at every load."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable, stack_bound
from planner.core.execution.prompt import PromptCost
from planner.core.execution.summary import StepSummary
from planner.core.execution.together import Columns, columns, decode_and_prompt, decode_times
from planner.core.quantities.arrays import Array
from planner.core.workload import Workload
from planner.services.plan import levers, precision
from planner.services.plan.configuration import Compiler, Configuration
from planner.services.plan.question import Deployment

GROUPS = ("matmuls", "mixtures", "cores", "states", "passes", "collectives")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A plan's own step and prompt in full, and the step times of its formats and levers [s]."""

    step: StepSummary
    prompt: PromptCost
    formats: list[float]
    levers: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Variants that share a table."""

    indices: tuple[int, ...]
    """Their places among all."""
    batches: Array
    """Batch of each over the plan's [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variants:
    """The configuration's formats, its levers and itself, stacked where they share rows."""

    formats: tuple[precision.Choice, ...]
    changes: tuple[levers.Change, ...]
    own: tuple[Places, Columns]
    """The variants that share the configuration's rows, itself last, and their columns."""
    others: tuple[tuple[Places, BoundTable], ...]
    """Further variants that share a table, and the table."""

    def timed(self, batch: float, context: float, workload: Workload, budget: float) -> Timed:
        """Every variant at a batch and a context, and the configuration's prompt."""
        cached = workload.prefix_cache_hit * workload.input_tokens
        tokens = max(workload.input_tokens - cached, 1.0)
        places, made = self.own
        found = decode_and_prompt(made, batch * places.batches, context, tokens=tokens, cached=cached, budget=budget)
        times = dict(zip(places.indices, found.times.tolist(), strict=True))
        for places, bound in self.others:
            column = decode_times(bound, batch * places.batches, context)
            times.update(zip(places.indices, column.tolist(), strict=True))
        steps = [times[index] for index in range(len(times) - 1)]
        formats = len(steps) - len(self.changes)
        return Timed(step=found.step, formats=steps[:formats], levers=steps[formats:],
                     prompt=PromptCost(tokens=tokens, chunks=found.chunks, summary=found.prompt))


def variants_of(compiler: Compiler, configuration: Configuration, deployment: Deployment) -> Variants:
    """The variants of a configuration; the deployment gives what no format and no lever changes."""
    formats = precision.choices(compiler, configuration, deployment)
    changes = levers.changes(compiler, configuration, deployment)
    made = [*(c.configuration for c in formats if c.configuration is not None), *(c.configuration for c in changes),
            configuration]
    batches = np.ones(len(made))
    batches[len(made) - 1 - len(changes):-1] = [change.batch_factor for change in changes]
    *others, own = [(Places(indices=tuple(indices), batches=batches[indices]), [made[i].bound for i in indices])
                    for indices in sorted(_alike(made), key=lambda indices: indices[-1])]
    return Variants(formats=tuple(formats), changes=tuple(changes), own=(own[0], columns(own[1])),
                    others=tuple((places, stack_bound(bounds)) for places, bounds in others))


def _alike(made: Sequence[Configuration]) -> list[list[int]]:
    """Places grouped by what must be equal to share a table: layout sizes, engine profile and rows."""
    groups: dict[Hashable, list[int]] = {}
    for index, configuration in enumerate(made):
        table, profile = configuration.table, configuration.resolved.profile
        rows = tuple(getattr(table, group).names for group in GROUPS)
        key = (table.layout.data, table.layout.pipeline, table.layers, None if profile is None else profile.id, rows)
        groups.setdefault(key, []).append(index)
    return list(groups.values())
