"""How answers state numbers: totals to the cent, unit prices to four digits, nothing JSON cannot hold."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor, isfinite, log10

from planner.core.fleet.cost import CENTS

DIGITS = 4


def dollars(cents: int) -> float:
    """Whole cents as dollars."""
    return round(cents / CENTS, 2)


def to_cent(usd: float | None) -> float | None:
    """Dollars rounded to the cent."""
    return None if usd is None or not isfinite(usd) else round(usd, 2)


def unit_price(usd: float | None) -> float | None:
    """A price per something, to four significant digits."""
    if usd is None or not isfinite(usd):
        return None
    return 0.0 if usd == 0 else round(usd, DIGITS - 1 - floor(log10(abs(usd))))


def finite(value: float | None) -> float | None:
    """The number, or None where it is unknown or grows without bound."""
    return None if value is None or not isfinite(value) else value


def whole(values: Iterable[float]) -> list[int]:
    """Counts as JSON integers."""
    return [round(v) for v in values]
