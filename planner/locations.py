"""Where the data files that travel with the package lie: in the repository, and in the installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    """Return a folder that the wheel carries inside the package and the repository at its root."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


@cache
def catalog_folder() -> Path:
    """Return the folder of the built-in models, chips, prices and profiles."""
    return _shipped("models_catalog")


@cache
def migrations_folder() -> Path:
    """Return the folder of the database migrations."""
    return _shipped("migrations")


@cache
def static_folder() -> Path:
    """Return the folder of the web files, vendored libraries included."""
    return _PACKAGE / "web" / "static"
