"""How answers state numbers: totals to the cent, unit prices to four digits, nothing JSON cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, isfinite, log10
from typing import Any

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


def currency_note(document: Mapping[str, Any]) -> str | None:
    """That sums are in US dollars, and at what rates, where a scenario states money in another currency."""
    home, exchange = document["currency"], document["exchange"]
    stated = [home, *(offer.get("currency") or home for offer in (*document["prices"], *document["apis"]))]
    others = [name for name in dict.fromkeys(stated) if name != "USD"]
    if not others:
        return None
    rates = "; ".join(f"1 {name} = {exchange[name]['usd']:g} USD ({exchange[name]['date']}, "
                      f"{exchange[name]['source']})" for name in others if name in exchange)
    at = f", at {rates}" if rates else ""
    return f"The scenario states money in {' and '.join(others)}; every sum of this answer is in USD{at}."


def whole(values: Iterable[float]) -> list[int]:
    """Counts as JSON integers."""
    return [round(v) for v in values]
