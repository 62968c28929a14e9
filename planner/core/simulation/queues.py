"""Waiting lines with a deque's interface: first come first served is a deque itself, priority is here."""

from __future__ import annotations

import bisect

from planner.core.simulation.job import Job


def _rank(job: Job) -> tuple[int, float, int]:
    return job.priority, job.arrival, job.serial


class PriorityQueue:
    """Lowest priority number first, then earliest arrival; a preempted request keeps its rank."""

    __slots__ = ("_jobs",)

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def append(self, job: Job) -> None:
        """Add a request at its rank."""
        bisect.insort(self._jobs, job, key=_rank)

    appendleft = append

    def popleft(self) -> Job:
        """Remove and return the first."""
        return self._jobs.pop(0)

    def __getitem__(self, index: int) -> Job:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)
