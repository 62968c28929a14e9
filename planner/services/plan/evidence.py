"""What a plan rests on: assumptions, warnings, where its numbers come from, and how far they may be off."""

from __future__ import annotations

from typing import Any

from planner.core.architecture.model import ModelCard
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.memory.era import knows
from planner.core.memory.fit import MemoryFit
from planner.core.quantities.format import amount, counted
from planner.core.workload import Workload
from planner.services.plan.configuration import Configuration
from planner.services.plan.load import room
from planner.services.plan.question import Deployment, PlanQuestion


def known_pair(profile: EfficiencyProfile) -> bool:
    """Whether runs of the chip under the engine were among the fitted ones, so that only the deployment is new."""
    return profile.served.runs > 0


def _kernels_measured(profile: EfficiencyProfile) -> bool:
    """Whether kernels of the chip or its family were measured."""
    return any(not profile.inherited.get(f"gemm.{name}", profile.id).startswith("default/") for name in profile.gemm)


def load_words(workload: Workload, *, assumed: bool) -> str:
    """The load of a replica in a few words; one that nobody asked about is called assumed."""
    rate = workload.request_rate
    text = f"{amount(rate)} requests/s" if rate is not None else (
        counted(workload.concurrency or 0.0, "request") + " in flight")
    return text + (" (assumed, as no load was given)" if assumed else "")


def assumptions(configuration: Configuration, question: PlanQuestion, deployment: Deployment,
                fit: MemoryFit) -> dict[str, str]:
    """What the answer takes for granted, each in one sentence, by what it is about."""
    layout, workload = configuration.layout, question.workload
    load = load_words(workload, assumed=question.load_assumed)
    loop = (f"Closed loop: {load}, each asked again when answered." if workload.concurrency is not None
            else f"Open loop: {load}, gaps with coefficient of variation {workload.arrival_cv:g}.")
    rows = {
        "replica": (f"One replica: {counted(layout.gpus, 'GPU')}, tensor {layout.tensor} × pipeline {layout.pipeline} "
                    f"× data {layout.data}, experts over {layout.expert}."),
        "formats": (f"Weights {configuration.weights}, KV cache {configuration.kv_cache}, "
                    f"engine {configuration.engine}."),
        "requests": (f"Requests of {workload.input_tokens:,.0f} prompt and {workload.output_tokens:,.0f} answer tokens"
                     + (f", {workload.prefix_cache_hit:.0%} of the prompt cached." if workload.prefix_cache_hit
                        else ".")),
        "load": loop,
    }
    if configuration.table.mixtures.names:
        rows["experts"] = "Tokens choose experts independently and evenly: an upper bound on the experts a step reads."
    held = fit.sequences(workload.input_tokens + workload.output_tokens)
    if fit.fits and held > fit.max_concurrency:
        rows["attention_windows"] = (
            "max_concurrency counts a prompt chunk beside every attention window, as the engine prints it; "
            f"while decoding, {held:,.0f} such requests have room.")
    profile = configuration.resolved.profile
    if profile is not None and not known_pair(profile):
        rows["served_runs"] = (f"No served run of {configuration.resolved.chip.name} under {configuration.engine} is "
                               "among the fitted ones: the intervals are wider for it.")
    rows["memory"] = f"The engine may use {deployment.memory_utilization:.0%} of GPU memory."
    return rows


