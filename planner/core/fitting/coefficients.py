"""The shared coefficients that served runs decide, with what was believed before any run was seen.

Usual values are launch and host costs as public traces show them, and factors of one; none comes from the runs that are
fitted. A name after ``~`` is one engine's factor on the shared value, one after ``@`` an engine's on one chip family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planner.core.fitting.end_to_end import Coefficient, Values
from planner.core.hardware.efficiency.profile import EfficiencyProfile

ENGINES = ("vllm", "sglang", "trtllm")


def _plain(name: str, usual: float, low: float, high: float, prior: float) -> Coefficient:
    return Coefficient(name=name, usual=usual, low=low, high=high, prior=prior)


# Graph nodes follow each other in about a microsecond and a layer has a handful that no operator row carries; a step's
# host work is half a millisecond (Megatron-LM PR 6064; vLLM and SGLang profiler traces), mixed steps pay metadata.
# Kernel tables: the smallest sparse block takes 71-100 us against 32-44 of a latent block, 38 of them its indexer; a
# gated-delta layer has convolution, gates and norm beside its recurrent kernel. Query and key norms are two small
# kernels more.
SHARED: tuple[Coefficient, ...] = (
    _plain("per_layer", 5e-6, 1e-7, 6e-5, 1.0), _plain("per_step", 5e-4, 1e-5, 4e-3, 0.5),
    _plain("per_request", 5e-6, 1e-7, 1e-4, 0.7), _plain("floor_scale", 0.7, 0.1, 1.0, 0.4),
    _plain("prefill_step", 2e-3, 1e-4, 3e-2, 0.7), _plain("per_prefill_token", 1e-6, 1e-8, 3e-5, 1.0),
    _plain("collective_scale", 1.2, 1.0, 3.0, 0.3), _plain("layer_passes", 8.0, 2.0, 40.0, 0.5),
    _plain("expert_imbalance", 0.1, 0.01, 0.5, 0.5), _plain("per_mixture", 1e-5, 1e-7, 1e-4, 1.0),
    _plain("routing_concentration", 4.0, 0.4, 100.0, 1.0), _plain("moe_scale", 1.0, 0.5, 2.5, 0.3),
    _plain("kind.mla", 5e-6, 1e-7, 1e-4, 1.0), _plain("kind.sparse", 3e-5, 1e-7, 1.5e-4, 1.0),
    _plain("kind.linear", 2e-5, 1e-7, 1e-4, 0.7),
    _plain("kind.qk_norm", 4e-6, 1e-7, 3e-5, 0.7), _plain("pipe.bf16", 0.9, 0.3, 1.0, 0.3),
    _plain("pipe.fp8", 0.8, 0.2, 1.0, 0.3), _plain("pipe.fp4", 0.8, 0.2, 1.0, 0.3),
)
_FACTORS = ("per_layer", "per_step", "per_request", "collective_scale", "per_mixture", "moe_scale", "prefill_step")
ENGINE_FACTORS: tuple[Coefficient, ...] = tuple(
    _plain(f"{name}~{engine}", 1.0, 0.1, 10.0, 0.25) for name in _FACTORS for engine in ENGINES)
FAMILY_FACTORS: tuple[Coefficient, ...] = (
    _plain("per_step@blackwell/trtllm", 1.0, 0.1, 6.0, 0.4), _plain("floor_scale@hopper/trtllm", 1.0, 0.1, 1.4, 0.4))
"""An engine's releases on a chip family: TensorRT-LLM overlaps its host work since the releases Blackwell runs on."""
# A tenth of a benchmark's requests are its initial burst, which waits half of the queue on the mean; requests of equal
# length that an engine prefills before it decodes stay together.
SERVING: tuple[Coefficient, ...] = tuple(
    _plain(f"{name}~{engine}", usual, low, high, prior) for engine in ENGINES for name, usual, low, high, prior in (
        ("wave", 0.13 if engine == "sglang" else 0.06, 0.005, 0.6, 0.5),
        ("wave_fixed", 0.3 if engine == "sglang" else 0.05, 0.005, 0.7, 0.5),
        ("hidden", 0.13 if engine == "sglang" else 0.06, 0.005, 0.8, 0.5),
        ("hidden_fixed", 0.3 if engine == "sglang" else 0.05, 0.005, 0.8, 0.5),
        ("cohort", 0.5, 0.01, 6.0, 0.7),
        ("cohort_fixed", 2.0, 0.01, 8.0, 0.7), ("ingest", 0.03, 0.001, 0.3, 0.7),
        ("ingest_fixed", 0.03, 0.001, 0.3, 0.7)))
