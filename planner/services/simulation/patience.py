"""When a simulation is given up: arrivals go on until the measured requests are answered, which may be never."""

from __future__ import annotations

from planner.core.errors import InvalidQuantity
from planner.core.simulation.cluster import SHARE


class Starved(InvalidQuantity):
    """Measured requests wait while others arrive and arrive."""


class Patience:
    """Counts what is dealt, so that the same run is always given up at the same request."""

    def __init__(self, most: float) -> None:
        self._left = most

    def dealt(self, measured: float) -> None:
        """Note that another share of requests was dealt; called by the run as its progress."""
        del measured
        self._left -= SHARE
        if self._left < 0:
            raise Starved("The load is so far beyond the deployment that measured requests are never answered.",
                          pointer="/plan/workload", hint="Ask for a lower rate or shorter, less varied requests.")
