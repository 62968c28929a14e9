"""How often a user and a workspace may ask: buckets that refill evenly."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MOST_BUCKETS = 10_000


class Bucket:
    """So many questions a minute for each name, with a minute's worth saved up."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._full = float(per_minute)
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one; 0 when granted, else the seconds until the next."""
        now = self._clock()
        level, then = self._levels.pop(name, (self._full, now))
        level = min(self._full, level + (now - then) * self._full / 60.0)
        granted = level >= 1.0
        self._levels[name] = (level - 1.0 if granted else level, now)
        while len(self._levels) > MOST_BUCKETS:
            self._levels.popitem(last=False)
        return 0.0 if granted else (1.0 - level) * 60.0 / self._full
