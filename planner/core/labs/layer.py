"""The layer budget: every operator of one transformer layer, in prefill, a training step or decode.

The rows are the planner's own operator table of a one-layer model, with the element-wise passes that engines fuse away
spelled out beside them. Times are sums of per-operator bounds; real kernels land 1.3 to 2 times above them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.core.errors import InvalidQuantity, MissingFact, UnsupportedFormat
from planner.core.execution.bound import BoundTable
from planner.core.execution.roofline import time_overlapped
from planner.core.execution.times import decode_core_time, matmul_time, pass_time, prompt_core_time
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.labs.attention import AttentionShape, naive_cost
from planner.core.labs.inputs import ElementType, whole
from planner.core.labs.layer_table import HEAD_DIM, bound_layer
from planner.core.operators.attention import ACTIVATION_BYTES
from planner.core.operators.flow import Flow
from planner.core.precision import CACHE_FORMATS, WEIGHT_FORMATS
from planner.core.quantities.arrays import Array

REGIMES = ("prefill", "training", "decode")
TRAINING_WORK, TRAINING_TRAFFIC = 3.0, 2.0
"""Forward and backward over forward alone, first order: two products per forward product, and activations and weights
read again [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerShape:
    """One gated-MLP, grouped-query layer and what passes through it."""

    d_model: int
    seq: int
    """Prompt length, or context in decode [token]."""
    batch: int
    """Sequences [1]."""
    kv_heads: int

    def __post_init__(self) -> None:
        """Refuse shapes that are no layer."""
        whole(d_model=self.d_model, seq=self.seq, batch=self.batch, kv_heads=self.kv_heads)
        if self.d_model % HEAD_DIM:
            raise InvalidQuantity(f"d_model must be a multiple of the head width {HEAD_DIM}, got {self.d_model}.",
                                  pointer="/d_model")
        if self.heads % self.kv_heads:
            raise InvalidQuantity(f"kv_heads must divide the {self.heads} heads of d_model={self.d_model}, got "
                                  f"{self.kv_heads}.", pointer="/kv_heads")

    @property
    def heads(self) -> int:
        """Query heads [1]."""
        return self.d_model // HEAD_DIM


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """One operator of the layer, all its executions."""

    name: str
    count: float
    work: float
    traffic: float
    time: float
    bound: str
    """memory | compute."""

    @property
    def intensity(self) -> float:
        """W/Q [FLOP/byte]."""
        return self.work / self.traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBudget:
    """Where a layer's time goes."""

    regime: str
    rows: tuple[LayerRow, ...]
    peak: float
    """π of the weights' pipe, which MFU is measured against [FLOP/s]."""
    calibrated: bool

    @property
    def work(self) -> float:
        """W [FLOP]."""
        return sum(row.work for row in self.rows)

    @property
    def traffic(self) -> float:
        """Q [byte]."""
        return sum(row.traffic for row in self.rows)

    @property
    def time(self) -> float:
        """Σ of the rows' times, back to back [s]."""
        return sum(row.time for row in self.rows)

    @property
    def model_flop_utilisation(self) -> float:
        """W/(π·T) [1]."""
        return self.work / (self.peak * self.time)

    @property
    def memory_bound_share(self) -> float:
        """Share of the time in memory-bound rows [1]."""
        return sum(row.time for row in self.rows if row.bound == "memory") / self.time


def layer_budget(chip: Chip, dtype: ElementType, shape: LayerShape, regime: str, *, flash: bool = True,
                 kv_cache: str | None = None, profile: EfficiencyProfile | None = None) -> LayerBudget:
    """Every operator of one layer with its work, traffic, bound and time.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        Of the weights and their products; activations between kernels are 16 bit.
    shape : LayerShape
        Width, heads, length and sequences.
    regime : str
        prefill, training (forward work × 3, traffic × 2) or decode.
    flash : bool
        False writes scores to memory, as unfused attention does; decode has no N×N scores.
    kv_cache : str or None
        Cache format; None is 8 bit beside 8-bit weights, else 16 bit.
    profile : EfficiencyProfile or None
        Measured efficiencies for the calibrated view.

    Returns
    -------
    LayerBudget
        Rows in the operator table's order, then the passes that engines fuse away.

    Raises
    ------
    InvalidQuantity
        The regime is unknown.
    UnsupportedFormat
        The dtype is no weight format.
    MissingFact
        A calibrated training step: no profile measures backward passes.
    """
    if regime not in REGIMES:
        raise InvalidQuantity(f"regime must be prefill, training or decode, got {regime!r}.", pointer="/regime")
    if dtype.name not in WEIGHT_FORMATS:
        known = ", ".join(WEIGHT_FORMATS)
        raise UnsupportedFormat(f"dtype {dtype.name!r} is no weight format.", hint=f"Use one of {known}.",
                                pointer="/dtype")
    if profile is not None and regime == "training":
        raise MissingFact("No calibration measures a training step.", fact="calibration.training",
                          hint="Leave calibration out, or ask for prefill or decode.", pointer="/calibration")
    cache = kv_cache or (dtype.name if dtype.name in CACHE_FORMATS and dtype.bytes <= 2 else "bf16")
    peak = chip.peak(dtype.pipe)
    bound = bound_layer(chip, profile, d_model=shape.d_model, kv_heads=shape.kv_heads, weights=dtype.name, cache=cache)
    rows = _decode(bound, shape) if regime == "decode" else _prompts(bound, shape, flash=flash)
    if regime == "training":
        rows = [_trained(row) for row in rows]
    return LayerBudget(regime=regime, rows=tuple(_row(row) for row in rows), peak=peak, calibrated=profile is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One row before its executions are counted."""

    name: str
    count: float
    work: float
    traffic: float
    time: float
    peak: float
    bandwidth: float


def _parts(bound: BoundTable, names: tuple[str, ...], count: Array, flow: Flow, time: Array, peak: Array
           ) -> list[_Part]:
    beta = float(bound.bandwidth)
    traffic = flow.traffic
    return [_Part(name=name, count=float(count[i]), work=float(flow.work[i, 0]), traffic=float(traffic[i, 0]),
                  time=float(time[i, 0]), peak=float(peak[i]), bandwidth=beta) for i, name in enumerate(names)]


def _streams(bound: BoundTable, tokens: Array) -> tuple[list[_Part], list[_Part]]:
    """GEMM and element-wise rows of ``tokens`` tokens."""
    table = bound.table
    half = np.broadcast_to(bound.half_peak, table.passes.count.shape)
    products, passes = table.matmuls.flow(table.matmuls.tokens(tokens, tokens)), table.passes.flow(tokens)
    m = table.matmuls.tokens(tokens, tokens)
    return (_parts(bound, table.matmuls.names, table.matmuls.count, products, matmul_time(bound, products, m),
                   bound.matmul_peak),
            _parts(bound, table.passes.names, table.passes.count, passes, pass_time(bound, tokens), half))


def _decode(bound: BoundTable, shape: LayerShape) -> list[_Part]:
    batch, context = np.array([float(shape.batch)]), np.array([float(shape.seq)])
    cores = bound.table.cores
    flow = cores.decode(batch, context)
    products, passes = _streams(bound, batch)
    core = _parts(bound, cores.names, cores.count, flow, decode_core_time(bound, flow, batch, context),
                  np.broadcast_to(bound.half_peak, cores.count.shape))
    return [*products, *core, *passes]


def _prompts(bound: BoundTable, shape: LayerShape, *, flash: bool) -> list[_Part]:
    T, B = np.array([float(shape.seq)]), float(shape.batch)
    products, passes = _streams(bound, T * B)
    cores = bound.table.cores
    one = cores.prefill(T, np.zeros_like(T))
    flow = Flow(work=one.work * B, weights=one.weights * B, cache=one.cache * B, activations=one.activations * B)
    time = prompt_core_time(bound, flow)
    core = _parts(bound, cores.names, cores.count, flow, time, np.broadcast_to(bound.half_peak, cores.count.shape))
    return [*products, *(core if flash else [_unfused(core[0], shape)]), *passes]


def _unfused(core: _Part, shape: LayerShape) -> _Part:
    """The attention row when scores go through memory: all N×N pairs, computed and moved."""
    cost = naive_cost(AttentionShape(seq=shape.seq, heads=shape.heads, kv_heads=shape.kv_heads, head_dim=HEAD_DIM,
                                     batch=shape.batch), ACTIVATION_BYTES)
    time = float(time_overlapped(cost.work, cost.traffic, core.peak, core.bandwidth))
    return replace(core, work=cost.work, traffic=cost.traffic, time=time)


def _trained(row: _Part) -> _Part:
    W, Q = TRAINING_WORK * row.work, TRAINING_TRAFFIC * row.traffic
    return replace(row, work=W, traffic=Q, time=float(time_overlapped(W, Q, row.peak, row.bandwidth)))


def _row(part: _Part) -> LayerRow:
    bound = "compute" if part.work / part.peak >= part.traffic / part.bandwidth else "memory"
    return LayerRow(name=part.name, count=part.count, work=part.count * part.work, traffic=part.count * part.traffic,
                    time=part.count * part.time, bound=bound)
