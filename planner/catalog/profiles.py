"""Efficiency profiles read from ``models_catalog/profiles/<level>/<engine>.toml`` and merged by inheritance.

Levels from general to special: ``default``, the vendor, the architecture family, the SKU; within a level ``generic``
before the engine. A later file overrides single tables of an earlier one, and every table remembers its level.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from planner.core.errors import AdapterError, NotFound
from planner.core.hardware.chip import Chip
from planner.core.hardware.efficiency.all_to_all import AllToAllCurve
from planner.core.hardware.efficiency.attention import DecodeCurve, PromptCurve
from planner.core.hardware.efficiency.collective import AllReduceCurve, GatherCurve
from planner.core.hardware.efficiency.gemm import GemmCurve
from planner.core.hardware.efficiency.linear import RecurrentCurve
from planner.core.hardware.efficiency.moe import MoeCurve
from planner.core.hardware.efficiency.overhead import ServedRuns, ServingTerms, Spread, StepOverhead
from planner.core.hardware.efficiency.pointwise import PointwiseCurve
from planner.core.hardware.efficiency.profile import EfficiencyProfile

Part = TypeVar("Part")
Table = dict[str, Any]

_CURVES: Mapping[str, type] = {
    "gemm": GemmCurve, "moe": MoeCurve, "decode": DecodeCurve, "prompt": PromptCurve, "recurrent": RecurrentCurve,
    "all_to_all": AllToAllCurve, "spread": Spread,
}
_SINGLES: Mapping[str, type] = {
    "all_reduce": AllReduceCurve, "gather": GatherCurve, "pointwise": PointwiseCurve, "overhead": StepOverhead,
    "serving": ServingTerms, "served": ServedRuns,
}


class ProfileCatalog:
    """Profiles by chip and engine, read once; uploads are looked up by id elsewhere."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[tuple[str, str], EfficiencyProfile] = {}

    def of(self, chip: Chip, engine: str, calibration: str, workspace: str) -> EfficiencyProfile | None:
        """Return the profile of a chip under an engine; None for ``ideal``."""
        del workspace
        if calibration == "ideal":
            return None
        if calibration != "auto":
            raise NotFound(f"No calibration is called {calibration!r}.", candidates=("auto", "ideal"),
                           pointer="/calibration")
        key = (f"{chip.id}|{chip.vendor}|{chip.architecture}", engine)
        if key not in self._read:
            self._read[key] = read_profile(self._root, chip, engine)
        return self._read[key]


def read_profile(root: Path, chip: Chip, engine: str) -> EfficiencyProfile:
    """The merged profile of a chip under an engine; an engine without files gets the generic one."""
    levels = ("default", chip.vendor.lower(), chip.architecture, chip.id)
    files = [(f"{level}/{name}", root / level / f"{name}.toml")
             for level in dict.fromkeys(levels) for name in dict.fromkeys(("generic", engine))]
    merged: Table = {}
    origin: dict[str, str] = {}
    dates, sources = [], []
    for label, path in files:
        table = _read(path)
        if table is None:
            continue
        about = table.pop("about")
        dates.append(str(about["measured_on"]))
        sources.append(str(about["source"]))
        _merge(merged, table, label, origin)
    own = f"{chip.id}/{engine}"
    inherited = {name: label for name, label in origin.items() if label != own}
    return EfficiencyProfile(
        id=f"{chip.id}/{engine}", sku=chip.id, engine=engine, architecture=chip.architecture, measured_on=max(dates),
        source="; ".join(dict.fromkeys(reversed(sources))), inherited=inherited, **_parts(merged))


@lru_cache(maxsize=256)
def _load(path: Path) -> Table | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        try:
            return tomllib.load(file)
        except tomllib.TOMLDecodeError as error:
            raise AdapterError(f"Profile {path.name} of {path.parent.name} is not TOML: {error}.") from error


def _read(path: Path) -> Table | None:
    table = _load(path)
    return None if table is None else dict(table)


def _merge(merged: Table, table: Table, label: str, origin: dict[str, str]) -> None:
    for name, value in table.items():
        if name in _SINGLES:
            old = merged.get(name, {})
            merged[name] = {**old, **value, **{k: {**old.get(k, {}), **v} for k, v in value.items()
                                               if isinstance(v, dict)}}
            origin[name] = label
            continue
        rows = merged.setdefault(name, {})
        for key, row in value.items():
            rows[key] = {**rows.get(key, {}), **row}
            origin[f"{name}.{key}"] = label


def _parts(merged: Table) -> Table:
    parts: Table = {}
    for name, kind in _CURVES.items():
        parts[name] = {key: _build(kind, row, f"{name}.{key}") for key, row in merged[name].items()}
    for name, kind in _SINGLES.items():
        parts[name] = _build(kind, merged.get(name, {}), name)
    return parts


def _build(kind: type[Part], row: Mapping[str, Any], where: str) -> Part:
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]  # every kind is a dataclass
    values = {_bare(key): ({_bare(k): v for k, v in value.items()} if isinstance(value, dict) else value)
              for key, value in row.items()}
    unknown = set(values) - known
    if unknown:
        raise AdapterError(f"Profile table {where} has unknown entries: {', '.join(sorted(unknown))}.")
    return kind(**values)


def _bare(key: str) -> str:
    return key.removesuffix("_s")
