"""A profile scaled as a whole, so that every step of a deployment takes a factor longer: what own measured runs teach.

Efficiency curves are homogeneous of degree one in their floors and in the inverse of their shares, so dividing shares
and multiplying times by one factor multiplies each operator's time by it. Shares stop at one: no step gets faster than
the datasheet allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from planner.core.errors import InvalidQuantity
from planner.core.hardware.efficiency.overhead import Spread, StepOverhead
from planner.core.hardware.efficiency.profile import EfficiencyProfile

Curve = TypeVar("Curve")
_SHARES = frozenset({"memory", "compute", "streaming", "link", "ring_link", "prompt_memory"})
"""Shares of a datasheet ceiling, which end at one."""
_MULTIPLES = frozenset({"gathered"})
"""Shares of extra traffic, which may exceed one."""
_COUNTS = frozenset({"layer_passes", "logit_passes", "passes", "partial_tile", "four", "eight", "hand_over", "staging",
                     "padding", "masked"})
"""Passes over bytes, and work, whose share is scaled already."""
_STEP_TIMES = ("per_layer", "per_step", "per_request", "prefill_step", "per_prefill_token", "prefill_per_layer",
               "per_mixture")
LEAST, MOST = 0.2, 20.0
"""Factors beyond these are mislabelled rows, not efficiencies [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRunsProfile(EfficiencyProfile):
    """A profile that holds for one model, learnt from runs of it."""

    model: str
    """Id of the model."""


def slowed(profile: EfficiencyProfile, factor: float) -> EfficiencyProfile:
    """The profile under which every step takes ``factor`` times as long.

    Parameters
    ----------
    profile : EfficiencyProfile
        Curves and overheads.
    factor : float
        Measured over predicted step time [1].

    Returns
    -------
    EfficiencyProfile
        The same class; queueing terms, ingest and spreads stay.

    Raises
    ------
    InvalidQuantity
        The factor is no efficiency.

    Notes
    -----
    Exact above one. Below one a bound from above: shares that reach their ceiling stop there.
    """
    if not LEAST <= factor <= MOST:
        raise InvalidQuantity(f"A factor of {factor:.3g} on step times is outside {LEAST:g} to {MOST:g}.",
                              hint="Check the rows' units, GPU count and formats.")
    maps: dict[str, Any] = {name: _scaled_all(getattr(profile, name), factor)
                                          for name in ("gemm", "moe", "decode", "prompt", "recurrent", "all_to_all")}
    singles: dict[str, Any] = {name: _scaled(getattr(profile, name), factor)
                               for name in ("all_reduce", "gather", "pointwise")}
    return replace(profile, **maps, **singles, overhead=_overhead(profile.overhead, factor))


def _scaled_all(curves: Mapping[str, Curve], factor: float) -> dict[str, Curve]:
    return {key: _scaled(curve, factor) for key, curve in curves.items()}


def _scaled(curve: Curve, factor: float) -> Curve:
    changed: dict[str, float] = {}
    for field in fields(curve):  # type: ignore[arg-type]  # every curve is a dataclass
        name, value = field.name, getattr(curve, field.name)
        if name in _SHARES:
            changed[name] = min(value / factor, max(value, 1.0))
        elif name in _MULTIPLES:
            changed[name] = value / factor
        elif name not in _COUNTS:
            changed[name] = value * factor
    return replace(curve, **changed)  # type: ignore[type-var]  # as above


def _overhead(overhead: StepOverhead, factor: float) -> StepOverhead:
    times: dict[str, Any] = {name: getattr(overhead, name) * factor for name in _STEP_TIMES}
    return replace(overhead, **times, per_kind={kind: t * factor for kind, t in overhead.per_kind.items()})


def own_runs_profile(base: EfficiencyProfile, *, model: str, factor: float, kind: str, spread: Spread, name: str,
                     measured_on: str, source: str) -> OwnRunsProfile:
    """The profile of a deployment whose own runs were measured.

    Parameters
    ----------
    base : EfficiencyProfile
        What predicted the runs.
    model : str
        Id of the model that ran.
    factor : float
        Measured over predicted step time [1].
    kind : str
        tpot_dense | tpot_moe, whose spread the runs narrowed.
    spread : Spread
        What uncertainty they left.
    name : str
        Id of the new profile.
    measured_on : str
        Date of the runs, ISO 8601.
    source : str
        Said before the base's own source.

    Returns
    -------
    OwnRunsProfile
        For this model only.
    """
    made = slowed(base, factor)
    values = {field.name: getattr(made, field.name) for field in fields(made)}
    values |= {"id": name, "measured_on": measured_on, "source": f"{source}; rest: {base.source}",
               "spread": {**base.spread, kind: spread}}
    return OwnRunsProfile(**values, model=model)
