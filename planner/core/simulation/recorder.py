"""What a run measures: latencies per request, gaps between tokens in a logarithmic histogram, time averages."""

from __future__ import annotations

import math
from array import array

from planner.core.simulation.job import Job

BINS_PER_UNIT = 200
"""Histogram bins per factor e of a gap: 0.5 % wide [1]."""
OFFSET = 20 * BINS_PER_UNIT
"""The lowest bin lies at exp(-20) s = 2 ns [1]."""
BINS = 32 * BINS_PER_UNIT
SERIES = 2048
"""Samples of a time series before every second one is dropped [1]."""


class Recorder:
    """Measurements of requests ``first_serial`` ≤ serial < ``last_serial``.

    Everything else is counted from the moment when ``first_serial`` requests had finished: the warm-up leaves no trace.
    """

    __slots__ = ("_every", "_skip", "area", "arrival", "done", "e2e", "finished_all", "first_serial", "gap_sum", "gaps",
                 "histogram", "last_serial", "measured", "on_finish", "outputs", "peak_waiting", "preemptions",
                 "refused", "series", "since", "tokens_in", "tokens_out", "tpot", "ttft")

    def __init__(self, first_serial: int = 0, last_serial: int = 1 << 60) -> None:
        self.first_serial = first_serial
        self.last_serial = last_serial
        self.measured = self.tokens_in = self.tokens_out = self.preemptions = self.refused = 0
        self.done = False
        self.arrival, self.ttft, self.e2e, self.tpot = array("d"), array("d"), array("d"), array("d")
        self.outputs = array("q")
        self.histogram = array("d", bytes(8 * BINS))
        self.gaps = self.gap_sum = 0.0
        self.area = [0.0, 0.0, 0.0, 0.0, 0.0]
        """Integrals over time of requests in the system, waiting, cache share, decode batch, and busy time."""
        self.peak_waiting = self.finished_all = 0
        self.since = (0.0, 0)
        """When the warm-up ended, and how many had finished [s, 1]."""
        self.series: list[tuple[float, int, int, float]] = []
        self._every = self._skip = 1
        self.on_finish: list[tuple[Job, float]] | None = None

    def gap(self, duration: float, count: int) -> None:
        """Count gaps of one duration between consecutive tokens."""
        if count <= 0 or duration <= 0.0:
            return
        self.gaps += count
        self.gap_sum += duration * count
        index = int(math.log(duration) * BINS_PER_UNIT) + OFFSET
        self.histogram[min(max(index, 0), BINS - 1)] += count

    def first_token(self, job: Job) -> None:
        """A prompt is done; its tokens are counted."""
        self.tokens_in += job.input

    def finished(self, job: Job, time: float) -> None:
        """A request is answered."""
        self.tokens_out += job.output
        self.finished_all += 1
        if self.finished_all == self.first_serial:
            self._forget(time)
        if self.on_finish is not None:
            self.on_finish.append((job, time))
        if self.first_serial <= job.serial < self.last_serial:
            self.arrival.append(job.arrival)
            self.ttft.append(job.first - job.arrival)
            self.e2e.append(time - job.arrival)
            self.tpot.append((time - job.first) / (job.output - 1) if job.output > 1 else math.nan)
            self.outputs.append(job.output)
            self.measured += 1
            if self.measured + self.first_serial >= self.last_serial:
                self.done = True

    def _forget(self, time: float) -> None:
        """The warm-up is over."""
        self.since = (time, self.finished_all)
        self.gaps = self.gap_sum = 0.0
        self.histogram = array("d", bytes(8 * BINS))
        self.area[:] = [0.0] * len(self.area)
        self.tokens_in = self.tokens_out = self.preemptions = self.peak_waiting = 0

    def sample(self, time: float, waiting: int, batch: int, cache: float) -> None:
        """Keep a point of the time series, thinning it as it grows."""
        self.peak_waiting = max(self.peak_waiting, waiting)
        self._skip -= 1
        if self._skip:
            return
        self._skip = self._every
        self.series.append((time, waiting, batch, cache))
        if len(self.series) >= SERIES:
            self.series = self.series[::2]
            self._every *= 2
