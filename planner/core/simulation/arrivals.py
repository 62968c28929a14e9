"""Streams of requests: an open loop of any rate, users of a closed loop, or a recorded trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from planner.core.simulation.job import Job
from planner.core.simulation.laws import BLOCK, LengthLaw, unit_gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What is asked: lengths, shared prefixes, sessions and priorities."""

    input_law: LengthLaw
    output_law: LengthLaw
    prefix_hit: float = 0.0
    """Share of every prompt found in the prefix cache [1]."""
    sessions: int = 0
    """Conversations the requests are drawn from; 0 = none [1]."""
    priorities: int = 1
    """Priority levels, drawn evenly; lower numbers go first [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of a trace."""

    time: float
    """[s]"""
    input_tokens: int
    output_tokens: int
    session: str | None = None
    priority: int = 0


class JobFactory:
    """Requests of a mix in a fixed order for a seed, whatever the rate they come at."""

    def __init__(self, mix: Mix, seed: int, *, block_tokens: int = 1, latencies: Iterator[float] | None = None) -> None:
        children = np.random.SeedSequence(seed).spawn(4)
        self._inputs = mix.input_law.stream(np.random.default_rng(children[0]))
        self._outputs = mix.output_law.stream(np.random.default_rng(children[1]))
        self._labels = np.random.default_rng(children[2])
        self.gap_rng = np.random.default_rng(children[3])
        self._mix = mix
        self._block = block_tokens
        self._latencies = latencies or steady_latency(0.0)
        self.count = 0

    def at(self, time: float) -> Job:
        """The next request, sent at ``time``."""
        mix, size = self._mix, next(self._inputs)
        cached = int(mix.prefix_hit * size) // self._block * self._block if mix.prefix_hit else 0
        session = int(self._labels.integers(mix.sessions)) if mix.sessions else None
        priority = int(self._labels.integers(mix.priorities)) if mix.priorities > 1 else 0
        job = Job(self.count, time, size, next(self._outputs), cached=cached, session=session, priority=priority)
        job.ready = time + next(self._latencies)
        self.count += 1
        return job


def steady_latency(mean: float) -> Iterator[float]:
    """The same time for every request.

    Parameters
    ----------
    mean : float
        From sending to the engine's seeing a request [s].

    Yields
    ------
    float
        [s].
    """
    while True:
        yield mean


def random_latency(mean: float, seed: int) -> Iterator[float]:
    """Times of clients and servers that are busy with many requests at once, exponential.

    Parameters
    ----------
    mean : float
        From sending to the engine's seeing a request [s].
    seed : int
        Of its own stream.

    Yields
    ------
    float
        [s]; their spread is what pulls requests of equal length apart.
    """
    rng = np.random.default_rng(np.random.SeedSequence((seed, 2)))
    while True:
        yield from (rng.exponential(1.0, BLOCK) * mean).tolist()


def open_stream(factory: JobFactory, rate: float, cv: float) -> Iterator[Job]:
    """Requests at a rate, without end.

    Parameters
    ----------
    factory : JobFactory
        Where lengths come from.
    rate : float
        Arrivals [1/s].
    cv : float
        Coefficient of variation of the gaps [1].

    Yields
    ------
    Job
        In order of arrival.
    """
    time = 0.0
    for gap in unit_gaps(factory.gap_rng, cv):
        time += gap / rate
        yield factory.at(time)


def trace_stream(records: Iterable[Record], *, scale: float = 1.0, latency: float = 0.0) -> Iterator[Job]:
    """Requests of a trace, its time axis divided by ``scale``.

    Parameters
    ----------
    records : iterable of Record
        In order of time; read one at a time.
    scale : float
        2 sends the same requests at twice the rate [1].
    latency : float
        From sending to the engine's seeing a request [s].

    Yields
    ------
    Job
        In order of arrival, from time 0.
    """
    start: float | None = None
    for serial, record in enumerate(records):
        start = record.time if start is None else start
        job = Job(serial, (record.time - start) / scale, record.input_tokens, record.output_tokens,
                  session=record.session, priority=record.priority)
        job.ready = job.arrival + latency
        yield job
