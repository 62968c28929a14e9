"""Sums of clipped contexts Σ min(c, w) of a batch that grows by one step at a time."""

from __future__ import annotations

import heapq
import math

from planner.core.simulation.job import Job

NEVER = 1 << 60
"""More steps than any run takes [1]."""


class WindowSum:
    """One attention span: contexts below it grow, the others stand still."""

    __slots__ = ("crossings", "gain", "growing", "slope", "span", "total")

    def __init__(self, span: float, slope: float, gain: float) -> None:
        self.span = span
        self.slope = slope
        self.gain = gain
        self.total = 0.0
        self.growing = 0
        self.crossings: list[tuple[int, int, int, Job]] = []

    def add(self, job: Job, step: int) -> None:
        """A sequence joins with its context at this step."""
        if job.context >= self.span:
            self.total += self.span
            return
        self.total += job.context
        self.growing += 1
        cross = step + math.ceil((self.span - job.context) / self.gain)
        heapq.heappush(self.crossings, (cross, job.serial, job.alive, job))

    def remove(self, job: Job, step: int) -> None:
        """A sequence leaves after the steps since it joined."""
        context = job.context + self.gain * (step - job.joined_step)
        if job.context < self.span and context < self.span:
            self.growing -= 1
        self.total -= min(context, self.span)

    def next_crossing(self) -> int:
        """Step at which the next context reaches the span."""
        crossings = self.crossings
        while crossings and crossings[0][3].alive != crossings[0][2]:
            heapq.heappop(crossings)
        return crossings[0][0] if crossings else NEVER

    def advance(self, steps: int, now: int) -> None:
        """The batch has run ``steps`` steps and stands at step ``now``."""
        self.total += self.gain * self.growing * steps
        while self.next_crossing() <= now:
            job = heapq.heappop(self.crossings)[3]
            self.growing -= 1
            self.total -= job.context + self.gain * (now - job.joined_step) - self.span
