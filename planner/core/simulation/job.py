"""A request on its way through the simulator."""

from __future__ import annotations


class Job:
    """One request; mutable, since a million of them pass through lists of the simulator."""

    __slots__ = ("alive", "arrival", "cached", "context", "entered", "finish_step", "first", "generated", "held",
                 "input", "joined_step", "last", "left", "output", "priority", "query", "ready", "serial",
                 "session", "target")

    def __init__(self, serial: int, arrival: float, input_tokens: int, output_tokens: int, *, cached: int = 0,
                 session: str | int | None = None, priority: int = 0) -> None:
        self.serial = serial
        self.arrival = arrival
        """[s]"""
        self.ready = arrival
        """When the engine can see it: sent, received and tokenised [s]."""
        self.entered = arrival
        """When it entered this pool, for time averages [s]."""
        self.input = input_tokens
        self.output = output_tokens
        self.cached = min(cached, input_tokens - 1)
        """Prompt tokens found in the prefix cache; at least one is computed [token]."""
        self.session = session
        self.priority = priority
        self.target = input_tokens
        """Tokens to have in the cache before the next token can be sampled; grows by recomputation [token]."""
        self.left = input_tokens - self.cached
        """Prompt tokens still to compute [token]."""
        self.generated = 0
        self.first = -1.0
        """Time of the first token [s]."""
        self.last = -1.0
        """Time of the latest token before a preemption; -1 when the next gap is an ordinary step [s]."""
        self.held = 0
        """Cache blocks held [1]."""
        self.context = 0.0
        """Context of the first decode step after joining the batch [token]."""
        self.joined_step = 0
        self.finish_step = 0
        self.alive = 0
        """Stamp of the current stay in the batch; entries of an earlier stay are void."""
        self.query = 0
        """Prompt tokens in the step being run [token]."""
