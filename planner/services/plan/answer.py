"""Plans: a question in, the contract's answer out."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from planner.core.errors import InvalidQuantity
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.memory.fit import MemoryFit
from planner.core.workload import Workload
from planner.services.accuracy.corrected import check_model
from planner.services.catalog import CatalogService, Found
from planner.services.plan import evidence
from planner.services.plan.configuration import Compiler, Configuration, Memo, Resolved
from planner.services.plan.cost import cost_section
from planner.services.plan.explain import explanation
from planner.services.plan.intervals import intervals
from planner.services.plan.levers import lever_section
from planner.services.plan.load import load_of
from planner.services.plan.precision import precision_section
from planner.services.plan.question import AUTO, Deployment, PlanQuestion, Subject
from planner.services.plan.sections import decode_section, fit_section, prefill_section, serving_section
from planner.services.plan.variants import variants_of
from planner.services.pointers import at, step_of


class Profiles(Protocol):
    """Where efficiency profiles come from."""

    def of(self, chip: Chip, engine: str, calibration: str, workspace: str) -> EfficiencyProfile | None:
        """Return the profile of a chip under an engine and a calibration name; None for ``ideal``."""
        ...


class PlanService:
    """Answers plans; holds compiled configurations between them."""

    def __init__(self, catalog: CatalogService, profiles: Profiles) -> None:
        self._catalog = catalog
        self._profiles = profiles
        self.compiler = Compiler()
        self._variants = Memo(2048)

    def resolve(self, question: PlanQuestion) -> tuple[Resolved, Deployment, list[str]]:
        """The model, the chip and the profile a question means, its deployment, and what names implied."""
        model = self._found("model", question.model, question.workspace)
        chip = self._found("sku", question.sku, question.workspace)
        profile = self._profiles.of(chip.value, question.deployment.engine, question.calibration, question.workspace)
        check_model(profile, model.id)
        deployment = question.deployment
        if deployment.weights == AUTO and model.weights is not None:
            deployment = replace(deployment, weights=model.weights)
        resolved = Resolved(
            model_key=self._identity(model, question.model, question.workspace), model_id=model.id, model=model.value,
            chip_key=self._identity(chip, question.sku, question.workspace), chip=chip.value, profile=profile)
        return resolved, deployment, [*model.warnings, *chip.warnings]

    def sku_identity(self, sku: Subject, workspace: str) -> Hashable:
        """What tells a SKU from others, however it is named."""
        return self._identity(self._found("sku", sku, workspace), sku, workspace)

    def named_prices(self, given: Mapping[str, float], skus: Sequence[Subject], workspace: str) -> dict[str, float]:
        """Own prices by the ids of their SKUs: catalogued under any name, or inline in the question."""
        inline = {str(sku.get("id") or "inline") for sku in skus if not isinstance(sku, str)}
        found: dict[str, float] = {}
        for name, usd in given.items():
            with at(f"/usd_per_gpu_hour/{step_of(name)}", instead_of="/sku"):
                found[name if name in inline else self._catalog.sku(name, workspace).id] = usd
        return found

    def profile_of(self, chip: Chip, engine: str, calibration: str = AUTO, workspace: str = "default",
                   ) -> EfficiencyProfile | None:
        """The efficiency profile of a chip under an engine; None for datasheet ceilings."""
        return self._profiles.of(chip, engine, calibration, workspace)

    def _found(self, kind: Any, subject: Subject, workspace: str) -> Found[Any]:  # noqa: ANN401 - "model" or "sku"
        if isinstance(subject, str):
            return self._catalog.find(kind, subject, workspace)
        value = self._catalog.read(kind, subject)
        return Found(id=str(subject.get("id") or "inline"), value=value, built_in=False)

    def _identity(self, found: Found[Any], subject: Subject, workspace: str) -> Hashable:
        if found.built_in:
            return found.id
        if isinstance(subject, str):
            return (workspace, found.id, self._catalog.generation(workspace))
        return json.dumps(subject, sort_keys=True)

    def configure(self, question: PlanQuestion) -> tuple[Configuration, Deployment, list[str]]:
        """The compiled configuration of a question, with its tensor parallelism chosen."""
        resolved, deployment, notes = self.resolve(question)
        tokens = request_tokens(question.workload)
        configuration = self.compiler.smallest(resolved, deployment, tokens)
        tensor = configuration.layout.tensor
        chosen = deployment if deployment.tensor_parallel == tensor else replace(deployment, tensor_parallel=tensor)
        return configuration, chosen, notes

    def answer(self, question: PlanQuestion) -> dict[str, Any]:
        """The whole plan in the contract's names."""
        check_workload(question.workload)
        configuration, deployment, notes = self.configure(question)
        workload, tokens = question.workload, request_tokens(question.workload)
        fit = configuration.fit(deployment, tokens)
        load = load_of(configuration, deployment, workload, fit)
        varied = self._variants.get(configuration.key, lambda: variants_of(self.compiler, configuration, deployment))
        timed = varied.timed(load.batch, load.context, workload, float(deployment.max_num_batched_tokens))
        step = timed.step
        steady = load.steady
        answer: dict[str, Any] = {
            "model": configuration.resolved.model_id, "sku": configuration.resolved.chip.id,
            "deployment": _deployment(configuration, deployment), "fit": fit_section(fit),
            "decode": decode_section(configuration, load, step),
            "prefill": prefill_section(configuration, timed.prompt),
            "precision": precision_section(varied.formats, timed.formats, deployment, load),
            "serving": steady and serving_section(configuration, steady, question), "cost": None,
            "levers": lever_section(varied.changes, timed.levers, configuration, deployment, load, fit, step.time_s),
        }
        if question.usd_per_gpu_hour is not None and answer["serving"] is not None:
            answer["cost"] = cost_section(configuration, answer["serving"], question.usd_per_gpu_hour)
        return self._complete(answer, configuration, deployment, question, fit, notes)

    def _complete(self, answer: dict[str, Any], configuration: Configuration, deployment: Deployment,
                  question: PlanQuestion, fit: MemoryFit, notes: list[str]) -> dict[str, Any]:
        resolved, workload = configuration.resolved, question.workload
        answer["intervals"] = intervals(answer, configuration, workload)
        taken = evidence.assumptions(configuration, question, deployment, fit)
        answer["assumptions"], answer["assumption_keys"] = list(taken.values()), list(taken)
        answer["warnings"] = [*notes, *evidence.warnings(configuration, deployment, workload, fit)]
        answer["provenance"] = evidence.provenance(configuration)
        answer["calibration"] = evidence.calibration_section(resolved.profile)
        answer["explanation"] = explanation(answer, load=evidence.load_words(workload, assumed=question.load_assumed))
        return answer


def request_tokens(workload: Workload) -> float:
    """Tokens one request occupies at its end."""
    return workload.input_tokens + workload.output_tokens


def check_workload(workload: Workload) -> None:
    """Refuse a load that is neither a concurrency nor a rate, or is both."""
    if (workload.concurrency is None) == (workload.request_rate is None):
        raise InvalidQuantity("Give either workload.concurrency (requests in flight) or workload.request_rate (per "
                              "second), not both and not neither.", pointer="/workload/concurrency")


def _deployment(configuration: Configuration, deployment: Deployment) -> dict[str, Any]:
    return {
        "engine": deployment.engine, "engine_version": deployment.engine_version,
        "tensor_parallel": configuration.layout.tensor, "pipeline_parallel": configuration.layout.pipeline,
        "data_parallel": configuration.layout.data, "expert_parallel": configuration.layout.expert,
        "gpus": configuration.layout.gpus, "weights": configuration.weights, "kv_cache": configuration.kv_cache,
        "memory_utilization": deployment.memory_utilization, "max_num_seqs": deployment.max_num_seqs,
        "max_num_batched_tokens": deployment.max_num_batched_tokens, "max_model_len": deployment.max_model_len,
    }


