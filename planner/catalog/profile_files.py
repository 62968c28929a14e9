"""Profile files written: one TOML file per level and engine, numbers to four digits, provenance first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.catalog.loader import read_toml

Tables = Mapping[str, Mapping[str, float]]
# Tables that served runs decide number by number; any other is a curve, whose numbers belong together.
_BY_NUMBER = frozenset({"overhead", "serving", "served", "spread", "pointwise"})


def profile_text(tables: Tables, *, measured_on: str, source: str) -> str:
    """The TOML text of one profile file; tables are sorted, so that refits differ only where numbers do."""
    lines = ["[about]", f'measured_on = "{measured_on}"', f'source = "{source}"']
    for name in sorted(tables):
        lines += ["", f"[{_quoted(name)}]", *(f"{key} = {_number(value)}" for key, value in tables[name].items())]
    return "\n".join(lines) + "\n"


def write_profiles(root: Path, levels: Mapping[tuple[str, str], Tables], *, measured_on: str,
                   source: str) -> list[Path]:
    """Every level's file under a folder; what is already there stays unless it is written anew, a curve as a whole."""
    written = []
    for (level, engine), tables in sorted(levels.items()):
        path = root / level / f"{engine}.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = _flat(read_toml(path)) if path.is_file() else {}
        merged = kept | {name: (kept.get(name, {}) if name.split(".")[0] in _BY_NUMBER else {}) | dict(values)
                         for name, values in tables.items()}
        path.write_text(profile_text(merged, measured_on=measured_on, source=source), encoding="utf-8")
        written.append(path)
    return written


def _flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, dict[str, float]]:
    """Nested TOML tables as dotted names, provenance left out."""
    found: dict[str, dict[str, float]] = {}
    for name, value in document.items():
        if isinstance(value, dict) and name != "about":
            plain = {k: v for k, v in value.items() if not isinstance(v, dict)}
            if plain:
                found[prefix + name] = plain
            found |= _flat(value, f"{prefix}{name}.")
    return found


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.6g}"


def _quoted(name: str) -> str:
    return ".".join(f'"{part}"' if ":" in part else part for part in name.split("."))
