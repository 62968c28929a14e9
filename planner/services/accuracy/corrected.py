"""A stored correction, learnt from own runs, laid over the built-in profile it was learnt over."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.core.errors import AdapterError, MissingFact
from planner.core.execution.own_runs import LEAST, MOST, OwnRunsProfile, own_runs_profile
from planner.core.hardware.efficiency.overhead import Spread
from planner.core.hardware.efficiency.profile import EfficiencyProfile

OWN_ROWS = "own_rows"
"""Name of a correction inside a calibration record."""
KINDS = ("tpot_dense", "tpot_moe")
_POINTER = "/calibration"


def corrected(base: EfficiencyProfile, own: Mapping[str, Any], name: str) -> OwnRunsProfile:
    """The profile a stored correction makes; refused under another engine or over other built-in efficiencies."""
    factor, spread = _read(own, name)
    if own["engine"] != base.engine:
        raise MissingFact(f"Calibration {name!r} was learnt from {own['engine']} runs, not from {base.engine} ones.",
                          fact=f"calibration.{base.engine}", hint=f"Ask about {own['engine']}, or use auto.",
                          pointer=_POINTER)
    if own["learnt_over"] != base.measured_on:
        raise MissingFact(f"Calibration {name!r} was learnt over built-in efficiencies of {own['learnt_over']}; they "
                          f"are now of {base.measured_on}.", fact="calibration.own_rows",
                          hint="Send the same rows to /v1/calibrations/from-rows again.", pointer=_POINTER)
    source = (f"{own['rows_learnt']} own run(s) of {own['model']}: step times × {factor:.4g}, "
              f"spread {spread.within:.3g} and {spread.between:.3g}")
    return own_runs_profile(base, model=own["model"], factor=factor, kind=own["kind"], spread=spread, name=name,
                            measured_on=own["measured_on"], source=source)


def check_model(profile: EfficiencyProfile | None, model: str) -> None:
    """Refuse a correction learnt on another model."""
    if isinstance(profile, OwnRunsProfile) and profile.model != model:
        raise MissingFact(f"Calibration {profile.id!r} was learnt from runs of {profile.model}, not of {model}.",
                          fact=f"calibration.{model}", hint=f"Ask about {profile.model}, or use calibration=auto.",
                          pointer=_POINTER)


def _read(own: Mapping[str, Any], name: str) -> tuple[float, Spread]:
    try:
        texts = [own[key] for key in ("model", "engine", "kind", "learnt_over", "measured_on")]
        factor = float(own["factor"])
        within, between, degrees = (float(own["spread"][key]) for key in ("within", "between", "degrees"))
        own["rows_learnt"]
        bad = own["kind"] not in KINDS or not all(isinstance(text, str) for text in texts)
    except (KeyError, TypeError, ValueError):
        bad = True
    if bad or not (LEAST <= factor <= MOST and degrees >= 1 and all(0 <= s <= 3 for s in (within, between))
                   and math.isfinite(degrees)):
        raise AdapterError(f"Calibration {name!r} holds a correction that cannot be read.",
                           hint="Make it with POST /v1/calibrations/from-rows.")
    return factor, Spread(within=within, between=between, between_unseen=between, degrees=degrees)
