r"""Batches at which something changes: GEMMs become compute-bound, the cache outweighs the weights.

.. math:: B^* = \frac{\pi s_w}{2\beta}, \qquad B_{cross}:\; B\,KV = Q_w(B)

References
----------
Pope et al., Efficiently Scaling Transformer Inference, arXiv 2211.05102, §3; Austin et al., How to Scale Your Model,
2025, chapter on inference (critical batch, KV share).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1, log1p

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.moe import MoeCurve
from planner.core.operators.flow import Flow
from planner.core.precision import weight_format
from planner.core.quantities.arrays import Array

_LARGEST_BATCH = 1e9  # [1] a crossing beyond it is none
_STEPS = 60  # [1] Newton needs about six
_CLOSE = 1e-14  # [1] relative step at which a root is found


def batch_critical(bound: BoundTable) -> float:
    """B* of the block weights at datasheet ceilings.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.

    Returns
    -------
    float
        π·s_w/(2β), times E/k for mixtures [1].
    """
    size = weight_format(bound.table.block_format).bytes_per_element
    return bound.block_compute.peak * size / (2.0 * bound.chip.bandwidth) * bound.table.expert_ratio


def batch_critical_effective(bound: BoundTable) -> float:
    """B* with the ceilings the block's largest product really reaches.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, calibrated.

    Returns
    -------
    float
        :func:`batch_critical` × (μ/η) of the curve [1]; equal to it under datasheet ceilings.
    """
    plain = batch_critical(bound)
    if bound.curves is None:
        return plain
    fmt = bound.table.block_format
    weight_only = bound.block_compute.weight_only
    profile = bound.curves.profile
    curve: MoeCurve | GemmCurve = profile.gemm_curve(fmt, weight_only=weight_only)
    if bound.table.mixtures.names:
        curve = profile.moe_curve(fmt, weight_only=weight_only)
    return float(plain * np.asarray(curve.compute) / np.asarray(curve.memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Experts:
    """Routed experts of one kind of layer, in plain numbers."""

    bytes_each: float
    experts: float
    per_token: float
    miss: float
    """ln(1 - k/E)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightTraffic:
    """Weight bytes a decode step reads on one GPU as a function of the sequences on the rank; concave."""

    dense: float
    """Read whatever the batch [byte]."""
    mixtures: tuple[_Experts, ...]
    group: float
    """Tokens the experts see per sequence on the rank [1]."""

    def at(self, batch: float) -> float:
        """Bytes at a batch, as :func:`planner.core.operators.mixture.distinct_experts` counts experts.

        Parameters
        ----------
        batch : float
            Sequences on the rank [1].

        Returns
        -------
        float
            [byte].
        """
        return self._read(batch)[0]

    @property
    def largest(self) -> float:
        """Bytes when every expert is read [byte]."""
        return self.dense + sum(m.bytes_each * m.experts for m in self.mixtures)

    def meets(self, bytes_per_sequence: float) -> float | None:
        """Least batch whose own bytes equal the weights read, b·x = Q_w(b).

        Parameters
        ----------
        bytes_per_sequence : float
            x, above zero [byte].

        Returns
        -------
        float or None
            Sequences on the rank [1]; None beyond any batch.

        Notes
        -----
        Q_w is concave, so the difference is convex and crosses zero upwards once: Newton's steps from the batch that
        outweighs all weights come down to it without ever passing it.
        """
        if bytes_per_sequence <= 0:
            return None
        batch = self.largest / bytes_per_sequence
        if batch > _LARGEST_BATCH:
            return None
        if not self.mixtures:
            return batch
        for _ in range(_STEPS):
            read, slope = self._read(batch)
            if slope >= bytes_per_sequence:
                break
            step = (batch * bytes_per_sequence - read) / (bytes_per_sequence - slope)
            batch -= step
            if step <= _CLOSE * batch:
                break
        return batch

    def _read(self, batch: float) -> tuple[float, float]:
        """Bytes at a batch, and bytes per further sequence."""
        total, slope, tokens = self.dense, 0.0, batch * self.group
        for m in self.mixtures:
            chosen = -m.experts * expm1(m.miss * tokens)
            if chosen < m.per_token * tokens:
                total += m.bytes_each * chosen
                slope += m.bytes_each * self.group * m.miss * (chosen - m.experts)
            else:
                total += m.bytes_each * m.per_token * tokens
                slope += m.bytes_each * m.per_token * self.group
        return total, slope


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """Attention cores that read alike, in plain numbers per sequence and attended entry."""

    stride: float
    span: float
    cache_bytes: float
    """Over all layers [byte]."""
    spare_bytes: float
    """β·W/π less the bytes moved [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crossings:
    """Where the batch changes what limits a step of one configuration, in plain numbers made once."""

    weights: WeightTraffic
    spans: tuple[_Span, ...]
    state_bytes: float
    """Recurrent state read per sequence [byte]."""
    spare: float
    """β·ΣW/π less the traffic that grows with the batch, caches aside, per sequence on the rank [byte]."""
    groups: float
    """Ranks the replica's sequences spread over [1]."""

    def crossover(self, context: float) -> float | None:
        """Least real batch whose cache traffic equals the weights its step reads.

        Parameters
        ----------
        context : float
            Mean context [token].

        Returns
        -------
        float or None
            In sequences of the replica [1]; None where there is no cache.
        """
        read = self.state_bytes + sum(s.cache_bytes * min(context / s.stride, s.span) for s in self.spans)
        local = self.weights.meets(read)
        return None if local is None else local * self.groups

    def critical_step(self, context: float) -> float | None:
        """Least batch at which the whole step's arithmetic outlasts its traffic, ΣW/π ≥ ΣQ/β.

        Parameters
        ----------
        context : float
            Mean context [token].

        Returns
        -------
        float or None
            In sequences of the replica [1]; None when no batch reaches it. The embedding gather is left out.

        Notes
        -----
        Work and every traffic but the weights are linear in the batch, so this is where the arithmetic's spare bytes
        per sequence have paid for the weights.
        """
        spare = self.spare
        for s in self.spans:
            spare += s.spare_bytes * min(context / s.stride, s.span) - s.cache_bytes / s.stride
        local = self.weights.meets(spare)
        return None if local is None else local * self.groups


