"""Candidates: every layout and format of a model on a chip that is worth asking about, or the reason why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner.core.architecture.feedforward import MixtureOfExperts
from planner.core.architecture.model import Model
from planner.core.errors import DomainError, MissingFact
from planner.core.memory.fit import MemoryFit
from planner.services.plan.answer import PlanService, request_tokens
from planner.services.plan.configuration import Configuration, Resolved, widths
from planner.services.plan.question import AUTO, Deployment, PlanQuestion, Subject
from planner.services.sizing.question import Row, SizingQuestion

NARROW = (("fp8", "fp8"), ("nvfp4", "nvfp4"))
"""(pipe a chip must have, weight format then offered)."""
STAGES = (2, 4)
"""Pipeline stages tried where one domain is too small [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A deployment that fits in memory."""

    configuration: Configuration
    deployment: Deployment
    fit: MemoryFit

    @property
    def gpus(self) -> int:
        """GPUs of one replica [1]."""
        return self.configuration.layout.gpus

    def shown(self) -> Row:
        """The deployment as answers show it."""
        layout = self.configuration.layout
        return {"engine": self.deployment.engine, "tensor_parallel": layout.tensor,
                "pipeline_parallel": layout.pipeline, "data_parallel": layout.data,
                "expert_parallel": layout.expert, "gpus": layout.gpus, "weights": self.configuration.weights,
                "kv_cache": self.configuration.kv_cache, "max_num_seqs": self.deployment.max_num_seqs,
                "max_num_batched_tokens": self.deployment.max_num_batched_tokens}


def candidates(plans: PlanService, question: SizingQuestion, sku: Subject, rejected: list[Row]) -> Iterator[Candidate]:
    """The candidates on one SKU; what is refused or does not fit goes to ``rejected`` with its reason."""
    seen: set[object] = set()
    for engine in question.constraints.engines:
        base = replace(question.deployment, engine=engine)
        for weights in _formats(plans, question, sku, base):
            for found in _fitting(plans, question, sku, replace(base, weights=weights), rejected):
                same = (engine, found.configuration.layout, found.configuration.weights, found.configuration.kv_cache)
                if same not in seen:
                    seen.add(same)
                    yield found


def _fitting(plans: PlanService, question: SizingQuestion, sku: Subject, base: Deployment,
             rejected: list[Row]) -> Iterator[Candidate]:
    """The layouts of one format that fit; pipeline stages over several domains only where nothing fits in one."""
    fits = False
    for deployment in _layouts(plans, question, sku, base):
        found = _candidate(plans, question, sku, deployment, rejected)
        if found is not None:
            fits = True
            yield found
    if fits or base.tensor_parallel is not None:
        return
    resolved, named, _ = plans.resolve(_ask(question, sku, base))
    for stages in STAGES:
        wide = replace(named, tensor_parallel=widths(resolved)[-1], pipeline_parallel=stages)
        found = _candidate(plans, question, sku, wide, rejected)
        if found is not None:
            yield found
            return


def _ask(question: SizingQuestion, sku: Subject, deployment: Deployment) -> PlanQuestion:
    return PlanQuestion(model=question.model, sku=sku, deployment=deployment, workload=question.workload,
                        calibration=question.calibration, workspace=question.workspace)


def _formats(plans: PlanService, question: SizingQuestion, sku: Subject, base: Deployment) -> tuple[str, ...]:
    if question.constraints.formats:
        return question.constraints.formats
    if base.weights != AUTO:
        return (base.weights,)
    resolved, _, _ = plans.resolve(_ask(question, sku, base))
    return AUTO, *(name for pipe, name in NARROW if resolved.chip.peaks.get(pipe))


def _layouts(plans: PlanService, question: SizingQuestion, sku: Subject, base: Deployment) -> Iterator[Deployment]:
    if base.tensor_parallel is not None:
        yield base
        return
    resolved, named, _ = plans.resolve(_ask(question, sku, base))
    for size in widths(resolved):
        yield replace(named, tensor_parallel=size, data_parallel=1, expert_parallel=1)
        if size > 1 and _has_experts(resolved):
            yield replace(named, tensor_parallel=size, data_parallel=1, expert_parallel=size)
            yield replace(named, tensor_parallel=1, data_parallel=size, expert_parallel=size)


def _has_experts(resolved: Resolved) -> bool:
    model = resolved.model
    return isinstance(model, Model) and any(
        isinstance(part, MixtureOfExperts) for _, layer in model.layers for part in layer.feedforwards)


def _candidate(plans: PlanService, question: SizingQuestion, sku: Subject, deployment: Deployment,
               rejected: list[Row]) -> Candidate | None:
    row: Row = {"sku": sku if isinstance(sku, str) else sku.get("id", "inline"),
           "deployment": {"engine": deployment.engine, "tensor_parallel": deployment.tensor_parallel,
                          "pipeline_parallel": deployment.pipeline_parallel,
                          "data_parallel": deployment.data_parallel, "expert_parallel": deployment.expert_parallel,
                          "weights": deployment.weights}}
    try:
        resolved, deployment, _ = plans.resolve(_ask(question, sku, deployment))
        configuration = plans.compiler.configuration(resolved, deployment)
        fit = configuration.fit(deployment, request_tokens(question.workload))
    except (MissingFact, DomainError) as error:
        rejected.append({**row, "reason": error.detail})
        return None
    row["sku"] = resolved.chip.id
    row["deployment"]["weights"] = configuration.weights
    if not fit.fits:
        rejected.append({**row, "reason": fit.reason})
        return None
    most = question.constraints.max_gpus
    if most is not None and configuration.layout.gpus > most:
        rejected.append({**row, "reason": f"One replica takes {configuration.layout.gpus} GPUs, more than {most}."})
        return None
    return Candidate(configuration=configuration, deployment=deployment, fit=fit)
