"""The axes of a sweep: which fields vary, over which values, and how large their product is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import LARGEST
from planner.services.pointers import step_of

DISCRETE = ("model", "sku", "calibration", "deployment.engine", "deployment.tensor_parallel",
            "deployment.pipeline_parallel", "deployment.data_parallel", "deployment.expert_parallel",
            "deployment.weights", "deployment.kv_cache")
"""Fields that make another configuration."""
CONTINUOUS = ("workload.concurrency", "workload.request_rate", "workload.context_tokens", "workload.input_tokens",
              "workload.output_tokens", "workload.prefix_cache_hit", "workload.input_cv", "workload.output_cv",
              "workload.arrival_cv", "workload.batch", "deployment.memory_utilization", "deployment.max_num_seqs",
              "deployment.max_num_batched_tokens", "deployment.max_model_len", "price.usd_per_gpu_hour")
"""Fields that only change the load on a configuration; evaluated as arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One field and its values."""

    path: str
    values: tuple[Any, ...]

    @property
    def continuous(self) -> bool:
        """Whether it is evaluated as an array."""
        return self.path in CONTINUOUS


def read_axes(document: Mapping[str, Sequence[Any]], largest: int) -> tuple[Axis, ...]:
    """The axes of a request, refused when a field cannot vary or the product is too large."""
    axes = tuple(_axis(path, values) for path, values in document.items())
    if {"workload.concurrency", "workload.request_rate"} <= document.keys():
        raise InvalidQuantity("A load is either a concurrency or a request_rate: only one of them can be an axis.",
                              pointer="/axes/workload.request_rate", hint="Sweep them one after the other.")
    points = prod(len(axis.values) for axis in axes)
    if points > largest:
        sizes = " × ".join(str(len(axis.values)) for axis in axes)
        raise InvalidQuantity(f"The axes make {points:,} points ({sizes}); at most {largest:,} are answered here.",
                              pointer="/axes", hint="Shorten an axis, ask for Arrow, or submit the sweep as a job.")
    return axes


def _axis(path: str, values: Sequence[Any]) -> Axis:
    pointer = f"/axes/{step_of(path)}"
    if path not in DISCRETE and path not in CONTINUOUS:
        raise InvalidQuantity(f"{path} cannot be an axis.", pointer=pointer,
                              hint="Axes are: " + ", ".join((*DISCRETE, *CONTINUOUS)))
    if not values:
        raise InvalidQuantity(f"The axis {path} has no values.", pointer=pointer)
    if path in CONTINUOUS:
        for place, value in enumerate(values):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
                raise InvalidQuantity(f"The axis {path} takes numbers of at least zero, got {value!r}.",
                                      pointer=f"{pointer}/{place}")
    return Axis(path=path, values=tuple(values))
