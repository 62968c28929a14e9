"""What is left of a time limit."""

from __future__ import annotations

import time


class Clock:
    """Time left of a share of a limit."""

    def __init__(self, limit_s: float) -> None:
        self._began, self._limit = time.monotonic(), limit_s

    @property
    def limit_s(self) -> float:
        """The limit itself [s]."""
        return self._limit

    def left(self, share: float) -> float:
        """Time left until that share of the limit is used.

        Parameters
        ----------
        share : float
            [1].

        Returns
        -------
        float
            [s], negative when overdue.
        """
        return share * self._limit - (time.monotonic() - self._began)

    def spent(self) -> float:
        """Share of the limit used so far.

        Returns
        -------
        float
            [1], above one when overdue.
        """
        return (time.monotonic() - self._began) / self._limit
