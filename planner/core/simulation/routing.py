"""Which replica gets a request: in turn, the least loaded, or the one that holds the conversation's prefix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import final

from planner.core.simulation.engine import Replica
from planner.core.simulation.job import Job

IMBALANCE_REQUESTS = 64
IMBALANCE_RATIO = 1.5
"""A prefix is not worth a queue: beyond these the least loaded wins (SGLang router docs, balance-abs/rel-threshold)."""


class PrefixCache:
    """Conversations whose blocks one replica still holds, least recently used out first."""

    __slots__ = ("capacity", "held", "sessions")

    def __init__(self, capacity_tokens: float) -> None:
        self.capacity = capacity_tokens
        self.held = 0
        self.sessions: OrderedDict[object, int] = OrderedDict()

    def tokens(self, session: object) -> int:
        """Tokens of the conversation still held."""
        return self.sessions.get(session, 0)

    def store(self, session: object, tokens: int) -> None:
        """The conversation now has ``tokens`` tokens here."""
        self.held += tokens - self.sessions.pop(session, 0)
        self.sessions[session] = tokens
        while self.held > self.capacity:
            _, evicted = self.sessions.popitem(last=False)
            self.held -= evicted


class Router(ABC):
    """Chooses a replica for every request."""

    lazy: bool = True
    """Whether it looks at the replicas' loads."""

    @abstractmethod
    def choose(self, job: Job, replicas: Sequence[Replica], loads: list[int]) -> int:
        """Index of the replica."""


@final
class RoundRobin(Router):
    """In turn."""

    lazy = False

    def __init__(self) -> None:
        self._next = -1

    def choose(self, job: Job, replicas: Sequence[Replica], loads: list[int]) -> int:  # noqa: ARG002 - looks at nothing
        """The next one."""
        self._next = (self._next + 1) % len(replicas)
        return self._next


@final
class LeastLoaded(Router):
    """Fewest requests sent and not finished; the lowest index among equals."""

    def choose(self, job: Job, replicas: Sequence[Replica], loads: list[int]) -> int:  # noqa: ARG002 - loads only
        """The least loaded."""
        return loads.index(min(loads))


@final
class PrefixAware(Router):
    """The replica that holds most of the conversation, unless it is far busier than another."""

    def __init__(self, caches: Sequence[PrefixCache]) -> None:
        self._caches = caches

    def choose(self, job: Job, replicas: Sequence[Replica], loads: list[int]) -> int:  # noqa: ARG002 - as above
        """The best cached, else the least loaded."""
        least = min(loads)
        held = [cache.tokens(job.session) for cache in self._caches]
        best = held.index(max(held))
        busy = loads[best] - least > IMBALANCE_REQUESTS and loads[best] > IMBALANCE_RATIO * least
        return best if held[best] and not busy else loads.index(least)
