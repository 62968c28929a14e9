"""Start-up logs of engines as rows: the question each asks, and the memory predicted for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from planner.core.architecture.model import Model, ModelCard
from planner.core.errors import MissingFact, PlannerError
from planner.core.hardware.chip import Chip
from planner.core.memory.allocator import BLOCK_TOKENS, PagedPool, paged_pool
from planner.core.memory.budget import Reservation, reservation
from planner.core.memory.era import Era, era_of
from planner.core.memory.needs import layer_needs
from planner.core.memory.weights import draft_bytes_on_rank, weight_bytes_on_rank
from planner.core.operators.lower import lower, scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat, cache_format
from planner.core.quantities.units import GIB

Row = Mapping[str, str]
ModelOf = Callable[[str], tuple[Model | ModelCard, str | None]]
ChipOf = Callable[[str], Chip]
ENGINES = {"vllm": "vllm", "vllm-ascend": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm", "trtllm": "trtllm"}
# Engine defaults where a row does not say: vLLM engine arguments (256 sequences on most GPUs, 2,048 batched tokens up
# to 0.10 and 8,192 since); the others' documentation.
_SEQUENCES, _BATCHED, _BATCHED_EARLY = 256.0, 8192.0, 2048.0
_FORMATS = (("mxfp4", "mxfp4"), ("nvfp4", "nvfp4"), ("fp8", "fp8"), ("int8", "int8"), ("int4", "w4a16"),
            ("4-bit", "w4a16"), ("bf16", "bf16"), ("fp16", "fp16"), ("fp32", "fp32"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A row's question, after names."""

    model: Model | ModelCard
    chip: Chip | None
    era: Era
    layout: Layout
    weights: str
    cache: CacheFormat
    context_parallel: int
    drafts: bool
    capacity: float | None
    utilization: float | None
    longest: float
    sequences: float
    batched: float
    block_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The memory of one GPU, piece by piece [byte]."""

    weights: float
    activation: float
    other: float
    pool: float
    complete: bool = True
    """Every piece is known; else only the pool is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a pool holds."""

    pool: float
    blocks: float
    tokens: float
    concurrency: float


def number(row: Row, name: str) -> float | None:
    """A cell as a number; None where it is empty."""
    text = (row.get(name) or "").strip()
    try:
        return float(text) if text else None
    except ValueError as error:
        raise MissingFact(f"Column {name} holds {text!r}, which is not a number.", fact=name) from error


def setup_of(row: Row, model_of: ModelOf, chip_of: ChipOf) -> Setup:
    """The question a row asks; what it needs and does not say is named."""
    engine = ENGINES.get((row.get("engine") or "").strip().lower())
    if engine is None:
        raise MissingFact(f"Engine {row.get('engine')!r} is not known.", fact="engine")
    tensor = number(row, "tp")
    if tensor is None:
        raise MissingFact("The row does not say its tensor parallelism.", fact="tp")
    model, suffix = model_of(row["model"])
    era = era_of(engine, row.get("engine_version"))
    capacity = number(row, "total_gpu_gib")
    chip = _chip(row, chip_of)
    trained = None if isinstance(model, ModelCard) else model.context_trained
    parallel = re.search(r"DCP(\d+)", row.get("dp_ep") or "")
    layout = Layout(tensor=int(tensor), pipeline=int(number(row, "pp") or 1))
    batched = number(row, "max_num_batched_tokens") or (_BATCHED_EARLY if not era.shares_memory else _BATCHED)
    return Setup(
        model=model, chip=chip, era=era, layout=layout, weights=_weights(row, suffix), cache=_cache(row, model),
        context_parallel=int(parallel[1]) if parallel else 1, drafts="MTP" in (row.get("dp_ep") or ""),
        capacity=capacity * GIB if capacity else None if chip is None else chip.memory_bytes,
        utilization=number(row, "mem_util"), sequences=number(row, "max_num_seqs") or _SEQUENCES, batched=batched,
        longest=number(row, "max_model_len") or float(trained or 8192),
        block_tokens=int(number(row, "block_size") or BLOCK_TOKENS[engine]))


def _chip(row: Row, chip_of: ChipOf) -> Chip | None:
    try:
        return chip_of(row.get("gpu") or "")
    except PlannerError:
        return None


def _weights(row: Row, suffix: str | None) -> str:
    text = (row.get("weight_dtype") or "").lower()
    found = next((fmt for sign, fmt in _FORMATS if sign in text), None)
    if found is None and text:
        raise MissingFact(f"Weight format {text!r} is not known.", fact="weight_dtype")
    return found or suffix or "auto"


def _cache(row: Row, model: Model | ModelCard) -> CacheFormat:
    text = (row.get("kv_dtype") or "").strip()
    declared = None if isinstance(model, ModelCard) else model.cache_format
    return cache_format(text or declared or "bf16")


def pool_of(setup: Setup) -> PagedPool:
    """How the row's engine cuts its pool."""
    needs = layer_needs(setup.model, setup.layout, setup.cache)
    if setup.drafts:
        _, need = max(needs, key=lambda row: row[0])
        needs = tuple((n + 1 if kept.kind == need.kind else n, kept) for n, kept in needs)
    if setup.era.engine == "sglang":
        needs = tuple(row for row in needs if row[1].kind == "full") or needs
    return paged_pool(needs, block_tokens=setup.block_tokens, batched_tokens=setup.batched,
                      state_blocks=setup.era.state_blocks)


