"""Numbers as people read them: three significant digits, a unit with a prefix, binary only for capacities."""

from __future__ import annotations

from math import floor, log10

from planner.core.quantities.units import GIB, KIB, MIB

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"),
             (1e-9, "n"))
_LARGEST_WHOLE = 1e15
"""Beyond it a float tells neighbouring whole numbers hardly apart [1]."""


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


def amount(value: float) -> str:
    """A number that may be a whole one: all of its digits if it is, else three significant ones.

    Parameters
    ----------
    value : float
        Any unit.

    Returns
    -------
    str
        ``64``, ``2.38``, ``1,048,576``.
    """
    whole = value == value and abs(value) < _LARGEST_WHOLE and value == floor(value)  # noqa: PLR0124 - NaN is unequal to itself
    return f"{value:,.0f}" if whole else significant(value)


def counted(value: float, noun: str) -> str:
    """A number of things, in the singular where it reads as one.

    Parameters
    ----------
    value : float
        How many, whole or on the mean [1].
    noun : str
        Its singular; the plural takes an s.

    Returns
    -------
    str
        ``1 request``, ``2.38 requests``, ``1,024 requests``.
    """
    text = amount(value)
    return f"1 {noun}" if text in {"1", "1.00"} else f"{text} {noun}s"


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
