"""What an engine reserves beside weights before it cuts the KV pool.

References
----------
vLLM, gpu_worker.py and the memory-profiling run: requested = total × utilization; the cache gets requested less
weights, less peak activation, less non-torch (less CUDA graphs since 0.21). SGLang: mem_fraction_static of the memory
before load. TensorRT-LLM: a fraction of what is free after load. Coefficients: start-up logs of 59 vLLM 0.19 runs on
H100 (llm-d-planner pull request 205), of vLLM 0.6 on RTX 3090 (vLLM issue 10517) and 0.10 on A100, fitted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.architecture.feedforward import DenseFeedForward, MixtureOfExperts
from planner.core.architecture.model import Model, ModelCard
from planner.core.memory.era import Era
from planner.core.parallelism import Layout
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Numeric
from planner.core.quantities.numeric import Number
from planner.core.quantities.units import GIB

ACTIVATION_MINIMUM = 0.75 * GIB
"""Smallest profiling peak of the V1 engine in the logs [byte]."""
ACTIVATION_EXTRA = 0.08 * GIB
"""Left of the peak when logits and hidden states are taken off: 0.06 to 0.10 on eight dense models [byte]."""
HIDDEN_COPIES = 2.0
"""16-bit elements of the hidden stream alive beside the logits, per token and width: 2 bytes each way [byte]."""
INNER_BYTES = 6.0
"""Gate and up (2 × 2) and their product (2), per token and inner element: 0.111 MB per token on 8B [byte]."""
OUTER_BYTES = 6.0
"""Residual, norm output and block output in 16 bit, per token and hidden element [byte]."""
NON_TORCH_SINGLE = 0.25 * GIB
"""Context and libraries of a lone GPU: 0.24 to 0.46 [byte]."""
NON_TORCH_GROUP = 0.40 * GIB
"""With a communicator, without multicast buffers: vLLM 0.10 on A100 [byte]."""
NON_TORCH_SHARED = 2.10 * GIB
"""With symmetric-memory buffers for multicast all-reduce: 2.06 to 2.21 in 15 runs [byte]."""
NON_TORCH_STAGE = 0.07 * GIB
"""A pipeline stage without tensor parallelism [byte]."""
MULTICAST = frozenset({"hopper", "blackwell"})
"""Families whose NVLink switches reduce in the network (NVLink SHARP needs NVLink 4)."""
GRAPHS_FIXED, GRAPHS_PER_LAYER, GRAPHS_MIXTURE = 0.2 * GIB, 0.02 * GIB, 0.6 * GIB
"""Captured graphs: 0.7 GiB at 26 layers, 1.8 at 80, and more for mixtures; logs of 0.19 [byte]."""
CONTEXT_STATIC = 0.5 * GIB
"""Context taken before SGLang reads what is free: 0.4 to 0.6 in its logs [byte]."""
WORKSPACE_FREE = 1.5 * GIB
"""Context, execution contexts and buffers that TensorRT-LLM holds beside weights before it reads what is free; from one
log of 3.3 and one of 1.1 GiB, so wide [byte]."""
STATE_SHARE = 0.9
"""SGLang's mamba_full_memory_ratio: recurrent states get this much of the pool for every unit that tokens get."""
SCORE_BYTES = 4.0
"""fp32 score of every token of a step against every position in the indexer of sparse attention: 6.2 GiB at 8,192
tokens and 202,752 positions, as six GLM-5.1 logs need [byte]."""
WHOLE_PROMPT = 32768.0
"""Longest prompt the V0 engine profiles whole; longer ones are chunked by 512 [token] (vLLM issue 10517)."""
CHUNK_V0 = 512.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Memory one GPU keeps from the KV pool."""

    activation_bytes: Numeric
    """Peak of the profiling run [byte]."""
    other_bytes: Numeric
    """Communicators, context, allocator and graphs inside the budget [byte]."""
    budget: str = "requested"
    """As in :class:`~planner.core.memory.era.Era`."""
    token_share: float = 1.0
    """Share of the pool that tokens get where recurrent states have a pool of their own."""

    def usable(self, capacity: Numeric, utilization: Numeric, weights: Numeric) -> Number:
        """What the engine may use for weights, reserves and cache.

        Parameters
        ----------
        capacity : float or ndarray
            Memory of the GPU as the runtime reports it [byte].
        utilization : float or ndarray
            The share the operator gave [1].
        weights : float or ndarray
            Weights on the GPU [byte].

        Returns
        -------
        float or ndarray
            [byte]: the share of the whole, or, where the share is of what is free after load, that share with all that
            was in use before it.
        """
        if self.budget == "free":
            used = weights + self.activation_bytes + self.other_bytes
            return used + utilization * num.maximum(capacity - used, 0.0)
        if self.budget == "static":
            return utilization * (capacity - CONTEXT_STATIC)
        return utilization * capacity


def reservation(era: Era, layout: Layout, *, model: Model | ModelCard, family: str, max_num_seqs: Numeric,
                batched_tokens: Numeric, longest: Numeric | None = None) -> Reservation:
    """What an engine keeps free of KV on each GPU.

    Parameters
    ----------
    era : Era
        Engine and version.
    layout : Layout
        The parallel layout.
    model : Model or ModelCard
        The architecture, for the peak of its profiling run.
    family : str
        The chip's architecture family.
    max_num_seqs : float or ndarray
        Sequences of the profiling run [1].
    batched_tokens : float or ndarray
        Tokens of the profiling run [token].
    longest : float, ndarray or None
        Longest request, which old engines profile whole [token].

    Returns
    -------
    Reservation
        Estimates: within 0.2 GiB on most logs they were fitted to, 0.8 at worst.
    """
    if era.budget == "static":
        share = 1.0 / (1.0 + STATE_SHARE) if _has_states(model) else 1.0
        return Reservation(activation_bytes=0.0, other_bytes=0.0, budget=era.budget, token_share=share)
    if era.budget == "free":
        peak = _token_peak(model, layout, batched_tokens)
        return Reservation(activation_bytes=peak, other_bytes=WORKSPACE_FREE, budget=era.budget)
    graphs = graph_bytes(model, layout) if era.graphs_inside else 0.0
    return Reservation(activation_bytes=_activation(era, layout, model, max_num_seqs, batched_tokens, longest),
                       other_bytes=_non_torch(era, layout, family) + graphs)


def graph_bytes(model: Model | ModelCard, layout: Layout) -> float:
    """Memory of captured CUDA graphs on one GPU.

    Parameters
    ----------
    model : Model or ModelCard
        The architecture.
    layout : Layout
        Stages share layers.

    Returns
    -------
    float
        [byte], within 0.4 GiB on the logs.
    """
    layers = model.layers if isinstance(model, ModelCard) else model.layer_count
    mixture = GRAPHS_MIXTURE if _mixtures(model) else 0.0
    return GRAPHS_FIXED + GRAPHS_PER_LAYER * layers / layout.pipeline + mixture


def _non_torch(era: Era, layout: Layout, family: str) -> float:
    if layout.tensor * layout.data == 1:
        return NON_TORCH_SINGLE if layout.pipeline == 1 else NON_TORCH_STAGE
    return NON_TORCH_SHARED if era.shares_memory and family in MULTICAST else NON_TORCH_GROUP


def _activation(era: Era, layout: Layout, model: Model | ModelCard, sequences: Numeric, tokens: Numeric,
                longest: Numeric | None) -> Number:
    if era.prompts_whole:
        whole = tokens if longest is None else num.maximum(tokens, longest)
        return _token_peak(model, layout, num.where(whole > WHOLE_PROMPT, CHUNK_V0, whole))
    flow = _token_peak(model, layout, tokens) + ACTIVATION_EXTRA
    if era.logits_bytes == 0:
        return flow
    hidden = 0.0 if isinstance(model, ModelCard) else float(model.hidden)
    logits = era.logits_bytes * sequences * model.vocabulary + HIDDEN_COPIES * tokens * hidden + ACTIVATION_EXTRA
    held = _workspace(model, layout, tokens) + _scores(model, tokens, longest)
    return num.maximum(num.maximum(logits, flow), ACTIVATION_MINIMUM) + held


def _token_peak(model: Model | ModelCard, layout: Layout, tokens: Numeric) -> Number:
    """Live intermediate tensors of one layer for all tokens of a step."""
    if isinstance(model, ModelCard):
        return 0.0 * tokens
    widest = max((f.intermediate for _, layer in model.layers for f in layer.feedforwards
                  if isinstance(f, DenseFeedForward)), default=0)
    return tokens * (INNER_BYTES * widest / layout.tensor + OUTER_BYTES * model.hidden)


def _workspace(model: Model | ModelCard, layout: Layout, tokens: Numeric) -> Number:
    """Buffers of the fused expert kernel: gate-up, product and output of every token-expert pair, always held."""
    largest: Number = 0.0
    for mixture in _mixtures(model):
        inner = mixture.expert.intermediate * 3.0 / (layout.tensor * layout.data)
        pairs = tokens * mixture.experts_per_token
        largest = num.maximum(largest, pairs * (inner + mixture.expert.matrices()[0].inputs) * 2.0)
    return largest


def _scores(model: Model | ModelCard, tokens: Numeric, longest: Numeric | None) -> Number:
    """The indexer's scores in models whose sparse attention ranks every position."""
    if isinstance(model, ModelCard):
        return 0.0
    strides = [core.cache.stride for _, layer in model.layers if layer.mixer is not None
               for core in layer.mixer.cores() if core.kind == "index" and core.cache is not None]
    positions = longest if longest is not None else float(model.context_trained or 0)
    return SCORE_BYTES * tokens * positions / min(strides) if strides else 0.0


def _has_states(model: Model | ModelCard) -> bool:
    return not isinstance(model, ModelCard) and any(layer.mixer is not None and layer.mixer.state() is not None
                                                    for _, layer in model.layers)


def _mixtures(model: Model | ModelCard) -> list[MixtureOfExperts]:
    return [] if isinstance(model, ModelCard) else [m for _, layer in model.layers for m in layer.mixtures]
