"""One configuration over a grid of loads; each part is computed once, when a column first asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from planner.core.execution.prompt import prompt_totals
from planner.core.execution.step import decode_parts
from planner.core.execution.totals import StepTotals, totals
from planner.core.memory.fit import MemoryFit
from planner.core.quantities.numeric import Number
from planner.core.serving.steady_state import SteadyState, solve_closed, solve_open
from planner.core.workload import Workload
from planner.services.plan.configuration import Configuration
from planner.services.plan.load import admitted, lengths_of, mean_context
from planner.services.plan.question import Deployment


class Grid:
    """Arrays of one configuration; every one broadcasts to the grid."""

    def __init__(self, configuration: Configuration, deployment: Deployment, workload: Workload,
                 varied: Mapping[str, Number], price: Number) -> None:
        self.configuration = configuration
        fields = {path.split(".")[1]: value for path, value in varied.items() if path.startswith("deployment.")}
        self.deployment = replace(deployment, **fields)
        loads = {path.split(".")[1]: value for path, value in varied.items() if path.startswith("workload.")}
        for load, other in (("request_rate", "concurrency"), ("concurrency", "request_rate")):
            if load in loads:
                loads.setdefault(other, None)
        self.workload = replace(workload, **loads)
        self.price = varied.get("price.usd_per_gpu_hour", np.nan if price is None else price)

    @cached_property
    def context(self) -> Number:
        """Mean context of a decode step [token]."""
        return mean_context(self.workload)

    @cached_property
    def fit(self) -> MemoryFit:
        """Memory of the replica."""
        return self.configuration.fit(self.deployment, self.workload.input_tokens + self.workload.output_tokens)

    @cached_property
    def steady(self) -> SteadyState:
        """The replica under load, as if it fitted."""
        table = self.configuration.step_table(np.asarray(self.context, dtype=np.float64))
        lengths, policy = lengths_of(self.workload), self.configuration.policy
        limits = self.configuration.limits(self.deployment, self.fit)
        if self.workload.request_rate is not None:
            return solve_open(table, lengths, policy, limits, self.workload.request_rate, self.workload.arrival_cv)
        asked: Number = self.workload.concurrency
        return solve_closed(table, lengths, policy, limits, asked)

    @cached_property
    def batch(self) -> Number:
        """Sequences decoding in the replica, as a plan chooses them [1]."""
        if self.workload.batch is not None:
            return self.workload.batch
        plain, fits = admitted(self.configuration, self.deployment, self.workload, self.fit), np.asarray(self.fit.fits)
        if self.configuration.resolved.profile is None and self.workload.concurrency is not None:
            return plain
        if not fits.any():
            return plain
        return np.where(fits, np.maximum(self.steady.batch, 1.0), plain)

    @cached_property
    def decode(self) -> StepTotals:
        """One decode step."""
        bound = self.configuration.bound
        parts, overhead = decode_parts(bound, np.asarray(self.batch, dtype=np.float64),
                                       np.asarray(self.context, dtype=np.float64))
        return totals(parts, overhead, bound.bandwidth)

    @cached_property
    def prompt_tokens(self) -> Number:
        """Prompt tokens computed [token]."""
        work = self.workload
        return np.maximum(np.asarray(work.input_tokens * (1.0 - np.asarray(work.prefix_cache_hit))), 1.0)

    @cached_property
    def prefill(self) -> StepTotals:
        """One prompt on an idle replica."""
        cached = np.asarray(self.workload.prefix_cache_hit) * self.workload.input_tokens
        return prompt_totals(self.configuration.bound, self.prompt_tokens, cached,
                             np.asarray(self.deployment.max_num_batched_tokens, dtype=np.float64))
