"""Measured rows to predictions, through the same configurations that answer plans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.core.architecture.model import Model
from planner.core.errors import PlannerError
from planner.core.fitting.measured import Load, MeasuredRow
from planner.core.fitting.runs import Adjust, Case, Predicted, predict_runs
from planner.core.serving.policy import default_max_num_seqs, default_token_budget
from planner.core.workload import Workload
from planner.services.plan.answer import PlanService
from planner.services.plan.configuration import Configuration
from planner.services.plan.question import AUTO, Deployment, PlanQuestion
from planner.services.validation.labels import unstated_cache

_ROOM = 1.1  # a run that was measured did hold its requests; the memory model may be a tenth short of it
_BENCHMARK_MEMORY = 0.95
"""Share of memory that tuned runs give the engine (the vLLM and SGLang recipes of public benchmarks) [1]."""
_MEASURED_LENGTHS = 0.9
"""Mean over nominal length of runs that draw lengths uniformly from 0.8 to 1 of the nominal one [1]."""
_SAME_FAMILY: Mapping[str, frozenset[str]] = {"fp8": frozenset({"fp8", "fp8_block"}),
                                              "fp8_block": frozenset({"fp8", "fp8_block"}),
                                              "nvfp4": frozenset({"nvfp4", "mxfp4"})}
"""Labels that name a family of formats: the checkpoint's own declaration says which member it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Rows laid out as cases, and the rows that are refused with their reason."""

    rows: tuple[MeasuredRow, ...]
    cases: tuple[Case, ...]
    refused: Mapping[int, str]
    """Place in ``rows`` → reason."""
    configurations: Mapping[int, Configuration]
    """Place in ``rows`` → configuration."""
    pointers: Mapping[int, str] = field(default_factory=dict)
    """Place in ``rows`` → field of the plan that was refused."""

    def predict(self, adjust: Adjust = lambda profile: profile) -> Predicted:
        """Predicted columns, one entry per row; nan where refused."""
        return predict_runs(self.cases, len(self.rows), adjust)


def prepare(plans: PlanService, rows: Sequence[MeasuredRow], calibration: str = AUTO) -> Prepared:
    """Rows grouped by configuration; what the planner refuses keeps the planner's own reason."""
    refused: dict[int, str] = {}
    pointers: dict[int, str] = {}
    places: dict[object, list[int]] = defaultdict(list)
    found: dict[int, Configuration] = {}
    for place, row in enumerate(rows):
        try:
            configuration = configure(plans, row, calibration)
        except PlannerError as error:
            refused[place] = error.code if not error.detail else f"{error.code}: {error.detail}"
            pointers |= {} if error.pointer is None else {place: error.pointer}
            continue
        found[place] = configuration
        places[configuration.key].append(place)
    cases = [case for members in places.values() for case in _cases(rows, members, found[members[0]])]
    return Prepared(rows=tuple(rows), cases=tuple(cases), refused=refused, configurations=found,
                    pointers=pointers)


def configure(plans: PlanService, row: MeasuredRow, calibration: str = AUTO) -> Configuration:
    """The configuration a row describes."""
    layout = row.layout
    question = PlanQuestion(
        model=row.model, sku=row.sku, calibration=calibration, workload=_workload(row),
        deployment=Deployment(
            engine=row.engine, tensor_parallel=layout.tensor, pipeline_parallel=layout.pipeline,
            data_parallel=layout.data, expert_parallel=layout.expert, weights=row.weights, kv_cache=row.kv_cache))
    resolved, deployment, _ = plans.resolve(question)
    weights = own_format(resolved.model, row) if isinstance(resolved.model, Model) else row.weights
    native_fp4 = bool(resolved.chip.peaks.get("fp4"))
    cache = row.kv_cache if row.kv_cache != AUTO else unstated_cache(
        engine=row.engine, weights=row.weights, tuned=bool(row.date) and not row.fixed_lengths, native_fp4=native_fp4)
    return plans.compiler.configuration(resolved, replace(deployment, weights=weights, kv_cache=cache))


def own_format(model: Model, row: MeasuredRow) -> str:
    """``auto`` where the label means the checkpoint's own format, else the label."""
    declared = {model.scheme.default, *model.scheme.overrides.values()}
    same = _SAME_FAMILY.get(row.weights, frozenset({row.weights}))
    if row.weights in {"bf16", "fp16", "fp32"}:
        return row.weights
    return AUTO if declared & same else row.weights


def _workload(row: MeasuredRow) -> Workload:
    return Workload(input_tokens=row.input_tokens, output_tokens=row.output_tokens,
                    concurrency=max(row.concurrency, 1.0))


def _cases(rows: Sequence[MeasuredRow], places: Sequence[int], configuration: Configuration) -> list[Case]:
    members = [rows[place] for place in places]
    chip, profile = configuration.resolved.chip, configuration.resolved.profile
    scale = np.array([1.0 if row.fixed_lengths or not row.date or row.rate is not None else _MEASURED_LENGTHS
                      for row in members])
    prompts = np.array([row.input_tokens for row in members]) * scale
    answers = np.maximum(np.array([row.output_tokens for row in members]) * scale, 1.0)
    longest = prompts + answers
    budget = default_token_budget(configuration.engine, chip.memory_bytes)
    admitted = default_max_num_seqs(configuration.engine, chip.memory_bytes)
    deployment = Deployment(
        engine=configuration.engine, tensor_parallel=configuration.layout.tensor, max_num_batched_tokens=budget,
        max_num_seqs=admitted, memory_utilization=_BENCHMARK_MEMORY)
    fit = configuration.fit(deployment, float(longest.max()))
    limits = configuration.limits(deployment, fit)
    groups = float(configuration.layout.data * configuration.layout.pipeline)
    limits = replace(limits, data_parallel=1.0, pipeline_parallel=1.0,
                     max_num_seqs=np.array([max(admitted, row.concurrency) for row in members]),  # N in flight
                     kv_capacity_tokens=np.maximum(np.asarray(limits.kv_capacity_tokens) / groups, _ROOM * longest))
    policy = replace(configuration.policy, request_latency_s=0.0, wave_coefficient=0.0)
    users = np.array([row.concurrency if row.concurrency > 0 else np.inf for row in members]) / groups
    if profile is None:
        return []
    return [Case(
        rows=np.asarray(places), table=configuration.table, chip=chip, profile=profile, policy=policy, limits=limits,
        input_tokens=prompts, output_tokens=answers, users=np.maximum(users, 1.0),
        static=np.array([row.load is Load.STATIC for row in members]),
        fixed_lengths=np.array([row.fixed_lengths for row in members]),
        engine_call=np.array([row.engine_call for row in members]),
        open_loop=np.array([row.open_loop for row in members]), groups=groups,
        gpus=float(configuration.layout.gpus))]


