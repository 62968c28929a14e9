"""A table bound to a chip: every operator row with the ceilings it meets and, when calibrated, its efficiency curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from planner.core.execution.terms import Terms, terms_of
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.attention import DecodeCurve, PromptCurve, above_roofline, at_heads
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.knee import stack as stack_curves
from planner.core.hardware.efficiency.linear import RecurrentCurve
from planner.core.hardware.efficiency.moe import MoeCurve
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.operators.attention import Cores
from planner.core.operators.table import OperatorTable, side_by_side
from planner.core.operators.table import stack as stack_tables
from planner.core.operators.table import take as take_columns
from planner.core.precision import Compute, compute_pipe, weight_format
from planner.core.quantities.arrays import Array

Curve = TypeVar("Curve")
_ARRAYS = ("bandwidth", "matmul_peak", "mixture_peak", "half_peak", "link_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Efficiency curves by row, and the profile whose overheads complete a step."""

    gemm: GemmCurve | None
    moe: MoeCurve | None
    decode: DecodeCurve | None
    prompt: PromptCurve | None
    recurrent: RecurrentCurve | None
    profile: EfficiencyProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTable:
    """Operators under ceilings; arrays have shape (op,) or (op, variant), scalars () or (variant,)."""

    table: OperatorTable
    chip: Chip
    bandwidth: Array
    """β of memory [byte/s]."""
    matmul_peak: Array
    """π of each GEMM row's pipe [FLOP/s]."""
    mixture_peak: Array
    """π of each expert row's pipe [FLOP/s]."""
    half_peak: Array
    """π of 16-bit arithmetic, for attention and everything element-wise [FLOP/s]."""
    link_rate: Array
    """One-way rate of the link each collective crosses [byte/s]."""
    pipes: tuple[str, ...]
    """Pipe of each GEMM row."""
    block_compute: Compute
    """What the block weights' format runs on."""
    curves: Curves | None = None
    """None under datasheet ceilings."""
    terms: Terms = field(init=False)
    """What of the rows' times no load changes."""

    def __post_init__(self) -> None:
        """Work out what no load changes."""
        object.__setattr__(self, "terms", terms_of(self))


def bind(table: OperatorTable, chip: Chip, profile: EfficiencyProfile | None = None) -> BoundTable:
    """A table under a chip's datasheet ceilings, or under them and a profile's efficiency curves.

    Parameters
    ----------
    table : OperatorTable
        What one rank executes.
    chip : Chip
        The SKU.
    profile : EfficiencyProfile or None
        Measured efficiencies; None means datasheet ceilings.

    Returns
    -------
    BoundTable
        Rows with ceilings.

    Raises
    ------
    MissingFact
        The chip lacks a peak or a link the table needs.
    """
    matmul = [compute_pipe(weight_format(f), chip.peaks, chip.name) for f in table.matmuls.formats]
    mixture = [compute_pipe(weight_format(f), chip.peaks, chip.name) for f in table.mixtures.formats]
    half = compute_pipe(weight_format("bf16"), chip.peaks, chip.name).peak
    return BoundTable(
        table=table, chip=chip, bandwidth=np.asarray(chip.bandwidth), pipes=tuple(c.pipe for c in matmul),
        matmul_peak=np.array([c.peak for c in matmul]), mixture_peak=np.array([c.peak for c in mixture]),
        half_peak=np.asarray(half), link_rate=np.array([np.inf if p <= 1 else chip.link(int(p)).bytes_per_s
                                                        for p in table.collectives.ranks], dtype=np.float64),
        block_compute=compute_pipe(weight_format(table.block_format), chip.peaks, chip.name),
        curves=None if profile is None else _curves(table, profile, matmul, mixture, half, chip.bandwidth))


def _curves(table: OperatorTable, profile: EfficiencyProfile, matmul: list[Compute], mixture: list[Compute],
            half: float, bandwidth: float) -> Curves:
    cache = table.cache_format
    return Curves(
        gemm=_stacked([_gemm(profile, f, c) for f, c in zip(table.matmuls.formats, matmul, strict=True)]),
        moe=_stacked([profile.moe_curve(f, weight_only=c.weight_only)
                      for f, c in zip(table.mixtures.formats, mixture, strict=True)]),
        decode=_stacked([_core(profile.decode_curve(kind, cache), table.cores, row, half, bandwidth)
                         for row, kind in enumerate(table.cores.kinds)]),
        prompt=_stacked([profile.prompt_curve(k, cache) for k in table.cores.kinds]),
        recurrent=_stacked([profile.recurrent_curve(k) for k in table.states.kinds]), profile=profile)


