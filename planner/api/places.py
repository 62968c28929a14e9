"""How many questions of a kind one caller may have running at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from planner.api.problems import Busy


class Places:
    """A few places for each caller; the event loop is the only thread that takes and gives them."""

    def __init__(self, what: str, most: int) -> None:
        self._what, self._most = what, most
        self._running: Counter[str] = Counter()

    @contextmanager
    def one_of(self, caller: str) -> Iterator[None]:
        """Hold one of the caller's places, or refuse."""
        if self._running[caller] >= self._most:
            raise Busy(f"You already have {self._most} {self._what} running.", hint="Wait for one, or submit jobs.")
        self._running[caller] += 1
        try:
            yield
        finally:
            self._running[caller] -= 1
