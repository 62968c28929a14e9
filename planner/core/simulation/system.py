"""What is simulated and what is measured: replicas behind a router, requests, seeds, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.core.errors import InvalidQuantity
from planner.core.execution.step_table import StepTable
from planner.core.serving.policy import SchedulerPolicy, ServingLimits
from planner.core.simulation.cluster import Pool, Progress
from planner.core.simulation.engine import Replica
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
    most_missed: int | None = None
    """Measured requests that may miss a target before the run is ended; None runs to its end [1]."""
    progress: Progress = field(default=_silent)


def pool_of(system: System, recorder: Recorder, *, sessions: bool) -> Pool:
    """Fresh replicas behind their router.

    Parameters
    ----------
    system : System
        What they are.
    recorder : Recorder
        Shared by all of them.
    sessions : bool
        Whether requests may belong to conversations, whose prefixes are then kept.

    Returns
    -------
    Pool
        Idle, at time zero.

    Raises
    ------
    InvalidQuantity
        An unknown router, or no replica.
    """
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


def recorder_of(measure: Measure) -> Recorder:
    """A recorder that drops the warm-up.

    Parameters
    ----------
    measure : Measure
        How many requests.

    Returns
    -------
    Recorder
        Empty.

    Raises
    ------
    InvalidQuantity
        Nothing to measure, or a negative warm-up.
    """
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


def summary_of(recorder: Recorder, replicas: Sequence[Replica], measure: Measure) -> SimulationResult:
    """The result of a run.

    Parameters
    ----------
    recorder : Recorder
        After the run.
    replicas : sequence of Replica
        That ran.
    measure : Measure
        Targets and percentile.

    Returns
    -------
    SimulationResult
        To the latest replica's clock.
    """
    return summarise(recorder, duration=max(*(r.clock for r in replicas), 1e-12), replicas=len(replicas),
                     ttft_target=measure.ttft_target, tpot_target=measure.tpot_target, percentile=measure.percentile)
