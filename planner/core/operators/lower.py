"""Lowering: a model, a layout and its formats become the operator table of one rank, once."""

from __future__ import annotations

from collections import Counter
from math import ceil, inf

import numpy as np

from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import MixtureOfExperts
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Model, WeightScheme
from planner.core.architecture.parts import Matrix, Module, Shard
from planner.core.errors import InvalidLayout
from planner.core.operators.attention import ACTIVATION_BYTES, Cores
from planner.core.operators.builder import Rows
from planner.core.operators.collective import Collectives
from planner.core.operators.elementwise import Passes
from planner.core.operators.matmul import OUTPUT_BYTES, Matmuls
from planner.core.operators.mixture import Mixtures
from planner.core.operators.recurrent import States
from planner.core.operators.shard import (
    cache_heads_on_rank,
    inputs_on_rank,
    outputs_on_rank,
    pieces_on_rank,
    require_divisible,
)
from planner.core.operators.table import OperatorTable
from planner.core.parallelism import Layout
from planner.core.precision import CacheFormat, WeightFormat, weight_format

HALF = "bf16"
NORM_FLOP = 5.0
"""RMSNorm: square, add, scale by the root, scale by the weight, cast [FLOP per element] (R3 table of the texts)."""
PASSES_PER_NORM = 2.0
"""A norm fused with the residual add still reads and writes the hidden stream once [1]."""
FP32_BYTES = 4.0
RECURRENT = frozenset({"linear", "ssm"})
"""Kinds whose states have curves of their own; buffers beside a cache move like linear attention's states."""
SIXTEEN_BIT = frozenset({Module.EMBEDDING, Module.HEAD, Module.ROUTER, Module.OTHER})
"""Modules every quantiser leaves in 16 bit."""


def scheme_for(model: Model, weights: str) -> WeightScheme:
    """The format of every module when the caller asks for ``weights``.

    Parameters
    ----------
    model : Model
        The architecture with what its checkpoint declares.
    weights : str
        A weight format, or ``auto`` for what the checkpoint declares.

    Returns
    -------
    WeightScheme
        Embedding, head, router and vectors stay 16 bit under quantisation; 4-bit float checkpoints of mixtures keep
        attention in 16 bit (NVIDIA's and OpenAI's published fp4 checkpoints), GGUF mixes cover every tensor.
    """
    if weights == "auto":
        return model.scheme
    fmt = weight_format(weights)
    if fmt.name.startswith("gguf:") or fmt.name in ("fp32", "fp16", "bf16"):
        return WeightScheme(default=fmt.name)
    overrides = dict.fromkeys(SIXTEEN_BIT, HALF)
    if fmt.name in ("mxfp4", "nvfp4") and any(layer.mixtures for _, layer in model.layers):
        overrides[Module.ATTENTION] = HALF
    return WeightScheme(default=fmt.name, overrides=overrides)


