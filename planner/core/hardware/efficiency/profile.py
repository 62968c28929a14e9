"""Everything measured about one chip under one engine: the efficiency curves and overheads execution times with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from planner.core.errors import MissingFact
from planner.core.hardware.efficiency.all_to_all import AllToAllCurve
from planner.core.hardware.efficiency.attention import DecodeCurve, PromptCurve
from planner.core.hardware.efficiency.collective import AllReduceCurve, GatherCurve
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.linear import RecurrentCurve
from planner.core.hardware.efficiency.moe import MoeCurve
from planner.core.hardware.efficiency.overhead import ServedRuns, ServingTerms, Spread, StepOverhead
from planner.core.hardware.efficiency.pointwise import PointwiseCurve

Found = TypeVar("Found")

# Formats that run another format's kernels where they have no curve of their own, nearest first: same bytes per weight
# and the same pipe before anything else.
_NEAREST: Mapping[str, tuple[str, ...]] = {
    "fp16": ("bf16",), "fp32": ("bf16",), "fp8": ("fp8_block", "bf16"), "fp8_block": ("fp8", "bf16"),
    "int8": ("fp8", "bf16"), "w8a16": ("w4a16", "bf16"), "w4a16": ("bf16",), "mxfp4": ("nvfp4", "w4a16", "bf16"),
    "nvfp4": ("mxfp4", "fp8", "bf16"), "mxfp4_w4a16": ("w4a16", "bf16"),
    "gguf": ("w4a16", "bf16"), "bf16": ("fp16",),
}
# Weight-only kernels widen to 16 bit before the multiply; 4-bit block formats share the 4-bit weight-only kernel.
_WEIGHT_ONLY: Mapping[str, str] = {"nvfp4": "w4a16", "mxfp4": "mxfp4_w4a16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EfficiencyProfile:
    """Curves by operator class and format, overheads, queueing terms and spreads, with where each came from."""

    id: str
    sku: str
    engine: str
    gemm: Mapping[str, GemmCurve]
    """By weight format: bf16, fp8, fp8_block, nvfp4, mxfp4, w4a16, …"""
    moe: Mapping[str, MoeCurve]
    """By weight format of the experts."""
    decode: Mapping[str, DecodeCurve]
    """By kind (gqa, mla, sparse, index), optionally ``kind:cache format``."""
    prompt: Mapping[str, PromptCurve]
    """By kind, as for decode."""
    recurrent: Mapping[str, RecurrentCurve]
    """By kind: linear, ssm."""
    all_reduce: AllReduceCurve
    gather: GatherCurve
    all_to_all: Mapping[str, AllToAllCurve]
    """dispatch_low_latency, combine_low_latency, dispatch_high_throughput, combine_high_throughput."""
    pointwise: PointwiseCurve
    overhead: StepOverhead
    serving: ServingTerms
    spread: Mapping[str, Spread]
    """By quantity and kind of model: tpot_dense, tpot_moe, ttft."""
    measured_on: str
    """Date of the newest measurement in it, ISO 8601."""
    source: str
    extra_reserve: float = 0.0
    """Memory the engine keeps beyond the predicted reserve, learned from a start-up log; may be negative [byte]."""
    architecture: str = ""
    """Family of the chip, as in :class:`~planner.core.hardware.chip.Chip`."""
    served: ServedRuns = field(default_factory=ServedRuns)
    """Runs of this chip under this engine among those the overheads were fitted to."""
    inherited: Mapping[str, str] = field(default_factory=dict)
    """Table → the level it came from where that is not this SKU and engine."""

    def gemm_curve(self, fmt: str, *, weight_only: bool = False) -> GemmCurve:
        """The curve of a weight format's GEMMs, or of the nearest format that has one.

        Parameters
        ----------
        fmt : str
            Weight format name; ``gguf:<type>`` counts as gguf.
        weight_only : bool
            The chip lacks the format's unit and widens weights to 16 bit.

        Returns
        -------
        GemmCurve
            Fitted parameters.
        """
        return _nearest(self.gemm, fmt, weight_only=weight_only, table="gemm")

    def moe_curve(self, fmt: str, *, weight_only: bool = False, spread: bool = False) -> MoeCurve:
        """The curve of a weight format's grouped expert kernels, or of the nearest format that has one.

        Parameters
        ----------
        fmt : str
            Weight format of the experts.
        weight_only : bool
            The chip lacks the format's unit and widens weights to 16 bit.
        spread : bool
            Experts are spread over ranks; engines may pick another kernel then (``format:ep``).

        Returns
        -------
        MoeCurve
            Fitted parameters.
        """
        if spread and f"{fmt}:ep" in self.moe:
            return self.moe[f"{fmt}:ep"]
        return _nearest(self.moe, fmt, weight_only=weight_only, table="moe")

    def decode_curve(self, kind: str, cache: str = "bf16") -> DecodeCurve:
        """The curve of a decode-attention kind under a cache format.

        Parameters
        ----------
        kind : str
            gqa | mla | sparse | index.
        cache : str
            Cache format name; 8-bit formats share a curve.

        Returns
        -------
        DecodeCurve
            Fitted parameters.
        """
        return _of_kind(self.decode, kind, cache, table="decode")

    def prompt_curve(self, kind: str, cache: str = "bf16") -> PromptCurve:
        """The curve of a prompt-attention kind under a cache format.

        Parameters
        ----------
        kind : str
            gqa | mla | sparse | index.
        cache : str
            Cache format name; 8-bit formats share a curve.

        Returns
        -------
        PromptCurve
            Fitted parameters.
        """
        return _of_kind(self.prompt, kind, cache, table="prompt")

    def recurrent_curve(self, kind: str) -> RecurrentCurve:
        """The curve of a recurrent mixer.

        Parameters
        ----------
        kind : str
            linear | ssm.

        Returns
        -------
        RecurrentCurve
            Fitted parameters.

        Raises
        ------
        MissingFact
            The profile knows no such mixer.
        """
        if kind not in self.recurrent:
            raise MissingFact(f"Profile {self.id} has no efficiency curve for {kind} mixers.",
                              fact=f"profile.recurrent.{kind}")
        return self.recurrent[kind]


def _nearest(rows: Mapping[str, Found], fmt: str, *, weight_only: bool, table: str) -> Found:
    key = "gguf" if fmt.startswith("gguf:") else fmt
    if weight_only and key in _WEIGHT_ONLY:
        key = _WEIGHT_ONLY[key]
    for name in (key, *_NEAREST.get(key, ("bf16",))):
        if name in rows:
            return rows[name]
    raise MissingFact(f"The efficiency profile has no {table} curve for {fmt} weights.", fact=f"profile.{table}.{fmt}")


def _of_kind(rows: Mapping[str, Found], kind: str, cache: str, *, table: str) -> Found:
    wide = "fp8" if cache in {"fp8", "int8", "nvfp4"} else "bf16"
    for key in (f"{kind}:{wide}", kind):
        if key in rows:
            return rows[key]
    raise MissingFact(f"The efficiency profile has no {table} curve for {kind} attention.",
                      fact=f"profile.{table}.{kind}")
