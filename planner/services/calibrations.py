"""Calibration records in use: laid over a chip's efficiency profile, and compared with its datasheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from planner.core.errors import AdapterError, MissingFact, NotFound
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.attention import DecodeCurve, PromptCurve
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.quantities.units import GIB
from planner.services.accuracy.corrected import OWN_ROWS, corrected

AUTO, IDEAL = "auto", "ideal"
Record = Mapping[str, Any]
_TOP = 1.0  # a share of the datasheet never exceeds one: predictions stay above the physical floor
_KINDS = {"decode_attention": "gqa", "latent_attention": "mla"}


class Profiles(Protocol):
    """Where efficiency profiles come from."""

    def of(self, chip: Chip, engine: str, calibration: str, workspace: str) -> EfficiencyProfile | None:
        """Return the profile of a chip under an engine and a calibration name; None for ``ideal``."""
        ...


class CalibratedProfiles:
    """Built-in profiles, and stored calibration records laid over them when a plan names one by id."""

    def __init__(self, built_in: Profiles, find: Callable[[str, str], Record | None]) -> None:
        """Take the built-in profiles and how to find (workspace, id) → the stored calibration document."""
        self._built_in, self._find = built_in, find

    def of(self, chip: Chip, engine: str, calibration: str, workspace: str) -> EfficiencyProfile | None:
        """Return the built-in profile, or the one a stored calibration of this SKU makes of it."""
        if calibration in (AUTO, IDEAL):
            return self._built_in.of(chip, engine, calibration, workspace)
        stored = self._find(workspace, calibration)
        if stored is None:
            raise NotFound(f"No calibration is called {calibration!r}.", candidates=(AUTO, IDEAL),
                           pointer="/calibration")
        sku = str(stored.get("sku", chip.id))
        if sku != chip.id:
            raise MissingFact(f"Calibration {calibration!r} was measured on {sku}, not on {chip.id}.",
                              fact=f"calibration.{chip.id}", hint=f"Ask about {sku}, or use calibration=auto.",
                              pointer="/calibration")
        base = self._built_in.of(chip, engine, AUTO, workspace)
        if base is None:
            raise MissingFact(f"{chip.name} has no efficiency profile to lay the calibration over.",
                              fact=f"profile.{chip.id}")
        record = stored.get("record", stored)
        made = (corrected(base, record[OWN_ROWS], calibration) if OWN_ROWS in record
                else overlay(base, chip, record, calibration))
        return replace(made, source=f"{made.source} (version {stored.get('version', 1)})")


def overlay(base: EfficiencyProfile, chip: Chip, record: Record, name: str) -> EfficiencyProfile:
    """The profile with every measured curve in place of the built-in one; overheads and queueing terms stay."""
    if "memory" in record:
        base = _with_reserve(base, record, name)
        if not record.get("curves"):
            return base
    gemm, decode, prompt = dict(base.gemm), dict(base.decode), dict(base.prompt)
    pointwise, replaced = base.pointwise, []
    for curve in _curves(record):
        kernel, dtype, p = curve["kernel"], curve["dtype"], curve["parameters"]
        if chip.peaks.get(dtype) is None:
            continue
        shares = {"memory": _share(p["memory"] * curve["bandwidth_bytes_per_s"], chip.bandwidth)}
        if kernel == "gemm":
            old = gemm.get(dtype)
            made_gemm = GemmCurve(launch=p["launch_s"], serial=p["serial_s"], **shares, compute=_compute(curve, chip))
            gemm[dtype] = made_gemm if old is None else replace(made_gemm, quantise=old.quantise,
                                                                per_token=old.per_token, store=old.store)
        elif kernel in _KINDS and dtype in ("bf16", "fp16"):
            # Both 16-bit key spellings, so that a more special built-in row cannot win over the measurement.
            made = DecodeCurve(launch=p["launch_s"], growth=p["growth_s"], **shares, compute=_compute(curve, chip),
                               per_sequence=p["per_sequence_s"])
            decode |= {_KINDS[kernel]: made, f"{_KINDS[kernel]}:bf16": made}
        elif kernel == "prompt_attention" and dtype in ("bf16", "fp16"):
            made_prompt = PromptCurve(launch=p["launch_s"], **shares, compute=_compute(curve, chip))
            prompt |= {"gqa": made_prompt, "gqa:bf16": made_prompt}
        elif kernel == "norm" and dtype == "bf16":
            pointwise = replace(pointwise, memory=shares["memory"])
        else:
            continue
        replaced.append(f"{kernel} {dtype}")
    if not replaced:
        raise MissingFact(f"Calibration {name!r} holds no curve that applies to {chip.name}.",
                          fact="calibration.curves", hint="Calibrate again on an idle device, without --quick.")
    kept = {k: v for k, v in base.inherited.items() if not k.startswith(("gemm", "decode", "prompt"))}
    return replace(base, id=name, gemm=gemm, decode=decode, prompt=prompt, pointwise=pointwise,
                   measured_on=str(record["measured_on"])[:10], inherited=kept,
                   source=f"calibration of {record['device']['name']} ({', '.join(replaced)}); rest: {base.source}")


def _with_reserve(base: EfficiencyProfile, record: Record, name: str) -> EfficiencyProfile:
    extra = float(record["memory"]["extra_reserve_bytes"])
    source = f"start-up log ({name}): {extra / GIB:+.2f} GiB beside the predicted reserve; {base.source}"
    return replace(base, id=name, extra_reserve=extra, measured_on=str(record["measured_on"])[:10], source=source)


def datasheet_comparison(chip: Chip, record: Record) -> list[dict[str, Any]]:
    """What the device reached of each datasheet ceiling, one line each."""
    reached = record.get("ceilings")
    if not reached:
        raise MissingFact("The calibration holds no measured ceilings.", fact="calibration.ceilings",
                          hint="Records of `planner calibrate` hold them; learned reserves do not.")
    lines: list[tuple[str, float, float | None, str]] = [
        ("memory bandwidth", reached["bandwidth_bytes_per_s"], chip.bandwidth, "byte/s")]
    lines += [(f"{dtype} peak", peak, chip.peaks.get(dtype), "FLOP/s")
              for dtype, peak in sorted(reached["peak_flop_per_s"].items())]
    return [{"ceiling": name, "measured": got, "datasheet": sheet, "share": got / sheet, "unit": unit}
            for name, got, sheet, unit in lines if sheet]


def _curves(record: Record) -> list[Record]:
    try:
        return [c for c in record["curves"] if c["parameters"]]
    except (KeyError, TypeError) as error:
        raise AdapterError("The calibration record has no curves that can be read.",
                           hint="It must be the JSON that `planner calibrate --save` writes.") from error


def _share(rate: float, sheet: float) -> float:
    return min(_TOP, rate / sheet)


def _compute(curve: Record, chip: Chip) -> float:
    """The share of the datasheet peak at the largest token count measured."""
    ramp = curve["ramp"]
    share = ramp[-1][1] if ramp else curve["parameters"]["compute"]
    return _share(share * curve["peak_flop_per_s"], chip.peak(curve["dtype"]))
