"""What a step costs beside its kernels, what queueing adds around steps, and how far predictions scatter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOverhead:
    """Shared overheads of one engine on one chip family, fitted end to end."""

    per_layer: float
    """Launch gaps of one layer inside a graph [s]."""
    per_kind: Mapping[str, float] = field(default_factory=dict)
    """Extra per layer by mixer kind: mla, sparse, linear, ssm [s]."""
    per_step: float
    """Scheduler, sampler and host work of one step [s]."""
    per_request: float
    """Host work per decoding sequence and step [s]."""
    floor_scale: float
    """Share of kernel floors left when kernels follow each other in a graph, 0–1."""
    prefill_step: float
    """Extra of a step that carries prompt tokens: no graph, metadata [s]."""
    per_prefill_token: float
    """Cost of a prompt token that tensor parallelism does not shrink [s]."""
    prefill_compute: Mapping[str, float] = field(default_factory=dict)
    """Factor on the GEMM compute share by format in prompt steps; 1 where absent."""
    prefill_per_layer: float = 0.0
    """Eager launches of one layer in a step that carries prompt tokens [s]."""
    collective_scale: float = 1.0
    """In-situ collective time over the isolated kernel's, at least 1."""
    expert_imbalance: float = 0.0
    """Extra of the busiest expert-parallel rank over the mean, 0–1."""
    routing_concentration: float = inf
    """Shape of the experts' popularity law; inf is even routing [1]."""
    per_mixture: float = 0.0
    """Router, top-k and combine kernels of one mixture-of-experts layer beside the fused experts [s]."""
    moe_scale: float = 1.0
    """In-situ expert block over the isolated kernel's, at least what physics allows."""
    graph_batch: float = 512.0
    """Largest batch captured as a graph; beyond it layers are launched one by one [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingTerms:
    """How requests meet steps in one engine."""

    wave: float
    """f: share of the other requests' prompt time that a request waits for, lengths varying, 0–1."""
    ingest: float
    """t_b: tokenise, transport and first scheduling of a request [s]."""
    wave_fixed: float
    """f where all requests have the same lengths."""
    hidden: float
    """ψ: share of the prompts' extra step time that running sequences do not feel, lengths varying, 0–1."""
    hidden_fixed: float
    """ψ where all requests have the same lengths."""
    cohort: float
    """g: prompts of the request's own cohort it waits for, lengths varying [1]."""
    cohort_fixed: float
    """g where all requests have the same lengths [1]."""
    ingest_fixed: float
    """t_b of the runs with equal lengths [s]."""
    ingest_native: float = 4e-3
    """t_b through an engine's native front end, no HTTP: half-way in the 3 to 5 ms that leave 7-11 % on TensorRT-LLM
    v0.14's request-rate tables (0 ms leaves 21 %) [s]."""
    length_scale: float = 1.0
    """Measured over nominal lengths where a benchmark randomises them."""
    chunk_tokens: float = 8192.0
    """Prompt tokens per step at most [token]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRuns:
    """Evidence from whole serving runs of one chip under one engine."""

    runs: float = 0.0
    """Runs that the shared overheads were fitted to [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Log-scale residual spread that prediction intervals are made of."""

    within: float
    """Between rows of one deployment, standard deviation of ln(measured/predicted) [1]."""
    between: float
    """Between deployments whose chip, engine and model family were measured [1]."""
    between_unseen: float
    """Between deployments of an unmeasured family, chip or engine [1]."""
    degrees: float
    """Degrees of freedom of the Student distribution [1]."""
    bias: float = 0.0
    """Mean of ln(measured/predicted) [1]."""
