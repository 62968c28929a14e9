"""Disaggregated serving, simulated: a prefill pool that hands its caches to a decode pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.simulation.arrivals import JobFactory, Mix, open_stream, steady_latency
from planner.core.simulation.cluster import run_network
from planner.core.simulation.job import Job
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.results import SimulationResult
from planner.core.simulation.system import Measure, System, pool_of, recorder_of, summary_of


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
    recorder, ahead = recorder_of(measure), Recorder()
    pools = [pool_of(prefill, ahead, sessions=False), pool_of(decode, recorder, sessions=False)]
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
    return summary_of(recorder, pools[1].replicas, measure)