class _Lowering:
    """One pass over the layers, collecting rows."""

    def __init__(self, model: Model, layout: Layout, scheme: WeightScheme, cache: CacheFormat) -> None:
        self.model, self.layout, self.scheme, self.cache = model, layout, scheme, cache
        self.matmuls, self.mixtures, self.cores = Rows(), Rows(), Rows()
        self.states, self.passes, self.collectives = Rows(), Rows(), Rows()
        self.kind_layers: dict[str, float] = {}
        self.expert_ratio = 1.0
        self.norm_bytes = 0.0
        stages = layout.pipeline
        total = model.layer_count
        if stages > total:
            raise InvalidLayout(f"pipeline_parallel={stages} exceeds the {total} layers.",
                                pointer="/deployment/pipeline_parallel", hint=f"Use at most {total}.")
        self.imbalance = ceil(total / stages) * stages / total

    def format_of(self, matrix: Matrix) -> WeightFormat:
        """The format a matrix is stored in."""
        name = self.scheme.of(matrix.module)
        if matrix.always_16bit and not name.startswith("gguf:") and name not in ("fp32", "fp16", HALF):
            name = HALF
        return weight_format(name)

    def layer(self, count: int, layer: Layer) -> None:
        """Add one kind of layer ``count`` times."""
        times = count * self.imbalance
        self.kernels(times, layer.matrices())
        for mixture in layer.mixtures:
            self.mixture(times, mixture)
        if layer.mixer is not None:
            self.mixer(times, layer)
        self.reductions(times, layer)
        if layer.norms:
            elements = float(layer.norms * self.model.hidden)
            moved = PASSES_PER_NORM * elements * ACTIVATION_BYTES
            self.norm_bytes += times * moved
            self.passes.add(times, name="norms", bytes_per_token=moved, flop_per_token=NORM_FLOP * elements)

    def kernels(self, times: float, matrices: tuple[Matrix, ...], *, head: bool = False) -> None:
        """GEMM rows; matrices of one kernel with the same input run as one."""
        tp = self.layout.tensor
        fused: dict[tuple[str, float, str], list[float]] = {}
        for index, matrix in enumerate(matrices):
            fmt = self.format_of(matrix)
            k, n = inputs_on_rank(matrix, tp), outputs_on_rank(matrix, tp)
            entry = fused.setdefault((matrix.kernel or f"{matrix.name}#{index}", k, fmt.name), [0.0, 0.0])
            entry[0] += n
            entry[1] += k * n * fmt.bytes_per_element + matrix.biases / max(matrix.outputs, 1) * n * OUTPUT_BYTES
        for (kernel, k, name), (n, weight_bytes) in fused.items():
            fmt = weight_format(name)
            self.matmuls.add(times, name=kernel.split("#")[0], inputs=k, outputs=n, weight_bytes=weight_bytes,
                             activation_bytes=fmt.activation_bytes, output_bytes=OUTPUT_BYTES, is_head=float(head),
                             format=name)

    def mixture(self, times: float, mixture: MixtureOfExperts) -> None:
        """A routed-expert row."""
        group = self.layout.tensor * self.layout.data
        if mixture.experts % self.layout.expert:
            raise InvalidLayout(f"expert_parallel={self.layout.expert} does not divide the {mixture.experts} experts.",
                                pointer="/deployment/expert_parallel")
        cut = group // self.layout.expert
        matrices = mixture.expert.matrices()
        fmt = weight_format(self.scheme.of(Module.EXPERTS))
        inner = float(pieces_on_rank(mixture.expert.intermediate, cut))
        width = matrices[0].inputs
        biases = sum(m.biases for m in matrices) / cut
        self.expert_ratio = mixture.experts / mixture.experts_per_token
        self.mixtures.add(times, name="experts", experts=float(mixture.experts),
                          experts_per_token=float(mixture.experts_per_token), groups=float(self.layout.expert),
                          hidden=float(width), intermediate=float(inner), matrices=float(len(matrices)),
                          expert_bytes=len(matrices) * width * inner * fmt.bytes_per_element + biases * OUTPUT_BYTES,
                          activation_bytes=fmt.activation_bytes, format=fmt.name)

    def mixer(self, times: float, layer: Layer) -> None:
        """Attention-core and recurrent rows."""
        mixer, tp = layer.mixer, self.layout.tensor
        if mixer is None:
            return
        cores = mixer.cores()
        require_divisible(cores, tp)
        if cores:
            kind = cores[0].kind
            self.kind_layers[kind] = self.kind_layers.get(kind, 0.0) + times
        if isinstance(mixer, Attention) and mixer.qk_norm_parameters:
            self.kind_layers["qk_norm"] = self.kind_layers.get("qk_norm", 0.0) + times
        for core in cores:
            heads = core.heads if core.kind == "index" else pieces_on_rank(core.heads, tp)
            if core.cache is not None:
                cached = core.cache
                entry = cache_heads_on_rank(cached, tp) * cached.entry_bytes(self.cache.bytes_per_element)
                span = min(core.attends or inf, cached.window or inf)
                self.cores.add(times, name=core.name, kind=core.kind, heads=float(heads),
                               decode_flop=core.decode_flop, prefill_flop=core.prefill_flop, span=span,
                               stride=cached.stride, entry_bytes=entry,
                               io_bytes=heads * core.io_elements * ACTIVATION_BYTES)
            if core.state is not None:
                share = pieces_on_rank(core.state.units, tp) / core.state.units
                size = core.state.fp32_elements * FP32_BYTES + core.state.model_elements * ACTIVATION_BYTES
                prompt_flop = core.token_flop if core.prefill_token_flop is None else core.prefill_token_flop
                self.states.add(times, name=core.name, kind=core.kind if core.kind in RECURRENT else "linear",
                                state_bytes=size * share * core.state.touched,
                                token_flop=core.token_flop * heads, prompt_flop=prompt_flop * heads,
                                io_bytes=heads * core.io_elements * ACTIVATION_BYTES)

    def reductions(self, times: float, layer: Layer) -> None:
        """Communication rows of one layer; a single rank keeps the row and sends nothing, so that layouts stack."""
        message = self.model.hidden * ACTIVATION_BYTES
        tp, dp = self.layout.tensor, self.layout.data
        common = {"message_bytes": message, "is_head": 0.0}
        routed = bool(layer.mixtures) and dp > 1
        halves = (layer.mixer is not None) + (bool(layer.feedforwards) and not routed)
        if halves:
            self.collectives.add(times * halves, name="all_reduce", kind="all_reduce", ranks=float(tp), group=1.0,
                                 **common)
        mixer = layer.mixer
        if isinstance(mixer, Attention) and mixer.qk_norm_parameters > 2 * mixer.head_dim:
            # a query-key norm over all heads sums the squares of every rank's share before it divides
            self.collectives.add(times, name="norm_all_reduce", kind="all_reduce", ranks=float(tp), group=1.0,
                                 message_bytes=2 * FP32_BYTES, is_head=0.0)
        if routed:
            self.collectives.add(times * 2, name="expert_exchange", kind="gather", ranks=float(tp * dp),
                                 group=float(dp), **common)

    def ends(self) -> None:
        """Embedding gather, final norm, head, and the communication around them."""
        model, tp = self.model, self.layout.tensor
        width = model.hidden if model.embedding_width is None else model.embedding_width
        table = weight_format(self.scheme.of(Module.EMBEDDING)).bytes_per_element
        self.passes.add(1.0, name="embedding", bytes_per_token=width * table, flop_per_token=0.0)
        head = Matrix(name="head", module=Module.HEAD, inputs=width, outputs=model.vocabulary, shard=Shard.COLUMN,
                      units=model.vocabulary, kernel="head", biases=model.head_biases)
        self.kernels(1.0, model.extra_matrices)
        self.kernels(1.0, (head,), head=True)
        self.collectives.add(1.0, name="all_reduce", kind="all_reduce", ranks=float(tp), group=1.0,
                             message_bytes=model.hidden * ACTIVATION_BYTES, is_head=0.0)
        self.collectives.add(1.0, name="logits", kind="gather", ranks=float(tp), group=1.0,
                             message_bytes=model.vocabulary * OUTPUT_BYTES, is_head=1.0)
        if self.layout.pipeline > 1:
            self.collectives.add(self.layout.pipeline - 1.0, name="stage_send", kind="send",
                                 ranks=float(self.layout.pipeline), group=1.0,
                                 message_bytes=model.hidden * ACTIVATION_BYTES, is_head=0.0)


