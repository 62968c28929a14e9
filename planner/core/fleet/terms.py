"""From the units people trade in to those the fleet is priced in."""

from __future__ import annotations

from planner.core.fleet.power import meter_power
from planner.core.quantities.arrays import require_fraction, require_non_negative, require_positive
from planner.core.quantities.units import (
    DAYS_PER_YEAR,
    HOURS_PER_DAY,
    HOURS_PER_MONTH,
    JOULE_PER_KWH,
    KILO,
    MEGA,
    SECONDS_PER_HOUR,
)

SECONDS_PER_MONTH = HOURS_PER_MONTH * SECONDS_PER_HOUR
SECONDS_PER_YEAR = DAYS_PER_YEAR * HOURS_PER_DAY * SECONDS_PER_HOUR


def rent_of_unit(usd_per_gpu_hour: float, gpus: int) -> float:
    """Rent of a unit: price per GPU-hour · GPUs / 3600.

    Parameters
    ----------
    usd_per_gpu_hour : float
        [USD/h].
    gpus : int
        GPUs in the unit [1].

    Returns
    -------
    float
        [USD/s].
    """
    return float(require_non_negative("price_per_gpu_hour", usd_per_gpu_hour)) * gpus / SECONDS_PER_HOUR


def energy_of_unit(power_w: float, pue: float, usd_per_kwh: float, power_fraction: float) -> float:
    """Cost of a unit's energy: power · PUE · mean fraction · price.

    Parameters
    ----------
    power_w : float
        IT power limit of the unit [W].
    pue : float
        [1].
    usd_per_kwh : float
        [USD/kWh] at the meter.
    power_fraction : float
        Mean draw over the limit [1].

    Returns
    -------
    float
        [USD/s].
    """
    drawn = float(meter_power(power_w, pue)) * float(require_fraction("power_fraction", power_fraction))
    return drawn * float(require_non_negative("power_price_per_kwh", usd_per_kwh)) / JOULE_PER_KWH


def colocation_of_unit(power_w: float, usd_per_kw_month: float) -> float:
    """Rent of the space and power connection of a unit.

    Parameters
    ----------
    power_w : float
        IT power limit of the unit [W].
    usd_per_kw_month : float
        [USD/(kW·month)].

    Returns
    -------
    float
        [USD/s].
    """
    price = float(require_non_negative("colocation_price_per_kw_month", usd_per_kw_month))
    return power_w / KILO * price / SECONDS_PER_MONTH


def monthly_of_unit(usd_per_gpu_month: float, gpus: int) -> float:
    """A monthly charge per GPU as a rate of a unit.

    Parameters
    ----------
    usd_per_gpu_month : float
        [USD/month].
    gpus : int
        GPUs in the unit [1].

    Returns
    -------
    float
        [USD/s].
    """
    return float(require_non_negative("price_per_gpu_month", usd_per_gpu_month)) * gpus / SECONDS_PER_MONTH


def support_of_unit(capital_usd: float, fraction_per_year: float) -> float:
    """A yearly support contract as a rate: a fraction of the price paid.

    Parameters
    ----------
    capital_usd : float
        Price of the unit [USD].
    fraction_per_year : float
        [1/year].

    Returns
    -------
    float
        [USD/s].
    """
    return capital_usd * float(require_fraction("support_fraction_per_year", fraction_per_year)) / SECONDS_PER_YEAR


def periods_of(months: int, months_per_period: int) -> int:
    """Whole periods that hold a number of months, rounded up.

    Parameters
    ----------
    months : int
        [month].
    months_per_period : int
        [month].

    Returns
    -------
    int
        [period].
    """
    return -(-months // months_per_period)


def rate_of_tokens(tokens_per_month: float, tokens_per_request: float) -> float:
    """Mean request rate of a monthly token count.

    Parameters
    ----------
    tokens_per_month : float
        Input and output together [token].
    tokens_per_request : float
        Input and output together [token].

    Returns
    -------
    float
        [1/s].
    """
    tokens = require_positive("tokens_per_month", tokens_per_month)
    return float(tokens / require_positive("tokens_per_request", tokens_per_request)) / SECONDS_PER_MONTH


def per_token(usd_per_million: float) -> float:
    """A price per million tokens as a price per token.

    Parameters
    ----------
    usd_per_million : float
        [USD].

    Returns
    -------
    float
        [USD/token].
    """
    return float(require_non_negative("price_per_million", usd_per_million)) / MEGA
