"""Where the built-in catalogue lies and how its TOML files are read: every error of a file set is reported at once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from planner.core.errors import AdapterError

_PACKAGE = Path(__file__).resolve().parent.parent


def catalog_root() -> Path:
    """The built-in catalogue's folder: inside the installed package, else beside it in a source checkout."""
    inside = _PACKAGE / "models_catalog"
    root = inside if inside.is_dir() else _PACKAGE.parent / "models_catalog"
    if not root.is_dir():
        raise AdapterError("The built-in catalogue is missing from this installation.", hint="Reinstall the package.")
    return root


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of one TOML file; a syntax error becomes one sentence naming the file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AdapterError(f"{path.name}: {error}") from error


def raise_all(problems: list[str], what: str) -> None:
    """One error that lists every problem found in a set of files."""
    if problems:
        raise AdapterError(f"{len(problems)} error(s) in the {what}: " + " | ".join(problems))