def lower(model: Model, *, layout: Layout, scheme: WeightScheme, cache: CacheFormat) -> OperatorTable:
    """The operator table of one rank.

    Parameters
    ----------
    model : Model
        The architecture.
    layout : Layout
        The parallel layout of one replica.
    scheme : WeightScheme
        Weight format of every module.
    cache : CacheFormat
        KV-cache format.

    Returns
    -------
    OperatorTable
        Rows with arrays of shape (op,).

    Raises
    ------
    InvalidLayout
        The layout cuts a head, an expert or a layer.
    """
    low = _Lowering(model, layout, scheme, cache)
    counts: Counter[Layer] = Counter()
    for count, layer in model.layers:
        counts[layer] += count
    for layer, count in counts.items():
        low.layer(count, layer)
    low.ends()
    return OperatorTable(
        matmuls=low.matmuls.build(Matmuls), mixtures=low.mixtures.build(Mixtures), cores=low.cores.build(Cores),
        states=low.states.build(States), passes=low.passes.build(Passes),
        collectives=low.collectives.build(Collectives), layers=model.layer_count * low.imbalance, layout=layout,
        block_format=scheme.of(Module.EXPERTS if low.mixtures.rows else Module.MLP), cache_format=cache.name,
        hidden=float(model.hidden),
        vocabulary_on_rank=np.asarray(float(ceil(model.vocabulary / layout.tensor))), expert_ratio=low.expert_ratio,
        kind_layers=low.kind_layers,
        norm_bytes_per_token=low.norm_bytes)
