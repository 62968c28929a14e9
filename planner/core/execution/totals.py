"""Totals of a step over a grid, without ever holding operators × grid: each part adds up on its own axes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.core.execution.parts import Part
from planner.core.execution.step import BOUNDS
from planner.core.execution.summary import classify
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTotals:
    """A step per busiest GPU; every array broadcasts to the grid."""

    time: Array
    flop: Array
    weights: Array
    cache: Array
    activations: Array
    link: Array
    bound: Array
    """Index into :data:`planner.core.execution.step.BOUNDS`."""

    @property
    def traffic(self) -> Array:
        """Memory traffic, links excluded [byte]."""
        return self.weights + self.cache + self.activations


def totals(parts: Sequence[Part], overhead: Array, bandwidth: Array, repeats: Array | float = 1.0) -> StepTotals:
    """Sums over the operators of a step.

    Parameters
    ----------
    parts : sequence of Part
        Operator groups, each on its own grid.
    overhead : ndarray
        The step's time beside its operators [s].
    bandwidth : ndarray
        β [byte/s].
    repeats : ndarray or float
        Times the step is executed [1].

    Returns
    -------
    StepTotals
        As :func:`planner.core.execution.summary.summarise` gives for one point.
    """
    sums: dict[str, Any] = dict.fromkeys(("flop", "weights", "cache", "activations", "link"), np.asarray(0.0))
    kinds: list[Any] = [np.asarray(0.0)] * len(BOUNDS)
    for part in parts:
        codes = classify(part, bandwidth)
        for index, count in enumerate(part.count.tolist()):
            times = count * part.time[index]
            for kind in range(len(BOUNDS)):
                here = codes[index] == kind
                if here.any():
                    kinds[kind] = kinds[kind] + np.where(here, times, 0.0)
            if part.flow is not None:
                sums["flop"] = sums["flop"] + count * part.flow.work[index]
                sums["weights"] = sums["weights"] + count * part.flow.weights[index]
                sums["cache"] = sums["cache"] + count * part.flow.cache[index]
                sums["activations"] = sums["activations"] + count * part.flow.activations[index]
            if part.link is not None:
                sums["link"] = sums["link"] + count * part.link[index]
    kinds[-1] = kinds[-1] + overhead
    time = sum(kinds[1:], start=kinds[0])
    winner, best = np.zeros(np.shape(time), dtype=np.int8), kinds[0] + np.zeros(np.shape(time))
    for code in range(1, len(BOUNDS)):
        higher = kinds[code] > best
        winner = np.where(higher, np.int8(code), winner)
        best = np.where(higher, kinds[code], best)
    return StepTotals(time=time * repeats, bound=winner, **{name: value * repeats for name, value in sums.items()})
