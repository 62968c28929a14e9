"""The curve forms a calibration fits, one per operator class, all evaluated by the efficiency curves of the chip model.

Ceilings enter as the bandwidth and peak measured on the device itself, so every share is of what the device reaches and
a device without a datasheet can be calibrated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from planner.core.errors import MissingFact
from planner.core.fitting.kernel_points import Columns
from planner.core.hardware.efficiency.attention import (
    DecodeCurve,
    PromptCurve,
    decode_attention_time,
    prompt_attention_time,
)
from planner.core.hardware.efficiency.gemm import GemmCurve, gemm_time
from planner.core.hardware.efficiency.pointwise import PointwiseCurve, pointwise_time
from planner.core.quantities.arrays import Array

SHARE_TOP = 1.0
"""No share of a measured ceiling exceeds one: rows that would are gated before the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What the device was measured to reach."""

    bandwidth: float
    """β, best streaming rate [byte/s]."""
    peak: float
    """π, best multiply-add rate of the dtype [FLOP/s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One fitted parameter with the range a kernel can have."""

    name: str
    low: float
    high: float
    start: float


Evaluate: TypeAlias = "Callable[[Mapping[str, Array], Columns, Ceilings], Array]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A curve with named parameters."""

    name: str
    parameters: tuple[Parameter, ...]
    evaluate: Evaluate
    ramps: bool = False
    """The compute share may change with the number of tokens."""


_LAUNCH = Parameter(name="launch_s", low=1e-8, high=2e-2, start=5e-6)
_SERIAL = Parameter(name="serial_s", low=1e-10, high=1e-3, start=1e-7)
_MEMORY = Parameter(name="memory", low=1e-3, high=SHARE_TOP, start=0.8)
_CACHE = Parameter(name="cache_bytes", low=1e4, high=1e12, start=2e6)
_SPILL = Parameter(name="spill", low=1e-3, high=1e6, start=1.0)
"""Extra time of bytes beyond the cache, as a rate over the ceiling: large where there is no such extra."""
_COMPUTE = Parameter(name="compute", low=1e-4, high=SHARE_TOP, start=0.6)


def _gemm(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    curve = GemmCurve(launch=p["launch_s"], serial=p["serial_s"], memory=p["memory"], compute=p["compute"])
    return gemm_time(curve, work=x.work, traffic=x.traffic, tokens=x.tokens, inputs=x.inputs, peak=ceilings.peak,
                     bandwidth=ceilings.bandwidth)


def _gemv(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    curve = GemmCurve(launch=p["launch_s"], serial=p["serial_s"], memory=p["memory"], compute=SHARE_TOP)
    return gemm_time(curve, work=0.0, traffic=x.traffic, tokens=x.tokens, inputs=x.inputs, peak=ceilings.peak,
                     bandwidth=ceilings.bandwidth)


def _decode(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    curve = DecodeCurve(launch=p["launch_s"], growth=p["growth_s"], memory=p["memory"], compute=p["compute"],
                        per_sequence=p["per_sequence_s"])
    return decode_attention_time(curve, work=x.work, cache_traffic=x.traffic, io_traffic=x.io_traffic,
                                 context=x.context, batch=x.tokens, peak=ceilings.peak, bandwidth=ceilings.bandwidth)


def _prompt(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    curve = PromptCurve(launch=p["launch_s"], memory=p["memory"], compute=p["compute"])
    return prompt_attention_time(curve, work=x.work, traffic=x.traffic, peak=ceilings.peak,
                                 bandwidth=ceilings.bandwidth)


def _pointwise(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    inner, outer = (PointwiseCurve(memory=p[name], layer_passes=1.0, logit_passes=1.0) for name in ("memory", "spill"))
    beyond = np.maximum(x.traffic - p["cache_bytes"], 0.0)
    return np.asarray(p["launch_s"] + pointwise_time(inner, traffic=x.traffic, bandwidth=ceilings.bandwidth)
                      + pointwise_time(outer, traffic=beyond, bandwidth=ceilings.bandwidth))


def _transfer(p: Mapping[str, Array], x: Columns, ceilings: Ceilings) -> Array:
    return np.asarray(p["launch_s"] + x.traffic / (p["memory"] * ceilings.bandwidth))


_DECODE_PARAMETERS = (_LAUNCH, Parameter(name="growth_s", low=1e-10, high=1e-3, start=1e-6),
                      Parameter(name="per_sequence_s", low=1e-10, high=1e-2, start=1e-7), _MEMORY, _COMPUTE)

FORMS: Mapping[str, Form] = {f.name: f for f in (
    Form(name="gemv", evaluate=_gemv, parameters=(_LAUNCH, _SERIAL, _MEMORY)),
    Form(name="gemm", evaluate=_gemm, ramps=True,
         parameters=(_LAUNCH, _SERIAL, _MEMORY, _COMPUTE)),
    Form(name="decode_attention", evaluate=_decode, parameters=_DECODE_PARAMETERS),
    Form(name="latent_attention", evaluate=_decode, parameters=_DECODE_PARAMETERS),
    Form(name="prompt_attention", evaluate=_prompt, parameters=(_LAUNCH, _MEMORY, _COMPUTE)),
    *(Form(name=name, evaluate=_transfer, parameters=(_LAUNCH, _MEMORY)) for name in ("all_reduce", "host_to_device")),
    *(Form(name=name, evaluate=_pointwise, parameters=(_LAUNCH, _MEMORY, _CACHE, _SPILL))
      for name in ("norm", "rotary", "activation", "residual", "sampling")),
)}


def form_of(kernel: str) -> Form:
    """The form of an operator class.

    Parameters
    ----------
    kernel : str
        Operator class, as in :class:`~planner.core.fitting.kernel_points.KernelPoint`.

    Returns
    -------
    Form
        Its parameters and evaluator.

    Raises
    ------
    MissingFact
        No form is known for the class.
    """
    if kernel not in FORMS:
        raise MissingFact(f"No calibration curve is known for {kernel!r} kernels.", fact="calibration_form",
                          hint="Known: " + ", ".join(FORMS))
    return FORMS[kernel]
