"""What a step costs beside its kernels, what queueing adds around steps, and how far predictions scatter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    moe_scale: float = 1.0
    """In-situ expert block over the isolated kernel's, at least what physics allows."""
    graph_batch: float = 512.0
    """Largest batch captured as a graph; beyond it layers are launched one by one [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingTerms:
    """How requests meet steps in one engine."""

    wave: float
    """f1: share of the other requests' prompt time that a request waits for, closed loop."""
    ingest: float
    """tb: tokenise, transport and first scheduling of a request [s]."""
    hidden_prefill: float
    """psi: share of the prompt's extra step time that running sequences do not feel, 0–1."""
    length_scale: float = 1.0
    """Measured over nominal lengths where a benchmark randomises them."""
    chunk_tokens: float = 8192.0
    """Prompt tokens per step at most [token]."""


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
