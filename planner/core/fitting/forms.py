"""Which parameters each operator class is fitted with, between which bounds, and how they turn features into time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from planner.core.fitting.measurement import KernelTable
from planner.core.hardware.efficiency.all_to_all import AllToAllCurve, all_to_all_time
from planner.core.hardware.efficiency.attention import (
    DecodeCurve,
    PromptCurve,
    at_heads,
    decode_attention_time,
    prompt_attention_time,
    walking_attention_time,
)
from planner.core.hardware.efficiency.collective import (
    AllReduceCurve,
    GatherCurve,
    all_reduce_time,
    gather_time,
)
from planner.core.hardware.efficiency.gemm import GemmCurve, gemm_time
from planner.core.hardware.efficiency.knee import knee
from planner.core.hardware.efficiency.linear import RecurrentCurve, recurrent_decode_time, recurrent_prompt_time
from planner.core.hardware.efficiency.moe import MoeCurve, MoeLoad, moe_time
from planner.core.quantities.arrays import Array

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One fitted number: its usual value, its bounds, and how wide the prior around the usual value is."""

    name: str
    usual: float
    low: float
    high: float
    prior: float = 2.0
    """Standard deviation of the prior on ln(value/usual) [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """A size at which another algorithm takes over: times jump there, so every candidate is tried."""

    name: str
    candidates: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fallback:
    """Another formula, for tables whose fitted parameter shows that another kind of kernel ran."""

    parameter: str
    beyond: float
    predict: Callable[[Values, KernelTable], Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A parametric kernel time."""

    operator: str
    parameters: tuple[Parameter, ...]
    predict: Callable[[Values, KernelTable], Array]
    spare: int = 2
    """Rows a table must have beyond the parameters [1]."""
    threshold: Threshold | None = None
    fallback: Fallback | None = None


US = 1e-6  # [s] bounds below are in microseconds because launch costs are
# Shares are bounded at 0.95: above it a table re-used cached operands (isolated kernels repeat on the same inputs).
_SHARE = 0.95


def _share(name: str, usual: float, low: float = 0.05, prior: float = 2.0) -> Parameter:
    return Parameter(name=name, usual=usual, low=low, high=_SHARE, prior=prior)


def _time(name: str, usual: float, low: float, high: float, prior: float = 2.0) -> Parameter:
    return Parameter(name=name, usual=usual * US, low=low * US, high=high * US, prior=prior)


def _from_memory(name: str, values: Values, table: KernelTable) -> tuple[dict[str, float], Array]:
    r"""Curve parameters, and the bytes of a feature that memory still serves when a kernel repeats on its operands.

    .. math:: Q' = Q\,(1 - r \max(0, 1 - Q_{set}/L_2))
    """
    curve = dict(values)
    reuse = curve.pop("reuse", 0.0)
    traffic = table.features[name]
    if not table.cache_bytes:
        return curve, traffic
    resident = np.maximum(0.0, 1.0 - table.features["traffic"] / table.cache_bytes)
    return curve, traffic * (1.0 - reuse * resident)


def _gemm(values: Values, table: KernelTable) -> Array:
    f = table.features
    curve, traffic = _from_memory("traffic", values, table)
    return gemm_time(GemmCurve(**curve), work=f["work"], traffic=traffic, tokens=f["tokens"], inputs=f["inputs"],
                     peak=table.peak, bandwidth=table.bandwidth)


def _moe(values: Values, table: KernelTable) -> Array:
    load = MoeLoad(**{f.name: table.features[f.name] for f in fields(MoeLoad)})
    return moe_time(MoeCurve(**values), load, peak=table.peak, bandwidth=table.bandwidth)


def _decode(values: Values, table: KernelTable) -> Array:
    f = table.features
    curve, cache = _from_memory("cache_traffic", values, table)
    return decode_attention_time(at_heads(DecodeCurve(**curve), f.get("heads", 1.0)), work=f["work"],
                                 cache_traffic=cache, io_traffic=f["io_traffic"], context=f["context"],
                                 batch=f["batch"], peak=table.peak, bandwidth=table.bandwidth)