def warnings(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> list[str]:
    """What the asker should know before relying on the answer."""
    found = []
    model, chip = configuration.resolved.model, configuration.resolved.chip
    compute = configuration.ideal.block_compute
    asked = (workload.input_tokens + workload.output_tokens, "input + output")
    longest, name = max(asked, (workload.context_tokens or 0.0, "context_tokens"),
                        (deployment.max_model_len or 0.0, "max_model_len"))
    if isinstance(model, ModelCard):
        found.append("Only a five-field card is known: attention FLOP and activation traffic count as zero, and prompt "
                     "times are lower bounds.")
    elif model.context_trained is not None and longest > model.context_trained:
        found.append(f"{name} = {longest:,.0f} tokens exceeds the "
                     f"{model.context_trained:,} the model was trained for.")
    found += [*_lengths(deployment, workload, fit), *_sizes(configuration, deployment, workload, fit)]
    if configuration.layout.expert > 1 and not isinstance(model, ModelCard) and not configuration.table.mixtures.names:
        found.append(f"expert_parallel = {configuration.layout.expert} changes nothing: {model.id} has no experts, and "
                     "engines ignore it.")
    if compute.weight_only and configuration.weights in {"mxfp4", "nvfp4"}:
        found.append(f"{chip.name} has no fp4 units: {configuration.weights} weights run weight-only at the "
                     f"{compute.pipe} ceiling.")
    profile = configuration.resolved.profile
    if profile is not None and not configuration.memo.get("measured", lambda: _kernels_measured(profile)):
        own = any(level.startswith(f"{profile.architecture}/") for level in profile.inherited.values())
        found.append(f"No kernels of {chip.name} or its family were timed: efficiencies are medians over other chips"
                     + (", corrected by served runs of its family," if own else "") + " and the intervals are wide.")
    return found


def _sizes(configuration: Configuration, deployment: Deployment, workload: Workload, fit: MemoryFit) -> list[str]:
    """Batches, budgets, groups and versions that the engine or the machine does not take as asked."""
    found, layout, link = [], configuration.layout, configuration.resolved.chip.scale_up
    batch, seats = workload.batch, deployment.max_num_seqs * layout.data
    if batch is not None and batch > seats:
        found.append(f"batch = {batch:,.0f} exceeds the {seats:,} sequences that max_num_seqs admits.")
    if batch is not None and fit.fits and batch > (held := room(workload, fit)):
        found.append(f"batch = {batch:,.0f} exceeds the {held:,.0f} sequences that the KV pool holds.")
    if deployment.engine == "vllm" and deployment.max_num_batched_tokens < deployment.max_num_seqs:
        found.append(f"max_num_batched_tokens = {deployment.max_num_batched_tokens:,} is less than max_num_seqs = "
                     f"{deployment.max_num_seqs:,}: vLLM refuses to start.")
    if link is not None and layout.tensor > link.domain:
        found.append(f"tensor_parallel = {layout.tensor} reaches beyond the {link.domain} GPUs that {link.kind} joins: "
                     "every layer waits for a slower link.")
    if deployment.engine_version is not None and not knows(deployment.engine, deployment.engine_version):
        found.append(f"engine_version {deployment.engine_version!r} tells no era of {deployment.engine}: it counts as "
                     "the newest.")
    return found


def _lengths(deployment: Deployment, workload: Workload, fit: MemoryFit) -> list[str]:
    """Requests and contexts that the engine refuses or the pool cannot hold."""
    found, most = [], deployment.max_model_len
    for name, tokens in (("input + output", workload.input_tokens + workload.output_tokens),
                         ("context_tokens", workload.context_tokens or 0.0)):
        if most is not None and tokens > most:
            found.append(f"{name} = {tokens:,.0f} tokens exceeds max_model_len = {most:,}: the engine refuses or cuts "
                         "such requests, and this answer is as if it took them.")
    context = workload.context_tokens
    if context is not None and fit.fits and context > fit.max_context_tokens:
        found.append(f"context_tokens = {context:,.0f} exceeds the {fit.max_context_tokens:,.0f} that one sequence may "
                     "reach in this KV pool.")
    return found


def calibration_section(profile: EfficiencyProfile | None) -> dict[str, Any]:
    """Which efficiencies the answer uses."""
    if profile is None:
        return {"id": "ideal", "kind": "bound", "measured_on": None, "inherited": {}}
    return {"id": profile.id, "kind": "estimate", "measured_on": profile.measured_on,
            "inherited": dict(profile.inherited)}


def provenance(configuration: Configuration) -> dict[str, Any]:
    """Where the model's, the chip's and the efficiency figures come from."""
    profile = configuration.resolved.profile
    return {"model": configuration.resolved.model_id, "sku": configuration.resolved.chip.id,
            "ceilings": "datasheet peaks and bandwidth of the SKU entry",
            "efficiency": "none: datasheet ceilings" if profile is None else profile.source,
            "memory": "capacity as the runtime reports it where known; engine reserves fitted to start-up logs"}