EVERYTHING: dict[str, Coefficient] = {c.name: c for c in (*SHARED, *ENGINE_FACTORS, *FAMILY_FACTORS, *SERVING)}

FITTED: tuple[str, ...] = ("routing_concentration", "per_step", "collective_scale", "collective_scale~vllm",
                           "per_mixture~sglang", "hidden~trtllm", "prefill_step~vllm", "kind.qk_norm",
                           "per_step@blackwell/trtllm", "floor_scale@hopper/trtllm")
"""Coefficients that step times may move: each one lowered the leave-one-group-out error when it was freed."""
FITTED_FIRST: tuple[str, ...] = ("ingest~sglang",)
"""The same for first tokens; they move no step time."""

_PIPES = {"bf16": "pipe.bf16", "fp16": "pipe.bf16", "w8a16": "pipe.bf16", "w4a16": "pipe.bf16", "fp8": "pipe.fp8",
          "fp8_block": "pipe.fp8", "int8": "pipe.fp8", "nvfp4": "pipe.fp4", "mxfp4": "pipe.fp4"}
_KINDS = {"mla": "kind.mla", "sparse": "kind.sparse", "linear": "kind.linear", "ssm": "kind.linear",
          "qk_norm": "kind.qk_norm"}
_OVERHEADS = ("per_layer", "per_step", "per_request", "floor_scale", "prefill_step", "per_prefill_token",
              "expert_imbalance", "per_mixture", "routing_concentration", "moe_scale")


def usual_values() -> dict[str, float]:
    """Every coefficient at its usual value.

    Returns
    -------
    dict
        Name → value.
    """
    return {name: c.usual for name, c in EVERYTHING.items()}


def overhead_fields(values: Values, engine: str, family: str = "") -> dict[str, Any]:
    """Fields of a step overhead under coefficients.

    Parameters
    ----------
    values : mapping
        Every coefficient.
    engine : str
        vllm, sglang, trtllm or generic.
    family : str
        Architecture of the chip; empty is any.

    Returns
    -------
    dict
        Field → value.
    """
    def of(name: str) -> float:
        return values[name] * values.get(f"{name}~{engine}", 1.0) * values.get(f"{name}@{family}/{engine}", 1.0)

    return {**{name: of(name) for name in _OVERHEADS}, "collective_scale": max(of("collective_scale"), 1.0),
            "per_kind": {kind: values[name] for kind, name in _KINDS.items()},
            "prefill_compute": {fmt: values[name] for fmt, name in _PIPES.items()}}


def serving_fields(values: Values, engine: str) -> dict[str, float]:
    """Fields of the serving terms under coefficients; an unknown engine gets the engines' geometric means.

    Parameters
    ----------
    values : mapping
        Every coefficient.
    engine : str
        vllm, sglang, trtllm or generic.

    Returns
    -------
    dict
        Field → value.
    """
    found = {}
    for name in ("wave", "wave_fixed", "hidden", "hidden_fixed", "cohort", "cohort_fixed", "ingest", "ingest_fixed"):
        members = [engine] if engine in ENGINES else list(ENGINES)
        product = 1.0
        for member in members:
            product *= values[f"{name}~{member}"]
        found[name] = product ** (1 / len(members))
    return found


def adjuster(values: Values) -> Callable[[EfficiencyProfile], EfficiencyProfile]:
    """A function that lays coefficients over a profile.

    Parameters
    ----------
    values : mapping
        Coefficients; missing ones have their usual value.

    Returns
    -------
    callable
        Profile → profile.
    """
    full = {**usual_values(), **values}

    def adjust(profile: EfficiencyProfile) -> EfficiencyProfile:
        return replace(profile, overhead=replace(profile.overhead, **overhead_fields(
            full, profile.engine, profile.architecture)),
                       serving=replace(profile.serving, **serving_fields(full, profile.engine)),
                       pointwise=replace(profile.pointwise, layer_passes=full["layer_passes"]))

    return adjust
