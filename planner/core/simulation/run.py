"""Simulated runs: open loops, closed loops, traces, benchmarks as they were run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.simulation.arrivals import (
    JobFactory,
    Mix,
    Record,
    open_stream,
    random_latency,
    steady_latency,
    trace_stream,
)
from planner.core.simulation.cluster import Pool, run_by_load, run_in_turn, run_network
from planner.core.simulation.job import Job
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.results import SimulationResult
from planner.core.simulation.system import Measure, System, pool_of, recorder_of, summary_of


def _drive(pool: Pool, jobs: Iterator[Job], recorder: Recorder, measure: Measure) -> SimulationResult:
    run = run_by_load if pool.router.lazy and len(pool.replicas) > 1 else run_in_turn
    run(pool, jobs, recorder, measure.progress if measure.most_missed is None else _ending(recorder, measure))
    return summary_of(recorder, pool.replicas, measure)


def _ending(recorder: Recorder, measure: Measure) -> Callable[[float], None]:
    """Progress that ends a run once more requests missed a target than may: what is left cannot mend it."""
    targets = [(column, target) for column, target in (
        (recorder.ttft, measure.ttft_target), (recorder.tpot, measure.tpot_target)) if target is not None]

    def progress(measured: float) -> None:
        measure.progress(measured)
        for column, target in targets:
            if np.count_nonzero(np.array(column) > target) > (measure.most_missed or 0):
                recorder.done = True

    return progress


def simulate_open(system: System, mix: Mix, rate: float, arrival_cv: float, measure: Measure) -> SimulationResult:
    """Requests at a rate: Poisson for a cv of 1, Gamma otherwise, evenly spaced for 0.

    Parameters
    ----------
    system : System
        Replicas and router.
    mix : Mix
        Lengths and sessions.
    rate : float
        Arrivals at the router [1/s].
    arrival_cv : float
        Coefficient of variation of the gaps [1].
    measure : Measure
        How many requests, which seed, which targets.

    Returns
    -------
    SimulationResult
        The same seed meets the same requests at any rate. Arrivals go on until the measured ones are answered.

    Raises
    ------
    InvalidQuantity
        A rate that is not above zero, nothing to measure.
    """
    if not rate > 0.0 or not arrival_cv >= 0.0:
        raise InvalidQuantity(f"The rate must be above zero and its cv at least zero, got {rate:g} and "
                              f"{arrival_cv:g}.", pointer="request_rate")
    recorder = recorder_of(measure)
    pool = pool_of(system, recorder, sessions=mix.sessions > 0)
    factory = JobFactory(mix, measure.seed, block_tokens=system.policy.block_tokens,
                         latencies=steady_latency(system.policy.request_latency_s))
    return _drive(pool, open_stream(factory, rate, arrival_cv), recorder, measure)


def simulate_trace(system: System, records: Iterable[Record], measure: Measure, *, scale: float = 1.0,
                   requests: int | None = None) -> SimulationResult:
    """A recorded trace, streamed.

    Parameters
    ----------
    system : System
        Replicas and router; sessions of the trace use their prefixes.
    records : iterable of Record
        In order of time.
    measure : Measure
        Its number of requests is not used.
    scale : float
        Speeds the trace up [1].
    requests : int or None
        Length of the trace when known, so that its first tenth is left out of the statistics [1].

    Returns
    -------
    SimulationResult
        To the end of the trace, tail included.
    """
    recorder = Recorder(int(requests * min(measure.warmup, 0.5)) if requests else 0)
    pool = pool_of(system, recorder, sessions=True)
    jobs = trace_stream(records, scale=scale, latency=system.policy.request_latency_s)
    return _drive(pool, jobs, recorder, measure)


def _users(factory: JobFactory, concurrency: int, rng: np.random.Generator | None) -> list[Job]:
    """One first request per user; answers begun at a random point unless the start is to be a burst."""
    jobs = [factory.at(0.0) for _ in range(concurrency)]
    if rng is not None:
        for job in jobs:
            job.output = max(1, int(job.output * rng.random()))
    return jobs


def simulate_closed(system: System, mix: Mix, concurrency: int, measure: Measure) -> SimulationResult:
    """Users who ask again as soon as they are answered, in their steady state.

    Parameters
    ----------
    system : System
        Replicas and router.
    mix : Mix
        Lengths and sessions.
    concurrency : int
        Users of all replicas together [1].
    measure : Measure
        How many requests, which seed, which targets.

    Returns
    -------
    SimulationResult
        The users' first answers are begun at random points, so that they do not march in step; at least one answer
        of every user is warm-up.
    """
    first = max(int(measure.requests * measure.warmup), concurrency)
    recorder_of(measure)
    recorder = Recorder(first, first + measure.requests)
    rng = np.random.default_rng(np.random.SeedSequence((measure.seed, 1)))
    return _closed(system, mix, (concurrency, rng, None), recorder, measure)


def simulate_benchmark(system: System, mix: Mix, concurrency: int, measure: Measure) -> SimulationResult:
    """A benchmark as clients run it: all users start at once, N prompts, the tail drains, everything is counted.

    Parameters
    ----------
    system : System
        Replicas and router.
    mix : Mix
        Lengths.
    concurrency : int
        Requests in flight [1].
    measure : Measure
        ``requests`` is the number of prompts; there is no warm-up.

    Returns
    -------
    SimulationResult
        Rates over the whole run, burst and tail included. The fixed time of a request is drawn around its mean, since
        a client that starts many at once does not serve them at once.
    """
    whole = replace(measure, warmup=0.0)
    return _closed(system, mix, (min(concurrency, measure.requests), None, measure.requests), recorder_of(whole), whole)


def _closed(system: System, mix: Mix, users: tuple[int, np.random.Generator | None, int | None], recorder: Recorder,
            measure: Measure) -> SimulationResult:
    concurrency, rng, prompts = users
    if concurrency < 1:
        raise InvalidQuantity(f"concurrency must be at least 1, got {concurrency}.", pointer="concurrency")
    latency = system.policy.request_latency_s
    latencies = random_latency(latency, measure.seed) if rng is None else steady_latency(latency)
    factory = JobFactory(mix, measure.seed, block_tokens=system.policy.block_tokens, latencies=latencies)
    pool = pool_of(system, recorder, sessions=mix.sessions > 0)
    first = _users(factory, concurrency, rng)
    recorder.on_finish = []
    if len(pool.replicas) == 1:
        replica = pool.replicas[0]
        for job in first:
            pool.send(job)

        def again(_: Job, time: float) -> None:
            if not factory.count % 1024:
                measure.progress(recorder.measured)
            if prompts is None or factory.count < prompts:
                pool.send(factory.at(time))

        replica.feedback = again
        replica.run()
    else:
        def onward(_: int, __: Job, time: float) -> tuple[int, Job] | None:
            return (0, factory.at(time)) if prompts is None or factory.count < prompts else None

        run_network([pool], first, recorder, onward, measure.progress)
    return summary_of(recorder, pool.replicas, measure)
