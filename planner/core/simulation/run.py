"""Simulated runs: open loops, closed loops, traces, benchmarks as they were run, disaggregated pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import StepTable
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.simulation.arrivals import (
    JobFactory,
    Mix,
    Record,
    open_stream,
    random_latency,
    steady_latency,
    trace_stream,
)
from planner.core.simulation.cluster import Pool, Progress, run_by_load, run_in_turn, run_network
from planner.core.simulation.engine import Replica
from planner.core.simulation.job import Job
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.results import SimulationResult, summarise
from planner.core.simulation.routing import LeastLoaded, PrefixAware, PrefixCache, RoundRobin, Router
from planner.core.simulation.settings import rank_settings


def _silent(_: float) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Replicas of one kind behind a router."""

    table: StepTable
    policy: SchedulerPolicy
    limits: ServingLimits
    replicas: int = 1
    router: str = "round_robin"
    """round_robin, least_loaded or prefix_aware."""
    queue: str = "fcfs"
    """fcfs or priority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is measured and how it is judged."""

    requests: int = 20_000
    """Measured requests [1]."""
    warmup: float = 0.1
    """Requests dropped at the start, as a share of the measured ones [1]."""
    seed: int = 0
    ttft_target: float | None = None
    tpot_target: float | None = None
    percentile: float = 0.95
    """Reported beside the usual ones [1]."""
    progress: Progress = field(default=_silent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """How a prompt's cache reaches the decode pool."""

    bytes_per_token: float
    """[byte/token]"""
    bandwidth: float
    """[byte/s]"""
    latency: float = 0.0
    """[s]"""

    def time(self, tokens: int) -> float:
        """Time for a prompt of so many tokens [s]."""
        return self.latency + tokens * self.bytes_per_token / self.bandwidth


def _pool(system: System, recorder: Recorder, *, sessions: bool) -> Pool:
    if system.replicas < 1 or system.router not in {"round_robin", "least_loaded", "prefix_aware"}:
        raise InvalidQuantity(f"Unknown router or no replica: {system.router!r}, {system.replicas}.", pointer="router")
    settings = rank_settings(system.table, system.policy, system.limits)
    groups = int(system.limits.data_parallel) * int(system.limits.pipeline_parallel)
    replicas = [Replica(settings, recorder, groups=groups, queue=system.queue) for _ in range(system.replicas)]
    caches = [PrefixCache(float(system.limits.kv_capacity_tokens)) for _ in replicas] if sessions else None
    router: Router = RoundRobin()
    if system.router == "least_loaded" or (system.router == "prefix_aware" and caches is None):
        router = LeastLoaded()
    elif system.router == "prefix_aware" and caches is not None:
        router = PrefixAware(caches)
    return Pool(replicas, router, caches, system.policy.block_tokens)


def _recorder(measure: Measure) -> Recorder:
    if measure.requests < 1 or not 0.0 <= measure.warmup <= 10.0:
        raise InvalidQuantity(f"requests must be at least 1 and warmup at least 0, got {measure.requests} and "
                              f"{measure.warmup:g}.", pointer="requests")
    first = int(measure.requests * measure.warmup)
    return Recorder(first, first + measure.requests)


def work(system: System, prompt_tokens: float, requests: float) -> float:
    """Steps that a run takes at least one look at, to refuse what would never end.

    Parameters
    ----------
    system : System
        Replicas and their ranks.
    prompt_tokens : float
        Mean prompt [token].
    requests : float
        Requests of the run [1].

    Returns
    -------
    float
        A few per request, one for every chunk of a prompt, each over all ranks; a step takes some microseconds [1].
    """
    ranks = float(system.limits.data_parallel) * float(system.limits.pipeline_parallel)
    return requests * (3.0 + prompt_tokens / float(system.limits.token_budget)) * max(ranks / 4.0, 1.0)


def _drive(pool: Pool, jobs: Iterator[Job], recorder: Recorder, measure: Measure) -> SimulationResult:
    run = run_by_load if pool.router.lazy and len(pool.replicas) > 1 else run_in_turn
    run(pool, jobs, recorder, measure.progress)
    return _summary(recorder, pool.replicas, measure)


def _summary(recorder: Recorder, replicas: Sequence[Replica], measure: Measure) -> SimulationResult:
    return summarise(recorder, duration=max(*(r.clock for r in replicas), 1e-12), replicas=len(replicas),
                     ttft_target=measure.ttft_target, tpot_target=measure.tpot_target, percentile=measure.percentile)


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
    recorder = _recorder(measure)
    pool = _pool(system, recorder, sessions=mix.sessions > 0)
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
    pool = _pool(system, recorder, sessions=True)
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
    _recorder(measure)
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
    return _closed(system, mix, (min(concurrency, measure.requests), None, measure.requests), _recorder(whole), whole)


def _closed(system: System, mix: Mix, users: tuple[int, np.random.Generator | None, int | None], recorder: Recorder,
            measure: Measure) -> SimulationResult:
    concurrency, rng, prompts = users
    if concurrency < 1:
        raise InvalidQuantity(f"concurrency must be at least 1, got {concurrency}.", pointer="concurrency")
    latency = system.policy.request_latency_s
    latencies = random_latency(latency, measure.seed) if rng is None else steady_latency(latency)
    factory = JobFactory(mix, measure.seed, block_tokens=system.policy.block_tokens, latencies=latencies)
    pool = _pool(system, recorder, sessions=mix.sessions > 0)
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
    return _summary(recorder, pool.replicas, measure)


def simulate_disaggregated(prefill: System, decode: System, transfer: Transfer, mix: Mix, rate: float,
                           measure: Measure) -> SimulationResult:
    """A prefill pool that hands its caches to a decode pool, Poisson arrivals.

    Parameters
    ----------
    prefill : System
        Runs prompts only.
    decode : System
        Runs answers, and recomputes what it must preempt.
    transfer : Transfer
        Between them.
    mix : Mix
        Lengths.
    rate : float
        Arrivals [1/s].
    measure : Measure
        How many requests, which seed, which targets.

    Returns
    -------
    SimulationResult
        TTFT ends with the prefill pool, which samples the first token; the transfer is part of the first gap.
        Queue, batch and occupancy are the decode pool's.

    Raises
    ------
    InvalidQuantity
        A rate that is not above zero, nothing to measure.
    """
    if not rate > 0.0:
        raise InvalidQuantity(f"The rate must be above zero, got {rate:g}.", pointer="request_rate")
    recorder, ahead = _recorder(measure), Recorder()
    pools = [_pool(prefill, ahead, sessions=False), _pool(decode, recorder, sessions=False)]
    factory = JobFactory(mix, measure.seed, block_tokens=prefill.policy.block_tokens,
                         latencies=steady_latency(prefill.policy.request_latency_s))
    answers: dict[int, int] = {}

    def entering() -> Iterator[Job]:
        for job in open_stream(factory, rate, 1.0):
            answers[job.serial] = job.output
            job.output = 1
            yield job

    def onward(pool: int, job: Job, time: float) -> tuple[int, Job] | None:
        if pool == 1:
            return None
        follow = Job(job.serial, job.arrival, job.input, answers.pop(job.serial))
        follow.first = follow.last = follow.entered = time
        follow.generated, follow.left = 1, 0
        follow.ready = time + transfer.time(job.input)
        if follow.output > 1:
            return 1, follow
        listened, recorder.on_finish = recorder.on_finish, None
        recorder.finished(follow, time)
        recorder.on_finish = listened
        return None

    run_network(pools, entering(), recorder, onward, measure.progress)
    return _summary(recorder, pools[1].replicas, measure)
