"""How an engine schedules: what shares a step, what is reserved, when arrivals are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from planner.core.quantities.arrays import Array, Numeric
from planner.core.quantities.units import GIB


class PrefillOrder(StrEnum):
    """Whether prompt tokens share a step with decodes."""

    MIXED = "mixed"
    """Decodes first, prompt chunks fill the rest of the token budget."""
    PREFILL_FIRST = "prefill_first"
    """Waiting prompts run alone before the next decode step."""


class Chunking(StrEnum):
    """Whether a prompt may be split over steps."""

    CHUNKED = "chunked"
    WHOLE = "whole"


class Admission(StrEnum):
    """What a request must find free before it starts."""

    ON_DEMAND = "on_demand"
    """Blocks of the prompt; decodes grow, and the youngest is preempted and recomputed when blocks run out."""
    RESERVE = "reserve"
    """Blocks of prompt and whole answer, so that nothing is ever evicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerPolicy:
    """One engine's scheduling; sizes that vary over a grid live in `ServingLimits`."""

    order: PrefillOrder = PrefillOrder.MIXED
    chunking: Chunking = Chunking.CHUNKED
    admission: Admission = Admission.ON_DEMAND
    block_tokens: int = 16
    """KV tokens per block [token]."""
    poll_steps: int = 1
    """Decode steps between two looks at newly arrived requests [1]."""
    request_latency_s: float = 0.0
    """Fixed time of a request outside the steps: HTTP, tokenisation, first detokenisation (tb) [s]."""
    wave_coefficient: float = 0.05
    """f1: share of a benchmark's first burst in its mean TTFT; 0.05 = N/10 of the prompts burst, half a queue [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLimits:
    """Sizes that bound a replica; each may be a number or an array over the grid."""

    kv_capacity_tokens: Numeric
    """KV tokens of the whole replica [token]."""
    max_num_seqs: Numeric = 256
    """Sequences running at once in each data-parallel rank [1]."""
    token_budget: Numeric = 8192
    """Tokens computed in one step of one data-parallel rank (max_num_batched_tokens, chunk) [token]."""
    data_parallel: Numeric = 1
    """Attention data-parallel ranks that step together [1]."""
    pipeline_parallel: Numeric = 1
    """Pipeline stages, hence micro-batches in flight [1]."""
    tokens_per_step: Numeric = 1.0
    """Output tokens a sequence gains in a decode step (accepted length when speculating) [token]."""
    query_tokens: Numeric = 1.0
    """Tokens a sequence computes in a decode step (draft length + 1 when speculating) [token]."""
    draft_time_s: Numeric = 0.0
    """Drafting time added to every decode step [s]."""
    cache_windows: Sequence[float] | Array | None = field(default=None)
    """Spans of the cache classes, shape (class,); None = everything is kept [token]."""
    cache_shares: Sequence[Numeric] | Array | None = field(default=None)
    """Share of a token's cache bytes in each class, shape (class, *grid); sums to 1 [1]."""
    cache_fixed_tokens: Numeric = 0.0
    """Per-sequence state that does not grow, in equivalent tokens [token]."""
    state_places: Numeric = inf
    """Sequences of the replica whose recurrent state has a place in a pool apart; inf where there is none [1]."""


VLLM = SchedulerPolicy()
"""vLLM V1: mixed steps, decodes first, blocks of 16, recompute on preemption (vLLM docs, optimization)."""

SGLANG = SchedulerPolicy(order=PrefillOrder.PREFILL_FIRST, block_tokens=1)
"""SGLang: waiting prompts before decodes, page size 1 (SGLang docs, server arguments)."""

TENSORRT_LLM = SchedulerPolicy(chunking=Chunking.WHOLE, admission=Admission.RESERVE, block_tokens=32)
"""TensorRT-LLM: GUARANTEED_NO_EVICT, chunked context off, 32 tokens per block (TensorRT-LLM docs, scheduler)."""

GENERIC = SchedulerPolicy()

POLICIES = {"vllm": VLLM, "sglang": SGLANG, "trtllm": TENSORRT_LLM, "generic": GENERIC}


def default_token_budget(engine: str, memory_bytes: float) -> int:
    """Token budget of a step that an engine picks on a chip of this memory when told nothing.

    Parameters
    ----------
    engine : str
        vllm, sglang, trtllm or generic.
    memory_bytes : float
        Memory of the chip as the runtime reports it [byte].

    Returns
    -------
    int
        [token].

    References
    ----------
    vLLM, engine/arg_utils.py: an API server takes 8192 on chips of at least 70 GiB, else 2048. SGLang,
    server_args.py: chunked prefill size by chip memory. TensorRT-LLM docs: max_num_tokens 8192.
    """
    memory = memory_bytes / GIB
    if engine == "sglang":
        steps = ((35.0, 2048), (60.0, 4096), (160.0, 8192))
        return next((tokens for below, tokens in steps if memory < below), 16384)
    if engine == "vllm":
        return 8192 if memory >= 70.0 else 2048
    return 8192


def default_max_num_seqs(engine: str, memory_bytes: float) -> int:
    """Sequences an engine runs at once on a chip of this memory when told nothing.

    Parameters
    ----------
    engine : str
        vllm, sglang, trtllm or generic.
    memory_bytes : float
        Memory of the chip as the runtime reports it [byte].

    Returns
    -------
    int
        [1].

    References
    ----------
    vLLM, engine/arg_utils.py: 1024 on chips of at least 70 GiB, else 256. TensorRT-LLM docs: max_batch_size 2048.
    """
    if engine == "trtllm":
        return 2048
    return 1024 if engine == "vllm" and memory_bytes / GIB >= 70.0 else 256
