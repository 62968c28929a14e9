"""Numbers as people read them: three significant digits, a unit with a prefix, binary only for capacities."""

from __future__ import annotations

from math import floor, log10

from planner.core.quantities.units import GIB, KIB, MIB

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"),
             (1e-9, "n"))


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, thousands separated.

    Parameters
    ----------
    value : float
        Any unit.
    digits : int
        Significant digits [1].

    Returns
    -------
    str
        ``1,234``, ``12.3``, ``0.00123``.
    """
    if value == 0 or value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN is unequal to itself
        return "0" if value == 0 else str(value)
    places = digits - 1 - floor(log10(abs(value)))
    rounded = round(value, places)
    if abs(rounded) >= 10.0 ** (digits - places):  # rounding carried into another digit: 0.9999 is 1.00
        places -= 1
    return f"{rounded:,.{max(places, 0)}f}"


def prefixed(value: float, unit: str, digits: int = 3) -> str:
    """A quantity with an SI prefix.

    Parameters
    ----------
    value : float
        In the bare unit.
    unit : str
        The unit's symbol.
    digits : int
        Significant digits [1].

    Returns
    -------
    str
        ``3.35 TB/s``, ``21.4 ms``.
    """
    size, least = abs(value), 1 - 0.5 * 10**-digits
    for factor, prefix in _PREFIXES:
        if size >= factor * least:
            return f"{significant(value / factor, digits)} {prefix}{unit}"
    return f"{significant(value, digits)} {unit}"


def binary_bytes(value: float) -> str:
    """A memory capacity in binary units.

    Parameters
    ----------
    value : float
        [byte].

    Returns
    -------
    str
        ``79.2 GiB``.
    """
    for factor, unit in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(value) >= factor:
            return f"{significant(value / factor)} {unit}"
    return f"{significant(value)} B"


def seconds(value: float) -> str:
    """A time as people read it.

    Parameters
    ----------
    value : float
        [s].

    Returns
    -------
    str
        ``412 µs``, ``21.4 ms``, ``1.25 s``.
    """
    return prefixed(value, "s") if value < 1000 else f"{value:,.0f} s"