def predicted_budget(setup: Setup) -> Budget:
    """The memory as predicted, nothing taken from the log."""
    if setup.capacity is None or setup.chip is None:
        raise MissingFact("The GPU or its memory is not known.", fact="gpu")
    if setup.utilization is None:
        raise MissingFact("The row does not say which share of the memory the engine may use.", fact="mem_util")
    weights, reserved = predicted_weights(setup), predicted_reserve(setup)
    usable = reserved.usable(setup.capacity, setup.utilization, weights)
    pool = (usable - weights - reserved.activation_bytes - reserved.other_bytes) * reserved.token_share
    return Budget(weights=weights, activation=float(reserved.activation_bytes), other=float(reserved.other_bytes),
                  pool=max(float(pool), 0.0))


def predicted_weights(setup: Setup) -> float:
    """Weights on the busiest GPU [byte]."""
    if isinstance(setup.model, ModelCard):
        raise MissingFact("Five-field cards have no layers to count weights of.", fact="config")
    scheme = scheme_for(setup.model, setup.weights)
    table = lower(setup.model, layout=setup.layout, scheme=scheme, cache=setup.cache)
    drafts = draft_bytes_on_rank(setup.model, scheme, setup.layout) if setup.drafts else 0.0
    return weight_bytes_on_rank(table, setup.model, scheme) + drafts


def predicted_reserve(setup: Setup) -> Reservation:
    """What the engine keeps beside weights."""
    family = "" if setup.chip is None else setup.chip.architecture
    return reservation(setup.era, setup.layout, model=setup.model, family=family, max_num_seqs=setup.sequences,
                       batched_tokens=setup.batched, longest=setup.longest)


def known_budget(setup: Setup, row: Row) -> Budget:
    """The memory with weights and overheads taken from the log, or its pool where they are not all logged."""
    weights, activation, other = (number(row, n) for n in ("weights_gib_per_gpu", "activation_gib", "non_torch_gib"))
    if None not in (weights, activation, other, setup.utilization, setup.capacity) and setup.era.budget == "requested":
        pieces = [float(v or 0.0) * GIB for v in (weights, activation, other)]
        graphs = (number(row, "cuda_graph_gib") or 0.0) * GIB if setup.era.graphs_inside else 0.0
        pool = float(setup.capacity or 0.0) * float(setup.utilization or 0.0) - sum(pieces) - graphs
        return Budget(weights=pieces[0], activation=pieces[1], other=pieces[2] + graphs, pool=pool)
    pool_gib = number(row, "kv_avail_gib_per_gpu")
    if pool_gib is None:
        raise MissingFact("The log has neither its overheads nor its pool.", fact="kv_avail_gib_per_gpu")
    return Budget(weights=(weights or 0.0) * GIB, activation=0.0, other=0.0, pool=pool_gib * GIB, complete=False)


def capacity_of(setup: Setup, pool: float) -> Capacity:
    """What the pool holds, as this version of the engine prints it."""
    cut = pool_of(setup)
    sequences = cut.sequences(pool, setup.longest) * setup.context_parallel
    tokens = cut.printed_tokens(pool) if setup.era.prints_groups else cut.capacity_tokens(pool, setup.longest)
    return Capacity(pool=pool, blocks=float(cut.pool_blocks(pool)), tokens=float(tokens) * setup.context_parallel,
                    concurrency=float(sequences))