def _walking(values: Values, table: KernelTable) -> Array:
    f = table.features
    curve, cache = _from_memory("cache_traffic", values, table)
    return walking_attention_time(at_heads(DecodeCurve(**curve), f["heads"]), work=f["work"], cache_traffic=cache,
                                  io_traffic=f["io_traffic"], context=f["context"], peak=table.peak,
                                  bandwidth=table.bandwidth)


def _prompt(values: Values, table: KernelTable) -> Array:
    f = table.features
    return prompt_attention_time(PromptCurve(**values), work=f["work"], traffic=f["traffic"], peak=table.peak,
                                 bandwidth=table.bandwidth)


def _in_block(attention: Callable[[Values, KernelTable], Array]) -> Callable[[Values, KernelTable], Array]:
    """A whole block: an attention kernel behind the projections that ``block_`` parameters describe."""
    def predict(values: Values, table: KernelTable) -> Array:
        f = table.features
        projections = knee(f["weight_traffic"] / (values["block_memory"] * table.bandwidth),
                           f["block_work"] / (values["block_compute"] * f["block_peak"]))
        return np.asarray(projections + attention({k: v for k, v in values.items() if not k.startswith("block_")},
                                                  table))

    return predict


def _all_reduce(values: Values, table: KernelTable) -> Array:
    return all_reduce_time(AllReduceCurve(**values), message=table.features["message"], ranks=table.features["ranks"],
                           link_rate=table.link_rate)


def _gather(values: Values, table: KernelTable) -> Array:
    return gather_time(GatherCurve(**values), total=table.features["message"], ranks=table.features["ranks"],
                       link_rate=table.link_rate)


def _all_to_all(values: Values, table: KernelTable) -> Array:
    f = table.features
    return all_to_all_time(AllToAllCurve(**values), volume=f["volume"], tokens=f["tokens"], ranks=f["ranks"],
                           link_rate=table.link_rate)


_UNUSED_PROMPT = {"prompt_launch": 0.0, "scan": 0.0, "prompt_memory": 1.0, "compute": 1.0}
_UNUSED_DECODE = {"launch": 0.0, "memory": 1.0}


def _recurrent_decode(values: Values, table: KernelTable) -> Array:
    curve = RecurrentCurve(**values, **_UNUSED_PROMPT)
    return recurrent_decode_time(curve, traffic=table.features["traffic"], bandwidth=table.bandwidth)


def _recurrent_prompt(values: Values, table: KernelTable) -> Array:
    f = table.features
    curve = RecurrentCurve(**values, **_UNUSED_DECODE)
    return recurrent_prompt_time(curve, work=f["work"], traffic=f["traffic"], longest=f["longest"], peak=table.peak,
                                 bandwidth=table.bandwidth)


_REUSE = Parameter(name="reuse", usual=0.05, low=1e-3, high=0.98, prior=1.0)
_DECODE = (_time("launch", 11, 1, 200), _time("growth", 0.6, 0.001, 20), _share("memory", 0.86),
           _share("compute", 0.5, low=0.005, prior=0.7), _time("serial", 3e-5, 1e-6, 1, prior=4.0),
           Parameter(name="passes", usual=1.0, low=0.3, high=60, prior=1.0), _REUSE)