def crossings(bound: BoundTable) -> Crossings:
    """The crossings of a table under its ceilings.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.

    Returns
    -------
    Crossings
        At datasheet ceilings.
    """
    table, one, beta = bound.table, np.asarray(1.0), float(bound.bandwidth)
    kept = np.array([name != "embedding" for name in table.passes.names], dtype=np.float64)
    groups: list[tuple[Array, Flow, Array]] = [
        (table.matmuls.count, table.matmuls.flow(table.matmuls.tokens(one, one)), bound.matmul_peak),
        (table.states.count, table.states.decode(one), bound.half_peak),
        (table.passes.count * kept, table.passes.flow(one), bound.half_peak)]
    if table.mixtures.names:
        tokens = table.expert_group_tokens(one)
        groups.append((table.mixtures.count, table.mixtures.flow(tokens), bound.mixture_peak))
    spare = sum(float(np.dot(count, beta * flow.work / peak - flow.cache - flow.activations))
                for count, flow, peak in groups)
    cores, half = table.cores, float(bound.half_peak)
    spare -= float(np.dot(cores.count, cores.io_bytes))
    rows = zip(cores.stride.tolist(), cores.span.tolist(), (cores.count * cores.entry_bytes).tolist(),
               (cores.count * cores.heads * cores.decode_flop).tolist(), strict=True)
    return Crossings(
        weights=weight_traffic(bound), state_bytes=float(np.dot(table.states.count, table.states.state_bytes)),
        spare=spare, groups=float(table.layout.data * table.layout.pipeline),
        spans=tuple(_Span(stride=stride, span=span, cache_bytes=moved, spare_bytes=beta * flop / half - moved)
                    for stride, span, moved, flop in rows))


def weight_traffic(bound: BoundTable) -> WeightTraffic:
    """Weight bytes of a decode step on one GPU, by batch.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.

    Returns
    -------
    WeightTraffic
        The embedding gather is no weight read.
    """
    table, mixtures = bound.table, bound.table.mixtures
    rows = zip((mixtures.count * mixtures.expert_bytes / mixtures.groups).tolist(), mixtures.experts.tolist(),
               mixtures.experts_per_token.tolist(), strict=True)
    return WeightTraffic(
        dense=float(np.dot(table.matmuls.count, table.matmuls.weight_bytes)), group=float(table.layout.data),
        mixtures=tuple(_Experts(bytes_each=b, experts=e, per_token=k, miss=log1p(-min(k / e, 1 - 1e-12)))
                       for b, e, k in rows))
