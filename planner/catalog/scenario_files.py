"""Scenario files: TOML or JSON with line numbers, bases they extend, and hourly demand in a CSV beside them.

Every problem of every file goes into one list; nothing is computed here.
"""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.catalog.line_numbers import Pointer, json_lines, toml_lines
from planner.core.errors import reason

MOST_HOURS = 175_680
"""[1] Rows an hourly file may have: twenty leap years."""
LARGEST_FILE = 2_000_000
"""[byte] of a TOML or JSON file."""
MOST_SHOWN = 20
"""[1] Problems of one CSV listed; the rest are counted."""
EXTENDS = "extends"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """Something wrong at a place."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass(slots=True, kw_only=True)
class ScenarioFile:
    """A scenario as written, with the place of every field."""

    document: dict[str, Any] = field(default_factory=dict)
    places: dict[Pointer, tuple[str, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def place(self, pointer: Pointer) -> tuple[str, int]:
        """Return the file and line of a field, or of the nearest one around it."""
        for size in range(len(pointer), -1, -1):
            if pointer[:size] in self.places:
                return self.places[pointer[:size]]
        return "", 1


def read_scenario_file(path: Path) -> ScenarioFile:
    """Return a scenario file with its bases and hourly files read in."""
    found = _read(path, ())
    for index, workload in enumerate(_rows(found.document.get("workloads"))):
        demand = workload.get("demand")
        if isinstance(demand, dict) and isinstance(demand.get("hourly_csv"), str):
            pointer: Pointer = ("workloads", index, "demand", "hourly_csv")
            source = path.parent / str(demand.pop("hourly_csv"))
            demand["hourly"] = _hourly(source, found, found.place(pointer))
            found.places[(*pointer[:-1], "hourly")] = (source.name, 1)
    return found


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _read(path: Path, above: tuple[Path, ...]) -> ScenarioFile:
    found = ScenarioFile(places={(): (path.name, 1)})
    if path.resolve() in above:
        circle = " → ".join([p.name for p in above] + [path.name])
        found.problems.append(Problem(file=path.name, line=1, message=f"files extend each other in a circle: {circle}"))
        return found
    document, lines = _parsed(path, found)
    found.places |= {pointer: (path.name, line) for pointer, line in lines.items()}
    base = document.pop(EXTENDS, None)
    if base is None:
        found.document = document
        return found
    at = lines.get((EXTENDS,), 1)
    if not isinstance(base, str):
        found.problems.append(Problem(file=path.name, line=at, message="extends must name a file"))
        return found
    under = _read(path.parent / base, (*above, path.resolve()))
    found.document = _merged(under.document, document)
    found.places = under.places | found.places
    found.problems += under.problems
    return found


def _parsed(path: Path, found: ScenarioFile) -> tuple[dict[str, Any], Mapping[Pointer, int]]:
    try:
        size, text = path.stat().st_size, path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        found.problems.append(Problem(file=path.name, line=1, message=f"cannot be read: {reason(error)}"))
        return {}, {}
    if size > LARGEST_FILE:
        found.problems.append(Problem(file=path.name, line=1, message=f"is larger than {LARGEST_FILE:,} bytes"))
        return {}, {}
    try:
        if path.suffix.lower() == ".json":
            document, lines = json.loads(text, parse_constant=_no_constant), json_lines
        else:
            document, lines = tomllib.loads(text), toml_lines
    except json.JSONDecodeError as error:
        found.problems.append(Problem(file=path.name, line=error.lineno, message=f"not JSON: {error.msg}"))
        return {}, {}
    except (tomllib.TOMLDecodeError, ValueError) as error:
        found.problems.append(Problem(file=path.name, line=_line_in(str(error)), message=f"cannot be read: {error}"))
        return {}, {}
    if not isinstance(document, dict):
        found.problems.append(Problem(file=path.name, line=1, message="the file must hold one object"))
        return {}, {}
    return document, lines(text)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number here")


def _line_in(message: str) -> int:
    """The line a TOML error names: '(at line 3, column 5)'."""
    _, _, rest = message.partition("at line ")
    digits = rest.partition(",")[0]
    return int(digits) if digits.isdigit() else 1


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The base with own fields over it: tables merge, everything else is replaced."""
    merged = dict(base)
    for key, value in own.items():
        under = merged.get(key)
        merged[key] = _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return merged


def _hourly(path: Path, found: ScenarioFile, asked_at: tuple[str, int]) -> list[float]:
    """The column request_rate of a CSV; problems carry its own line numbers."""
    values: list[float] = []
    bad = 0
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = csv.DictReader(handle)
            if rows.fieldnames is None or "request_rate" not in rows.fieldnames:
                found.problems.append(Problem(file=path.name, line=1, message="a column request_rate is needed"))
                return [1.0]
            for row in rows:
                if len(values) + bad >= MOST_HOURS:
                    found.problems.append(Problem(file=path.name, line=rows.line_num,
                                                  message=f"more than {MOST_HOURS:,} hourly rows"))
                    break
                value = _rate(row.get("request_rate"))
                if value is None:
                    bad += 1
                    if bad <= MOST_SHOWN:
                        found.problems.append(Problem(file=path.name, line=rows.line_num, message=(
                            f"request_rate must be a number of at least 0, got {str(row.get('request_rate'))[:40]!r}")))
                else:
                    values.append(value)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        words = f"{path.name} cannot be read: {reason(error)}"
        found.problems.append(Problem(file=asked_at[0], line=asked_at[1], message=words))
    if bad > MOST_SHOWN:
        found.problems.append(Problem(file=path.name, line=1, message=f"{bad - MOST_SHOWN} more rows are not numbers"))
    if not values and not bad:
        found.problems.append(Problem(file=path.name, line=1, message="there is no row"))
    return values or [1.0]


def _rate(text: object) -> float | None:
    try:
        value = float(str(text))
    except ValueError:
        return None
    return value if math.isfinite(value) and 0 <= value <= 1e9 else None
