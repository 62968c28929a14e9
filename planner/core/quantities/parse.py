"""Numbers as people type them: 8k, 1.5M, 64."""

from __future__ import annotations

import re

from planner.core.errors import InvalidQuantity
from planner.core.quantities.units import GIGA, KIB, KILO, MEGA, MIB

_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([kKmMgGbB]?)\s*")
_DECIMAL = {"": 1.0, "k": KILO, "m": MEGA, "g": GIGA, "b": GIGA}
_BINARY = {"": 1.0, "k": float(KIB), "m": float(MIB), "g": GIGA, "b": GIGA}


def count(text: str, name: str) -> float:
    """A count whose suffix is decimal: 2k is 2000.

    Parameters
    ----------
    text : str
        As typed.
    name : str
        What the reader calls it.

    Returns
    -------
    float
        [1].
    """
    return _read(text, name, _DECIMAL)


def context_length(text: str, name: str) -> float:
    """A context length, whose suffix is binary by custom: 8k is 8192.

    Parameters
    ----------
    text : str
        As typed.
    name : str
        What the reader calls it.

    Returns
    -------
    float
        [token].
    """
    return _read(text, name, _BINARY)


def _read(text: str, name: str, factors: dict[str, float]) -> float:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise InvalidQuantity(f"{name} must be a number such as 64, 8k or 1.5M, got {text[:40]!r}.", pointer=f"/{name}")
    return float(match[1]) * factors[match[2].lower()]
