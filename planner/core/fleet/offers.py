"""What can be had and on which terms: rentals, reservations, purchases; every term is a sum of plain parts.

Parts paid once per unit (``capital``: card, server, network, upfront) and parts that run per second (``running``: rent,
energy, colocation, staff, support) never mix, so doubling every price doubles every cost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.calendar import Calendar
from planner.core.quantities.arrays import Array, require_fraction, require_non_negative, require_positive

CAPITAL_PARTS = ("card", "server", "network", "upfront")
RUNNING_PARTS = ("rent", "energy", "colocation", "staff", "support")
RESIDUAL = "residual"

PoolKey: TypeAlias = tuple[str, str, int, int, float, bool]
"""SKU, site, GPUs per unit, units joined, availability, firm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Where a price comes from and when it held."""

    date: str
    source: str
    currency: str = "USD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(ABC):
    """Units of one SKU at one site on one kind of terms."""

    id: str
    sku: str
    site: str
    unit_gpus: int
    """GPUs had at once: the node or instance, never split [1]."""
    join_units: int = 1
    """Units one replica may span over the network [1]."""
    running: Mapping[str, float] = field(default_factory=dict)
    """[USD/s] per unit by part."""
    power_w: float = 0.0
    """IT power limit of a unit [W]."""
    on_site: bool = False
    """The unit draws on the site's power and racks."""
    units_per_rack: int | None = None
    availability: float = 1.0
    """Share of time a unit is there [1]; below one for spot."""
    firm: bool = True
    """The provider may not take it back."""
    first_period: int = 0
    """Earliest period it can serve in: its lead time [period]."""
    supply_per_period: int | None = None
    """Units that can start per period [1]."""
    supply_total: int | None = None
    """Units that can ever run at once [1]."""
    stamp: Stamp | None = None

    def __post_init__(self) -> None:
        """Refuse terms no contract has."""
        require_positive("unit_gpus", self.unit_gpus)
        require_positive("join_units", self.join_units)
        require_non_negative("power_w", self.power_w)
        for part, price in self.running.items():
            if part not in RUNNING_PARTS:
                raise InvalidQuantity(f"{part!r} is no running part of a price.", hint=", ".join(RUNNING_PARTS))
            require_non_negative(f"{part} of {self.id}", price)
        require_fraction(f"availability of {self.id}", self.availability)
        require_positive(f"availability of {self.id}", self.availability)
        if self.first_period < 0:
            raise InvalidQuantity(f"The lead time of {self.id} must be zero or more.", pointer="/offers")

    @property
    @abstractmethod
    def kind(self) -> str:
        """on_demand, spot, owned, reserved or purchase."""

    @property
    def running_total(self) -> float:
        """All running parts of one unit [USD/s]."""
        return sum(self.running.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rental(Offer):
    """Units that come and go with the load: on demand, spot, or machines already owned."""

    terms: str = "on_demand"

    @property
    def kind(self) -> str:
        """on_demand, spot or owned."""
        return self.terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment(Offer, ABC):
    """Units paid for from a period on, used or not."""

    capital: Mapping[str, float] = field(default_factory=dict)
    """[USD] per unit by part, paid when the unit starts."""
    term: int
    """Periods a unit stays [period]."""

    def __post_init__(self) -> None:
        """Refuse terms no contract has."""
        Offer.__post_init__(self)
        require_positive(f"term of {self.id}", self.term)
        for part, price in self.capital.items():
            if part not in CAPITAL_PARTS:
                raise InvalidQuantity(f"{part!r} is no capital part of a price.", hint=", ".join(CAPITAL_PARTS))
            require_non_negative(f"{part} of {self.id}", price)

    @property
    def capital_total(self) -> float:
        """All capital parts of one unit [USD]."""
        return sum(self.capital.values())

    def active(self, start: int, periods: int) -> Array:
        """Periods in which a unit that starts then is there.

        Parameters
        ----------
        start : int
            Period it starts in.
        periods : int
            Periods of the horizon [1].

        Returns
        -------
        ndarray
            (period,) ones and zeros.
        """
        at = np.arange(periods)
        return ((at >= start) & (at < start + self.term)).astype(np.float64)

    @abstractmethod
    def charged(self, start: int, calendar: Calendar) -> Array:
        """Periods' worth of running cost charged in each period.

        Parameters
        ----------
        start : int
            Period the unit starts in.
        calendar : Calendar
            The periods.

        Returns
        -------
        ndarray
            (period,) [period].
        """

    @abstractmethod
    def resale(self, start: int, calendar: Calendar) -> float:
        """Value left in a unit when the horizon ends.

        Parameters
        ----------
        start : int
            Period the unit starts in.
        calendar : Calendar
            The periods.

        Returns
        -------
        float
            [USD] per unit.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation(Commitment):
    """Rented units committed to for a term; what lies beyond the horizon is charged in its last period."""

    @property
    def kind(self) -> str:
        """The word reserved."""
        return "reserved"

    def charged(self, start: int, calendar: Calendar) -> Array:
        """Periods' worth of running cost charged in each period, the tail beyond the horizon in the last.

        Parameters
        ----------
        start : int
            Period the unit starts in.
        calendar : Calendar
            The periods.

        Returns
        -------
        ndarray
            (period,) [period].
        """
        charged = self.active(start, calendar.periods)
        charged[-1] += max(start + self.term - calendar.periods, 0)
        return charged

    def resale(self, start: int, calendar: Calendar) -> float:  # noqa: ARG002 - a reservation leaves nothing to sell
        """Nothing: a reservation cannot be sold.

        Parameters
        ----------
        start : int
            Unused.
        calendar : Calendar
            Unused.

        Returns
        -------
        float
            0 [USD].
        """
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase(Commitment):
    """Bought units, depreciated in a straight line to a residual and sold at book value when the horizon ends."""

    residual_fraction: float = 0.0
    """Value left at the end of its life over the price paid, network and server included [1]."""

    def __post_init__(self) -> None:
        """Refuse terms no contract has."""
        Commitment.__post_init__(self)
        require_fraction(f"residual_fraction of {self.id}", self.residual_fraction)

    @property
    def kind(self) -> str:
        """The word purchase."""
        return "purchase"

    def charged(self, start: int, calendar: Calendar) -> Array:
        """Periods' worth of running cost charged in each period: those it runs in.

        Parameters
        ----------
        start : int
            Period the unit starts in.
        calendar : Calendar
            The periods.

        Returns
        -------
        ndarray
            (period,) [period].
        """
        return self.active(start, calendar.periods)

    def resale(self, start: int, calendar: Calendar) -> float:
        """Book value when the horizon ends (straight line to the residual over the life).

        Parameters
        ----------
        start : int
            Period the unit starts in.
        calendar : Calendar
            The periods.

        Returns
        -------
        float
            [USD] per unit.

        References
        ----------
        IAS 16, Property, Plant and Equipment, §62 (straight-line method).
        """
        return self.capital_total * float(self.book_fraction(float(calendar.periods - start)))

    def book_fraction(self, age: float | Array) -> Array:
        """Book value over price at an age.

        Parameters
        ----------
        age : float or ndarray
            Periods since it started [period].

        Returns
        -------
        ndarray
            [1].
        """
        worn = np.clip(np.asarray(age, dtype=np.float64) / self.term, 0.0, 1.0)
        return np.asarray(1.0 - (1.0 - self.residual_fraction) * worn, dtype=np.float64)
