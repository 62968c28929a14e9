"""Demand over time: an hourly pattern with growth, cut into the slices a fleet is sized for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from planner.core.errors import InvalidQuantity
from planner.core.fleet.calendar import Calendar
from planner.core.quantities.arrays import Array, require_non_negative, require_positive
from planner.core.quantities.units import HOURS_PER_DAY, HOURS_PER_MONTH

DAYS_PER_WEEK = 7
LONGEST_HOURLY = 20 * 8_784
"""[hour] Twenty leap years of hours."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """Load of one workload: a typical stretch of hours at month 0, growing every month; equal only to itself."""

    hourly: Array
    """(hour,) load, in requests/s or in requests in flight."""
    growth: float = 0.0
    """Relative growth per month [1/month]; negative shrinks."""
    covers_horizon: bool = False
    """The hours run from the first day to the last instead of repeating."""

    def __post_init__(self) -> None:
        """Refuse empty, negative or endless demand."""
        if self.hourly.ndim != 1 or not 1 <= self.hourly.size <= LONGEST_HOURLY:
            raise InvalidQuantity(f"Hourly demand must be one row of 1 to {LONGEST_HOURLY} hours, got shape "
                                  f"{self.hourly.shape}.", pointer="/demand/hourly")
        require_non_negative("demand", self.hourly)
        require_positive("demand peak", self.hourly.max())
        if not -1.0 < self.growth <= 1.0:
            raise InvalidQuantity(f"growth_per_month must be above -1 and at most 1, got {self.growth:g}.",
                                  pointer="/demand/growth_per_month")


def weekly(peak: float, day: Sequence[float] | Array, week: Sequence[float] | Array) -> Array:
    """Hourly load of a week whose highest hour is the peak.

    Parameters
    ----------
    peak : float
        Load of the busiest hour [load].
    day : sequence
        24 relative loads by hour.
    week : sequence
        7 relative loads by day.

    Returns
    -------
    ndarray
        (168,) [load].

    Raises
    ------
    InvalidQuantity
        Wrong lengths, a negative entry or an all-zero shape.
    """
    hours = require_non_negative("day shape", np.asarray(day, dtype=np.float64))
    days = require_non_negative("week shape", np.asarray(week, dtype=np.float64))
    if hours.shape != (int(HOURS_PER_DAY),) or days.shape != (DAYS_PER_WEEK,):
        raise InvalidQuantity("A daily shape has 24 numbers and a weekly shape 7.", pointer="/demand/daily_shape")
    shape = np.outer(days, hours).ravel()
    require_positive("demand shape", shape.max())
    load: Array = float(require_positive("demand peak", peak)) * shape / shape.max()
    return load


def cosine_day(peak_to_mean: float, peak_hour: float = 14.0) -> Array:
    """Relative load by hour of a day whose peak is a given multiple of its mean: a cosine.

    Parameters
    ----------
    peak_to_mean : float
        Busiest hour over the daily mean [1], 1 (flat) to 2 (empty at night).
    peak_hour : float
        Hour of the peak [hour].

    Returns
    -------
    ndarray
        (24,), largest entry 1 when the peak hour is whole.

    Raises
    ------
    InvalidQuantity
        A ratio no cosine day can have.
    """
    if not 1.0 <= peak_to_mean <= 2.0:
        raise InvalidQuantity(f"peak_to_mean must lie between 1 and 2, got {peak_to_mean:g}.",
                              pointer="/demand/peak_to_mean", hint="Give a daily_shape for a sharper peak.")
    hours = np.arange(HOURS_PER_DAY)
    shape = 1.0 + (peak_to_mean - 1.0) * np.cos(2 * np.pi * (hours - peak_hour) / HOURS_PER_DAY)
    day: Array = np.maximum(shape, 0.0) / peak_to_mean
    return day


def scaled_to_mean(shape: Array, mean: float) -> Array:
    """Hourly load of a shape whose mean is given instead of its peak.

    Parameters
    ----------
    shape : ndarray
        (hour,) relative loads.
    mean : float
        Mean load [load].

    Returns
    -------
    ndarray
        (hour,) [load].
    """
    load: Array = shape * float(require_positive("mean demand", mean)) / float(require_positive("shape", shape.mean()))
    return load


def hours_of_period(demand: Demand, calendar: Calendar, period: int) -> Array:
    """Hourly load inside one period, growth applied month by month.

    Parameters
    ----------
    demand : Demand
        The workload's demand.
    calendar : Calendar
        The periods.
    period : int
        Which one, from 0.

    Returns
    -------
    ndarray
        (hour,) [load]; a repeating pattern appears once per month.

    Raises
    ------
    InvalidQuantity
        An hourly file that ends before the horizon does.
    """
    months = np.arange(period * calendar.months_per_period, (period + 1) * calendar.months_per_period)
    if not demand.covers_horizon:
        factors = (1.0 + demand.growth) ** months
        load: Array = np.outer(factors, demand.hourly).ravel()
        return load
    edges = np.round(np.array([months[0], months[-1] + 1]) * HOURS_PER_MONTH).astype(int)
    # The last hour of the horizon may be missing by rounding months of 730.5 hours; a whole day may not.
    if edges[1] > demand.hourly.size + HOURS_PER_DAY:
        raise InvalidQuantity(f"Hourly demand ends after {demand.hourly.size} hours, before period {period + 1} does "
                              f"(hour {edges[1]}).", pointer="/demand/hourly",
                              hint="Shorten the horizon or let the hours repeat.")
    factor = (1.0 + demand.growth) ** (months[0])
    return np.asarray(demand.hourly[edges[0]:edges[1]] * factor, dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """The moments a fleet is sized for: parts of each period with their own load."""

    period: npt.NDArray[np.int64]
    """(slice,) period each slice belongs to."""
    share: Array
    """(slice,) fraction of its period [1]; sums to one per period."""
    peak: Array
    """(workload, slice) highest load [load]."""
    mean: Array
    """(workload, slice) mean load [load]."""


def slices(demands: Sequence[Demand], calendar: Calendar, blocks: int = 1) -> Slices:
    """Slices of all periods: each period's hours ranked by joint load and cut into equal blocks.

    Parameters
    ----------
    demands : sequence of Demand
        One per workload.
    calendar : Calendar
        The periods.
    blocks : int
        Blocks per period; 1 sizes every hour for the period's peak, more lets rented units follow the day.

    Returns
    -------
    Slices
        Ordered by period, then from the busiest block to the quietest.

    Raises
    ------
    InvalidQuantity
        Several blocks over hourly patterns of different lengths, or more blocks than hours.
    """
    return _slices(tuple(demands), calendar, blocks)


@lru_cache(maxsize=64)
def _slices(demands: tuple[Demand, ...], calendar: Calendar, blocks: int) -> Slices:
    """The slices of demands already seen: a change of prices moves none of them."""
    periods, shares, peaks, means = [], [], [], []
    for period in range(calendar.periods):
        hours = [hours_of_period(d, calendar, period) for d in demands]
        for columns, share in _blocks(hours, blocks):
            periods.append(period)
            shares.append(share)
            peaks.append([c.max() for c in columns])
            means.append([c.mean() for c in columns])
    return Slices(period=np.array(periods, dtype=np.int64), share=np.array(shares),
                  peak=np.array(peaks).T, mean=np.array(means).T)


def _blocks(hours: list[Array], blocks: int) -> list[tuple[list[Array], float]]:
    if blocks == 1:
        return [(hours, 1.0)]
    if len({h.size for h in hours}) > 1 or not 1 <= blocks <= hours[0].size:
        raise InvalidQuantity("Blocks need hourly patterns of one length, at least one hour per block.",
                              pointer="/demand/blocks", hint="Use blocks = 1 or patterns of the same length.")
    order = np.argsort(-np.sum([h / h.max() if h.max() > 0 else h for h in hours], axis=0), kind="stable")
    return [([h[part] for h in hours], part.size / order.size) for part in np.array_split(order, blocks)]