_LATENT = (*_DECODE, Parameter(name="partial_tile", usual=1.0, low=0.7, high=3.0, prior=0.05))
_PROJECTIONS = (_share("block_memory", 0.6, low=0.2), _share("block_compute", 0.4))
# Latent attention that needs more than this for a token of its mean context walks it in one block [s]: split over
# blocks, kernels need a hundredth of it.
WALKING = 1e-8
# Engines stop using their own all-reduce at a power of two, and files hold powers of two: tried half-way between them,
# so that a file's row lies on neither side of a size by rounding; far beyond every message where they never do [byte].
_HAND_OVER = Threshold(name="hand_over", candidates=(*(1.5 * 2.0 ** k for k in range(16, 28)), 1e12))
FORMS: Mapping[str, Form] = {form.operator: form for form in (
    Form(operator="gemm", predict=_gemm, parameters=(
        _time("launch", 4, 0.3, 20), _time("serial", 0.6, 0.01, 10), _share("memory", 0.9),
        _share("compute", 0.65, prior=0.5), Parameter(name="quantise", usual=2.0, low=1e-3, high=15),
        _time("per_token", 1e-4, 1e-6, 0.2), Parameter(name="store", usual=0.01, low=1e-3, high=20, prior=1.0),
        _REUSE)),
    # Padding and masked arithmetic are absent in most tables, whose priors then stand in for the two rows.
    Form(operator="moe", predict=_moe, spare=0, parameters=(
        _time("launch", 25, 2, 150), _time("per_local_expert", 0.02, 1e-4, 0.6),
        _time("per_active_expert", 0.1, 1e-3, 1),
        _share("memory", 0.85), _share("compute", 0.5), _share("streaming", 0.45),
        Parameter(name="gathered", usual=0.7, low=0.1, high=20),
        Parameter(name="padding", usual=8.0, low=0.01, high=128),
        Parameter(name="masked", usual=3e-3, low=1e-3, high=1.0, prior=0.5))),
    Form(operator="decode", predict=_decode, parameters=_DECODE),
    Form(operator="mla_decode", predict=_decode, parameters=_LATENT,
         fallback=Fallback(parameter="serial", beyond=WALKING, predict=_walking)),
    Form(operator="mla_block", predict=_in_block(_decode), parameters=(*_LATENT, *_PROJECTIONS),
         fallback=Fallback(parameter="serial", beyond=WALKING, predict=_in_block(_walking))),
    Form(operator="prompt", predict=_prompt, parameters=(
        _time("launch", 17, 2, 150), _share("memory", 0.35, low=0.01), _share("compute", 0.58))),
    Form(operator="mla_prompt", predict=_prompt, parameters=(
        _time("launch", 17, 2, 150), _share("memory", 0.35, low=0.01), _share("compute", 0.58))),
    Form(operator="mla_prompt_block", predict=_in_block(_prompt), parameters=(
        _time("launch", 50, 2, 300), _share("memory", 0.35, low=0.01), _share("compute", 0.58),
        *_PROJECTIONS)),
    Form(operator="all_reduce", predict=_all_reduce, threshold=_HAND_OVER, parameters=(
        _time("one_shot", 4, 0.5, 60), _time("two_shot", 10, 1, 120), _time("per_doubling", 0.3, 1e-3, 15),
        _share("link", 0.6), Parameter(name="four", usual=1.0, low=0.4, high=8, prior=0.5),
        Parameter(name="eight", usual=1.0, low=0.4, high=40, prior=0.5), _time("ring", 25, 3, 120),
        _time("ring_per_doubling", 4, 1e-3, 60), _share("ring_link", 0.7),
        Parameter(name="staging", usual=0.3, low=1e-3, high=3.0, prior=1.0))),
    Form(operator="gather", predict=_gather, parameters=(
        _time("launch", 4, 0.3, 30), _time("per_doubling", 2.7, 0.01, 12), _share("link", 0.5))),
    Form(operator="all_to_all", predict=_all_to_all, parameters=(
        _time("launch", 15, 1, 120), _share("link", 0.5), _time("per_token", 0.01, 1e-5, 0.3))),
    Form(operator="recurrent_decode", predict=_recurrent_decode, parameters=(
        _time("launch", 4, 0.5, 30), _share("memory", 0.85))),
    Form(operator="recurrent_prompt", predict=_recurrent_prompt, parameters=(
        _time("prompt_launch", 15, 1, 100), _time("scan", 1.2, 0.01, 8), _share("prompt_memory", 0.4, low=0.01),
        _share("compute", 0.4))),
)}

# An 8-bit cache may be multiplied in 8 bits, at twice the 16-bit peak that shares are quoted in (datasheets); latent
# attention of one query is the only kernel that arithmetic can bind there.
_EIGHT_BIT = 2.0
_LATENT_DECODE = frozenset({"mla_decode", "mla_block"})


def form_of(table: KernelTable) -> Form:
    """The form of a table's operator under the bounds of its formats.

    Parameters
    ----------
    table : KernelTable
        Rows.

    Returns
    -------
    Form
        Latent attention of one query over an 8-bit cache may exceed the 16-bit peak.
    """
    form = FORMS[table.operator]
    if table.operator not in _LATENT_DECODE or ":fp8" not in table.key:
        return form
    return replace(form, parameters=tuple(
        replace(p, high=_EIGHT_BIT * p.high) if p.name == "compute" else p for p in form.parameters))
