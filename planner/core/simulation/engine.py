"""A replica: its ranks step together, and stretches of equal steps are jumped over.

A stretch of m decode steps lasts m·t + s·m(m-1)/2; it ends with the first completion, a full cache, a context that
reaches its window, the next arrival that could start, or the moment the caller asked for.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from planner.core.simulation.job import Job
from planner.core.simulation.queues import PriorityQueue
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.scheduler import Rank
from planner.core.simulation.settings import RankSettings


class Replica:
    """One engine with data-parallel ranks or pipeline micro-batches that wait for one another at every step."""

    __slots__ = ("clock", "feedback", "inbox", "looked", "passes", "planned", "poll", "ranks", "recorder", "settings")

    def __init__(self, settings: RankSettings, recorder: Recorder, *, groups: int = 1, queue: str = "fcfs") -> None:
        self.settings = settings
        self.recorder = recorder
        self.ranks = [Rank(settings, recorder, PriorityQueue() if queue == "priority" else deque())
                      for _ in range(groups)]
        self.inbox: deque[Job] = deque()
        self.clock = self.looked = 0.0
        self.feedback: Callable[[Job, float], None] | None = None
        """Called with every finished request of a closed loop on this replica alone."""
        self.passes = 0
        self.planned: tuple[float, float, int, bool] | None = None
        """A plan made and not yet run: planning admits and preempts, so it is not done twice."""
        self.poll = settings.poll_steps

    def _deliver(self, seen: float, now: float) -> None:
        """Hand requests that had arrived at the last look to the least loaded rank; refuse what can never fit."""
        inbox, recorder = self.inbox, self.recorder
        while inbox and inbox[0].ready <= seen:
            job = inbox.popleft()
            s = self.settings
            if s.blocks_for(job.input + job.output, job.input + job.output) > s.blocks:
                recorder.refused += 1
                continue
            recorder.area[0] += now - job.entered
            recorder.area[1] += now - job.entered
            rank = self.ranks[0] if len(self.ranks) == 1 else min(
                self.ranks, key=lambda r: len(r.waiting) + len(r.running))
            rank.waiting.append(job)

    def _lockstep(self) -> tuple[float, float, int, bool]:
        """Time, slope and number of steps that all ranks can take together; whether an arrival matters.

        With several ranks it always does, because it is dealt out by the loads of that moment.
        """
        ranks = self.ranks
        time = ranks[0].plan()
        if len(ranks) == 1:
            return time, ranks[0].slope, ranks[0].limit, ranks[0].open()
        times = [time, *(rank.plan() for rank in ranks[1:])]
        time = max(times)
        slope = max(rank.slope for rank, own in zip(ranks, times, strict=True) if own == time)
        limit = min(rank.limit for rank in ranks)
        for rank, own in zip(ranks, times, strict=True):
            if rank.slope > slope:
                limit = min(limit, int((time - own) / (rank.slope - slope)) + 1)
        return time, slope, limit, True

    def run(self, until: float = math.inf) -> None:
        """Advance as far as steps end by ``until``, or there is nothing to do, or the recorder has what it wants.

        Parameters
        ----------
        until : float
            Every arrival before it is known [s].
        """
        inbox, recorder = self.inbox, self.recorder
        while self.clock < until and not recorder.done:
            now = self.clock
            if inbox and inbox[0].ready <= now:
                self._deliver(now if self.poll == 1 or self._empty() else self.looked, now)
                self.planned = None
            plan = self.planned or self._lockstep()
            self.planned = None
            time, slope, steps, can_start = plan
            if time == 0.0:
                if not inbox or inbox[0].ready >= until:
                    return
                self.clock = max(now, inbox[0].ready)
                continue
            if steps > 1 and can_start and inbox:
                steps = min(steps, self._steps_to(max(inbox[0].ready - now, 0.0), time, slope))
            if until < math.inf:
                steps = min(steps, _steps_within(until - now, time, slope))
                if not steps:
                    self.planned = plan
                    return
            self._advance(steps, now, time, slope)

    def _empty(self) -> bool:
        return not any(rank.running or rank.waiting for rank in self.ranks)

    def _steps_to(self, gap: float, time: float, slope: float) -> int:
        """Fewest steps that last at least ``gap``, up to the next look at arrivals."""
        if slope:
            b = time - slope / 2.0
            steps = math.ceil(2.0 * gap / (b + math.sqrt(b * b + 2.0 * slope * gap)) - 1e-9)
        else:
            steps = math.ceil(gap / time - 1e-9)
        steps = max(steps, 1)
        return steps if self.poll == 1 else steps + -(self.passes + steps) % self.poll

    def _advance(self, steps: int, now: float, time: float, slope: float) -> None:
        duration = _lasting(steps, time, slope)
        end = now + duration
        recorder, blocks = self.recorder, self.settings.blocks
        system = waiting = batch = free = 0
        for rank in self.ranks:
            waiting += len(rank.waiting)
            system += len(rank.waiting) + len(rank.running)
            batch += rank.batch
            free += rank.free
        finished = recorder.measured
        for rank in self.ranks:
            rank.commit(steps, now, time, end)
            free += rank.free
        occupied = 1.0 - free / (2.0 * blocks * len(self.ranks))
        area = recorder.area
        area[0] += system * duration
        area[1] += waiting * duration
        area[2] += occupied * duration
        area[3] += batch * duration
        area[4] += duration
        if finished != recorder.measured or waiting:
            recorder.sample(end, waiting, batch, occupied)
        self.clock = end
        if self.poll > 1:
            seen = steps - (self.passes + steps) % self.poll
            if seen >= 0:
                self.looked = now + _lasting(seen, time, slope)
        self.passes += steps
        if self.feedback is not None and recorder.on_finish:
            answered, recorder.on_finish = recorder.on_finish, []
            for job, when in answered:
                self.feedback(job, when)

    def load(self) -> int:
        """Requests sent here and not finished [1]."""
        return len(self.inbox) + sum(len(rank.waiting) + len(rank.running) for rank in self.ranks)

    def bound(self) -> float:
        """No request of this replica finishes before this moment [s]."""
        inbox = self.inbox
        if inbox and inbox[0].ready <= self.clock:
            return self.clock
        if self.planned is None:
            self.planned = self._lockstep()
        time, slope, steps, can_start = self.planned
        if not time:
            return inbox[0].ready if inbox else math.inf
        if inbox and steps > 1 and can_start:
            steps = min(steps, self._steps_to(inbox[0].ready - self.clock, time, slope))
        return self.clock + _lasting(steps, time, slope)


def _lasting(steps: int, time: float, slope: float) -> float:
    return steps * time + slope * steps * (steps - 1) / 2.0


def _steps_within(gap: float, time: float, slope: float) -> int:
    """Most steps that last no longer than ``gap``."""
    if not slope:
        return int(gap / time + 1e-9)
    b = time - slope / 2.0
    return int(2.0 * gap / (b + math.sqrt(b * b + 2.0 * slope * gap)) + 1e-9)
