"""The planning calendar: equal periods of whole months, and what money at each point is worth today."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array, require_non_negative
from planner.core.quantities.units import HOURS_PER_MONTH, SECONDS_PER_HOUR

MONTHS_PER_YEAR = 12
LONGEST_HORIZON_MONTHS = 240
"""[month] Twenty years: longer than any accelerator is kept, short enough that growth cannot overflow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """Periods of the horizon and the yearly cost of capital."""

    periods: int
    """Periods in the horizon [1]."""
    months_per_period: int = 1
    """Whole months in one period [month]."""
    discount_rate: float = 0.0
    """Cost of capital [1/year]."""

    def __post_init__(self) -> None:
        """Refuse a horizon that is empty or endless."""
        if self.periods < 1 or self.months_per_period < 1 or self.months > LONGEST_HORIZON_MONTHS:
            raise InvalidQuantity(f"The horizon must be 1 to {LONGEST_HORIZON_MONTHS} months, got {self.periods} "
                                  f"periods of {self.months_per_period}.", pointer="/horizon_months")
        require_non_negative("cost_of_capital", self.discount_rate)

    @property
    def months(self) -> int:
        """Months in the horizon [month]."""
        return self.periods * self.months_per_period

    @property
    def period_s(self) -> float:
        """Length of one period [s]: months of 365.25/12 days."""
        return self.months_per_period * HOURS_PER_MONTH * SECONDS_PER_HOUR

    def worth_at_start(self) -> Array:
        """Present value of one dollar paid when each period begins.

        Returns
        -------
        ndarray
            (period,) [1].
        """
        return self._worth(np.arange(self.periods, dtype=np.float64))

    def worth_in_middle(self) -> Array:
        """Present value of one dollar spent evenly over each period (mid-period convention).

        Returns
        -------
        ndarray
            (period,) [1].
        """
        return self._worth(np.arange(self.periods, dtype=np.float64) + 0.5)

    def worth_at_end(self) -> float:
        """Present value of one dollar received when the horizon ends.

        Returns
        -------
        float
            [1].
        """
        return float(self._worth(np.array([float(self.periods)]))[0])

    def _worth(self, periods: Array) -> Array:
        years = periods * self.months_per_period / MONTHS_PER_YEAR
        worth: Array = (1.0 + self.discount_rate) ** -years
        return worth
