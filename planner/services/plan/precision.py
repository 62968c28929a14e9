"""What number formats change: bytes, ceiling, B*, crossover, memory and speed at the same batch and context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.core.errors import MissingFact
from planner.services.plan.configuration import Compiler, Configuration
from planner.services.plan.load import Load
from planner.services.plan.question import Deployment

FORMATS = (("bf16", "bf16"), ("fp8", "bf16"), ("w8a16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8"))
FOUR_BIT = ("nvfp4", "fp8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A pair of formats, compiled or refused."""

    weights: str
    kv_cache: str
    configuration: Configuration | None
    refused: str | None
    deployed: bool
    """Whether the plan itself runs with these."""


def choices(compiler: Compiler, configuration: Configuration, deployment: Deployment) -> list[Choice]:
    """The format pairs worth showing on this chip, the deployment's own first where it is none of the usual ones."""
    resolved, deployed = configuration.resolved, (configuration.weights, configuration.kv_cache)
    pairs = [*FORMATS, FOUR_BIT] if resolved.chip.peaks.get("fp4") else list(FORMATS)
    pairs = pairs if deployed in pairs else [deployed, *pairs]
    found = []
    for weights, cache in pairs:
        wanted = replace(deployment, weights=weights, kv_cache=cache, tensor_parallel=configuration.layout.tensor)
        try:
            found.append(Choice(weights=weights, kv_cache=cache, refused=None, deployed=(weights, cache) == deployed,
                                configuration=compiler.configuration(resolved, wanted)))
        except MissingFact as error:
            found.append(Choice(weights=weights, kv_cache=cache, configuration=None, deployed=False,
                                refused=f"{error.detail} {error.hint or ''}".strip()))
    return found


def precision_section(found: Sequence[Choice], times: list[float], deployment: Deployment, load: Load,
                      ) -> list[dict[str, Any]]:
    """One row per format pair; ``times`` are the steps of those compiled [s]."""
    steps = iter(times)
    return [_refused(choice) if choice.configuration is None
            else _row(choice, choice.configuration, next(steps), deployment, load)
            for choice in found]


def _refused(choice: Choice) -> dict[str, Any]:
    empty = dict.fromkeys(("compute", "batch_critical", "batch_crossover", "step_time_s", "tokens_per_s",
                           "max_concurrency", "fits"))
    return {"weights": choice.weights, "kv_cache": choice.kv_cache, "deployed": False, **empty,
            "refused": choice.refused}


def _row(choice: Choice, configuration: Configuration, step: float, deployment: Deployment, load: Load,
         ) -> dict[str, Any]:
    room = configuration.room(deployment)
    return {
        "weights": choice.weights, "kv_cache": choice.kv_cache, "deployed": choice.deployed,
        "compute": configuration.ideal.block_compute.pipe,
        "batch_critical": configuration.batch_critical,
        "batch_crossover": configuration.crossings.crossover(load.context), "step_time_s": step,
        "tokens_per_s": load.batch / step, "max_concurrency": room.max_concurrency(load.request_tokens),
        "fits": room.fits(load.request_tokens), "refused": None,
    }
