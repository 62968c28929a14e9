"""Several replicas behind a router, advanced lazily, and pools that hand requests on (prefill to decode)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from planner.core.simulation.engine import Replica
from planner.core.simulation.job import Job
from planner.core.simulation.recorder import Recorder
from planner.core.simulation.routing import PrefixCache, Router

SHARE = 256
"""Requests dealt to each replica before round-robin replicas are advanced [1]."""
Progress = Callable[[float], None]


class Pool:
    """Replicas of one role behind one router, with the prefixes each holds."""

    def __init__(self, replicas: Sequence[Replica], router: Router, caches: Sequence[PrefixCache] | None = None,
                 block_tokens: int = 1) -> None:
        self.replicas = replicas
        self.router = router
        self.caches = caches
        self.block = block_tokens
        self.loads = [0] * len(replicas)

    def send(self, job: Job) -> int:
        """Route a request; returns the replica's index."""
        index = self.router.choose(job, self.replicas, self.loads)
        if self.caches is not None and job.session is not None:
            held = min(self.caches[index].tokens(job.session), job.input - 1)
            job.cached = held // self.block * self.block
            job.left = job.target - job.cached
            self.caches[index].store(job.session, job.input + job.output)
        inbox = self.replicas[index].inbox
        place = len(inbox)
        while place and inbox[place - 1].ready > job.ready:
            place -= 1
        inbox.insert(place, job)
        self.loads[index] += 1
        return index


def run_in_turn(pool: Pool, jobs: Iterator[Job], recorder: Recorder, progress: Progress) -> None:
    """Replicas that do not depend on one another, each run in long stretches.

    Parameters
    ----------
    pool : Pool
        With a router that looks at no load.
    jobs : iterator of Job
        In order of arrival.
    recorder : Recorder
        Says when enough was measured.
    progress : callable
        Called with the number of measured requests.
    """
    while not recorder.done:
        dealt = list(islice(jobs, SHARE * len(pool.replicas)))
        for job in dealt:
            pool.send(job)
        until = dealt[-1].ready if len(dealt) == SHARE * len(pool.replicas) else math.inf
        for replica in pool.replicas:
            replica.run(until)
        progress(recorder.measured)
        if until == math.inf:
            return


def run_by_load(pool: Pool, jobs: Iterator[Job], recorder: Recorder, progress: Progress) -> None:
    """Replicas advanced only when one of them may have finished something before the next arrival.

    Parameters
    ----------
    pool : Pool
        With any router.
    jobs : iterator of Job
        In order of arrival.
    recorder : Recorder
        Says when enough was measured.
    progress : callable
        Called now and then with the number of measured requests.
    """
    replicas, loads = pool.replicas, pool.loads
    bounds: list[tuple[float, int]] = []
    version = [math.inf] * len(replicas)
    for count, job in enumerate(jobs):
        now = job.ready
        while bounds and bounds[0][0] < now and not recorder.done:
            bound, index = heapq.heappop(bounds)
            if bound != version[index]:
                continue
            replicas[index].run(now)
            loads[index] = replicas[index].load()
            version[index] = replicas[index].bound()
            heapq.heappush(bounds, (version[index], index))
        if recorder.done:
            break
        index = pool.send(job)
        version[index] = replicas[index].clock
        heapq.heappush(bounds, (version[index], index))
        if not count % 1024:
            progress(recorder.measured)
    for replica in replicas:
        replica.run()  # to the end of a trace; at once when enough was measured
    progress(recorder.measured)


def run_network(pools: Sequence[Pool], jobs: Iterable[Job], recorder: Recorder,
                handoff: Callable[[int, Job, float], tuple[int, Job] | None], progress: Progress) -> None:
    """Pools that feed one another or their users: always the replica that may finish first is advanced.

    Parameters
    ----------
    pools : sequence of Pool
        Requests from ``jobs`` enter the first.
    jobs : iterable of Job
        In order of arrival.
    recorder : Recorder
        Of the last pool; says when enough was measured.
    handoff : callable
        (pool, finished request, time) → (pool, request with its arrival) or None.
    progress : callable
        Called now and then with the number of measured requests.
    """
    network = _Network(pools)
    source = iter(jobs)
    upcoming = next(source, None)
    turn = 0
    while not recorder.done:
        if upcoming is not None and upcoming.ready <= network.next_arrival():
            network.expect(0, upcoming)
            upcoming = next(source, None)
            continue
        if network.next_end() < network.next_arrival():
            for pool, job, time in network.advance():
                follow = handoff(pool, job, time)
                if follow is not None:
                    network.expect(*follow)
        elif network.pending:
            network.deliver()
        else:
            break
        turn += 1
        if not turn % 4096:
            progress(recorder.measured)
    progress(recorder.measured)


class _Network:
    """Requests on their way and the earliest moments at which replicas may finish one."""

    def __init__(self, pools: Sequence[Pool]) -> None:
        self.pools = pools
        self.flat = [(pool, index) for pool, members in enumerate(pools) for index in range(len(members.replicas))]
        self.place = {pair: i for i, pair in enumerate(self.flat)}
        self.version = [math.inf] * len(self.flat)
        self.bounds: list[tuple[float, int]] = []
        self.pending: list[tuple[float, int, int, Job]] = []
        self.ticket = 0
        self.finished: list[tuple[Job, float]] = []
        for members in pools:
            for replica in members.replicas:
                replica.recorder.on_finish = self.finished

    def expect(self, pool: int, job: Job) -> None:
        heapq.heappush(self.pending, (job.ready, self.ticket, pool, job))
        self.ticket += 1

    def next_arrival(self) -> float:
        return self.pending[0][0] if self.pending else math.inf

    def next_end(self) -> float:
        bounds = self.bounds
        while bounds and bounds[0][0] != self.version[bounds[0][1]]:
            heapq.heappop(bounds)
        return bounds[0][0] if bounds else math.inf

    def _renew(self, which: int, replica: Replica) -> None:
        self.version[which] = replica.bound()
        if self.version[which] < math.inf:
            heapq.heappush(self.bounds, (self.version[which], which))

    def advance(self) -> list[tuple[int, Job, float]]:
        """Run the replica that may finish first, and no further: what it finishes may come back as an arrival."""
        bound, which = heapq.heappop(self.bounds)
        pool, index = self.flat[which]
        replica = self.pools[pool].replicas[index]
        replica.run(math.nextafter(max(bound, replica.clock), math.inf))
        self.pools[pool].loads[index] = replica.load()
        self._renew(which, replica)
        answered = [(pool, job, time) for job, time in self.finished]
        self.finished.clear()
        return answered

    def deliver(self) -> None:
        _, _, pool, job = heapq.heappop(self.pending)
        index = self.pools[pool].send(job)
        self._renew(self.place[pool, index], self.pools[pool].replicas[index])
