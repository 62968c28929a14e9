"""Watts, kilowatt-hours, carbon and joules per token of the units a fleet runs."""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.quantities.arrays import (
    Array,
    Numeric,
    require_fraction,
    require_non_negative,
    require_positive,
)
from planner.core.quantities.units import JOULE_PER_KWH


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where units run: what a joule costs and emits there, and how many watts and racks there are."""

    id: str
    energy_price: float = 0.0
    """[USD/J] at the meter."""
    pue: float = 1.0
    """Meter energy over IT energy [1]."""
    carbon: float | None = None
    """[kg/J] of CO2 equivalent."""
    colocation: float = 0.0
    """[USD/(W·s)] rent of a watt of IT power, space included."""
    power_cap_w: float | None = None
    """[W] at the meter."""
    rack_cap: int | None = None
    """Racks [1]."""


def unit_power(gpus: int, board_w: float, host_w: float = 0.0) -> float:
    """IT power of a unit with every board at its limit: a bound from above.

    Parameters
    ----------
    gpus : int
        GPUs in the unit [1].
    board_w : float
        Board power limit of one GPU [W].
    host_w : float
        CPUs, fans, NICs and power supplies of the unit [W].

    Returns
    -------
    float
        [W] at the power supplies, before PUE.
    """
    return gpus * float(require_positive("power_w", board_w)) + float(require_non_negative("host_w", host_w))


def meter_power(it_power_w: Numeric, pue: float) -> Array:
    """Power at the meter: IT power times PUE.

    Parameters
    ----------
    it_power_w : float or ndarray
        [W], any shape.
    pue : float
        Power usage effectiveness [1], at least 1.

    Returns
    -------
    ndarray
        [W], same shape.

    References
    ----------
    ISO/IEC 30134-2:2016, Power usage effectiveness.
    """
    watts: Array = require_non_negative("power", it_power_w) * (1.0 + float(require_non_negative("pue - 1", pue - 1.0)))
    return watts


def energy(it_power_w: Numeric, seconds: Numeric, pue: float, power_fraction: float) -> Array:
    """Energy at the meter over a time.

    Parameters
    ----------
    it_power_w : float or ndarray
        Power limit of the running units [W].
    seconds : float or ndarray
        [s], broadcast against the power.
    pue : float
        [1].
    power_fraction : float
        Mean draw over the limit [1]; 1 bounds from above.

    Returns
    -------
    ndarray
        [J].
    """
    drawn = meter_power(it_power_w, pue) * float(require_fraction("power_fraction", power_fraction))
    joules: Array = drawn * require_non_negative("seconds", seconds)
    return joules


def kilowatt_hours(joules: Numeric) -> Array:
    """Energy in kilowatt-hours.

    Parameters
    ----------
    joules : float or ndarray
        [J].

    Returns
    -------
    ndarray
        [kWh].
    """
    energy_kwh: Array = require_non_negative("energy", joules) / JOULE_PER_KWH
    return energy_kwh


def joules_per_token(joules: float, tokens: float) -> float:
    """Energy divided by the tokens it produced.

    Parameters
    ----------
    joules : float
        [J].
    tokens : float
        [token].

    Returns
    -------
    float
        [J/token].
    """
    return float(require_non_negative("energy", joules) / require_positive("tokens", tokens))
