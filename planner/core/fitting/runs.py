"""Many measured runs predicted at once: one step table per configuration, one fixed point per engine.

The same step tables and the same fixed point answer plans; here configurations are laid side by side on one grid so
that a fit can ask hundreds of times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from planner.core.execution.bound import bind
from planner.core.execution.step_table import StepTable
from planner.core.execution.tabulate import floor_growth, step_table
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.operators.table import OperatorTable
from planner.core.quantities.arrays import Array
from planner.core.serving import step_law
from planner.core.serving.benchmark import as_benchmarked
from planner.core.serving.lengths import RequestLengths
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.serving.steady_state import SteadyState, solve_closed

REFERENCE = 1024.0
"""Context step tables are built at before their attention floors are moved to each run's [token]."""
Adjust = Callable[[EfficiencyProfile], EfficiencyProfile]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The runs of one configuration."""

    rows: npt.NDArray[np.int64]
    """Their places in the answer."""
    table: OperatorTable
    chip: Chip
    profile: EfficiencyProfile
    policy: SchedulerPolicy
    limits: ServingLimits
    """Of one attention group: KV tokens and users are those of a data-parallel rank."""
    input_tokens: Array
    output_tokens: Array
    users: Array
    """Requests in flight in one attention group; inf keeps it full [1]."""
    static: npt.NDArray[np.bool_]
    """All prompts at once, decoded together to the end."""
    fixed_lengths: npt.NDArray[np.bool_]
    engine_call: npt.NDArray[np.bool_]
    """Timed inside the engine, without its server."""
    open_loop: npt.NDArray[np.bool_]
    """Requests arrive at a rate, so they come back in no cohort, through the engine's native front end."""
    groups: float
    """Attention groups of the replica [1]."""
    gpus: float

    @property
    def context(self) -> Array:
        """Mean context of a decode step [token]."""
        return self.input_tokens + self.output_tokens / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Predicted columns, one entry per run; nan where no case covers it."""

    tpot: Array
    """[s]."""
    ttft: Array
    """[s]."""
    rate: Array
    """Answer tokens per second and GPU [1/s]."""


def predict_runs(cases: Sequence[Case], count: int, adjust: Adjust = lambda profile: profile) -> Predicted:
    """Predicted TPOT, TTFT and throughput of every run.

    Parameters
    ----------
    cases : sequence of Case
        Runs by configuration.
    count : int
        Length of the answer.
    adjust : callable
        Applied to every profile first; a fit's way in.

    Returns
    -------
    Predicted
        As benchmarked: waves of returning users included.
    """
    found = Predicted(tpot=np.full(count, np.nan), ttft=np.full(count, np.nan), rate=np.full(count, np.nan))
    engines: dict[SchedulerPolicy, list[Case]] = {}
    for case in cases:
        engines.setdefault(case.policy, []).append(case)
    for policy, members in engines.items():
        profiles = [adjust(case.profile) for case in members]
        tables = [_table(case, profile) for case, profile in zip(members, profiles, strict=True)]
        _fill(found, policy, members, profiles, tables)
    return found


def _table(case: Case, profile: EfficiencyProfile) -> StepTable:
    bound = bind(case.table, case.chip, profile)
    plain = step_table(bound, np.asarray(REFERENCE))
    grown = floor_growth(bound, case.context, REFERENCE)
    return replace(plain, base=plain.base[:, None] + grown)


def _fill(found: Predicted, policy: SchedulerPolicy, cases: Sequence[Case], profiles: Sequence[EfficiencyProfile],
          tables: Sequence[StepTable]) -> None:
    steps = joined(tables, [case.rows.size for case in cases])
    lengths = RequestLengths(input_tokens=_side_by_side(cases, "input_tokens"),
                             output_tokens=_side_by_side(cases, "output_tokens"))
    running = np.concatenate([_running(case, table, policy) for case, table in zip(cases, tables, strict=True)])
    users = np.minimum(_side_by_side(cases, "users"), 1e9)
    users = np.where(users >= 1e9, running, users)  # more requests than places: every place is taken, none is timed
    limits = ServingLimits(
        kv_capacity_tokens=1e15, max_num_seqs=running,
        token_budget=np.concatenate([np.broadcast_to(c.limits.token_budget, c.rows.shape) for c in cases]))
    state = solve_closed(steps, lengths, policy, limits, np.maximum(users, 1.0))
    start = 0
    for case, profile in zip(cases, profiles, strict=True):
        part = slice(start, start + case.rows.size)
        start += case.rows.size
        _columns(found, case, profile, state, part, steps, running[part])


def _columns(found: Predicted, case: Case, profile: EfficiencyProfile, state: SteadyState, part: slice,
             steps: StepTable, running: Array) -> None:
    del steps
    served = np.minimum(case.users, running)
    pure, mean = np.asarray(state.t_decode)[part], np.asarray(state.t_step)[part]
    first = np.asarray(state.latency.ttft_mean)[part]
    view = as_benchmarked(profile.serving, pure_step=pure, mean_step=mean, first_token=first, users=served,
                          output_tokens=case.output_tokens, fixed_lengths=case.fixed_lengths)
    answer = case.output_tokens
    prompts = served * np.maximum(mean - pure, 0.0) * np.maximum(answer - 1.0, 1.0) / np.maximum(served - 1.0, 1.0)
    alone = np.where(served > 1, prompts, first)  # time of all prompts of a static batch, run one after the other
    wall = np.where(case.static, alone + (answer - 1.0) * pure, view.ttft + (answer - 1.0) * view.tpot)
    arrived = first + profile.serving.ingest_native
    found.tpot[case.rows] = np.where(case.static, pure, np.where(case.open_loop, mean, view.tpot))
    found.ttft[case.rows] = np.where(case.static, alone, np.where(
        case.open_loop, arrived, np.where(case.engine_call, first, view.ttft)))
    found.rate[case.rows] = served * answer / wall * case.groups / case.gpus


def _running(case: Case, table: StepTable, policy: SchedulerPolicy) -> Array:
    """Sequences an attention group can run at once in each run."""
    lengths = RequestLengths(input_tokens=case.input_tokens, output_tokens=case.output_tokens)
    law = step_law.bind(table, lengths, policy, case.limits)
    by_cache, by_limit = step_law.running_limit(law, case.limits)
    return np.broadcast_to(np.minimum(by_cache, by_limit), case.rows.shape)


def _side_by_side(cases: Sequence[Case], name: str) -> Array:
    return np.concatenate([np.broadcast_to(getattr(case, name), case.rows.shape) for case in cases])


def joined(tables: Sequence[StepTable], sizes: Sequence[int]) -> StepTable:
    """Step tables of several configurations side by side on one grid axis.

    Parameters
    ----------
    tables : sequence of StepTable
        With a grid of one axis, sampled at the same nodes.
    sizes : sequence of int
        Points each table covers [1].

    Returns
    -------
    StepTable
        Attention spans are the union; a table without a span has slope zero there.
    """
    spans = sorted({float(w) for t in tables for w in t.windows})
    slopes = np.zeros((len(spans), sum(sizes)))
    start = 0
    for table, size in zip(tables, sizes, strict=True):
        for span, slope in zip(table.windows, table.per_context_token, strict=True):
            slopes[spans.index(float(span)), start:start + size] += slope
        start += size

    def column(name: str) -> Array:
        return np.concatenate([np.broadcast_to(getattr(t, name), (size,))
                               for t, size in zip(tables, sizes, strict=True)])

    return StepTable(
        nodes=tables[0].nodes, base=np.concatenate([np.broadcast_to(t.base, (t.base.shape[0], s))
                                                    for t, s in zip(tables, sizes, strict=True)], axis=1),
        windows=np.array(spans), per_context_token=slopes, per_pair=column("per_pair"),
        per_request=column("per_request"), prefill_extra=column("prefill_extra"))