def _core(curve: DecodeCurve, cores: Cores, row: int, half: float, bandwidth: float) -> DecodeCurve:
    """A decode kernel for the heads of a row, never faster than its roofline."""
    heads = float(cores.heads[row])
    return above_roofline(at_heads(curve, heads), work_time=heads * float(cores.decode_flop[row]) / half,
                          cache_time=float(cores.entry_bytes[row]) / bandwidth)


def _gemm(profile: EfficiencyProfile, fmt: str, compute: Compute) -> GemmCurve:
    """A format's curve with the factor that end-to-end runs put on its compute share."""
    curve = profile.gemm_curve(fmt, weight_only=compute.weight_only)
    return replace(curve, compute=curve.compute * profile.overhead.prefill_compute.get(fmt, 1.0))


def _stacked(curves: list[Curve]) -> Curve | None:
    return stack_curves(curves, 0) if curves else None


def stack_bound(bounds: Sequence[BoundTable]) -> BoundTable:
    """One bound table whose arrays carry a trailing variant axis.

    Parameters
    ----------
    bounds : sequence of BoundTable
        Variants of one model with the same rows, all calibrated or all ideal.

    Returns
    -------
    BoundTable
        Arrays of shape (op, variant), scalars of shape (variant,); profile overheads are those of the first.
    """
    first = bounds[0]
    curves = first.curves
    if curves is not None:
        parts = {f.name: _join([getattr(b.curves, f.name) for b in bounds])
                 for f in fields(curves) if f.name != "profile"}
        curves = replace(curves, **parts)
    arrays: dict[str, Any] = {name: side_by_side([getattr(b, name) for b in bounds]) for name in _ARRAYS}
    return replace(first, table=stack_tables([b.table for b in bounds]), curves=curves, **arrays)


def take(bound: BoundTable, kept: slice) -> BoundTable:
    """Some variants of a stacked table.

    Parameters
    ----------
    bound : BoundTable
        From :func:`stack_bound`.
    kept : slice
        Places of the variants on the last axis.

    Returns
    -------
    BoundTable
        Views of the same numbers.
    """
    curves = bound.curves
    if curves is not None:
        parts: dict[str, Any] = {f.name: _take_curve(getattr(curves, f.name), kept)
                                 for f in fields(curves) if f.name != "profile"}
        curves = replace(curves, **parts)
    arrays: dict[str, Any] = {name: getattr(bound, name)[..., kept] for name in _ARRAYS}
    return replace(bound, table=take_columns(bound.table, kept), curves=curves, **arrays)


def _take_curve(curve: Any, kept: slice) -> Any:  # noqa: ANN401 - one of five curve classes, or None
    if curve is None:
        return None
    return type(curve)(**{f.name: getattr(curve, f.name)[..., kept] for f in fields(curve)})


def _join(curves: list[Any]) -> Any:  # noqa: ANN401 - one of five curve classes, or None
    if curves[0] is None:
        return None
    kind = type(curves[0])
    return kind(**{f.name: side_by_side([getattr(c, f.name) for c in curves]) for f in fields(kind)})


def widen(curve: Curve, like: Array) -> Curve:
    """A stacked curve whose parameters broadcast against a grid.

    Parameters
    ----------
    curve : curve dataclass
        Parameters of shape (op,) or (op, variant).
    like : ndarray
        The grid, shape (*grid) or (variant, *grid).

    Returns
    -------
    curve dataclass
        Parameters of shape (op, 1, …).
    """
    kind: Any = type(curve)
    extra = like.ndim + 1
    if getattr(curve, next(iter(kind.__dataclass_fields__))).ndim == extra:
        return curve
    return kind(**{name: (value := getattr(curve, name)).reshape(value.shape + (1,) * (extra - value.ndim))  # type: ignore[no-any-return]
                   for name in kind.__dataclass_fields__})
