"""How much one replica carries within its objective, for every SKU, layout and format worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.core.errors import InvalidLayout, MissingFact, UnsupportedFormat
from planner.core.execution.interval import factors
from planner.core.execution.prompt import prompt_cost
from planner.core.memory.fit import MemoryFit
from planner.core.quantities.format import binary_bytes
from planner.core.serving.steady_state import Limit, SteadyState
from planner.core.workload import Workload
from planner.services.plan.answer import PlanService
from planner.services.plan.configuration import Configuration, widths
from planner.services.plan.evidence import known_pair
from planner.services.plan.load import LIMIT_NAMES, solve
from planner.services.plan.question import AUTO, Deployment, Objective, PlanQuestion

RATE, IN_FLIGHT = "request/s", "request in flight"
HALVINGS = 24
"""[1] Bisection steps: the largest load to 2^-24 of its bracket."""
BELOW_SATURATION = 0.999
"""[1] Highest share of the largest rate that a queue with an objective is asked about."""
WIDER = (2, 4, 8)
"""[1] Pipeline stages tried, a node each, when no layout inside a node fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What one replica carries; load in requests/s or in requests in flight, as the demand counts."""

    sku: str
    layout: str
    gpus: int
    weights: str
    load: float
    """Largest load within the objective, per replica."""
    low: float | None
    high: float | None
    """90 % interval; None under datasheet ceilings."""
    rate: float
    """Requests answered at that load, per replica [1/s]."""
    in_flight: float
    """Requests in flight at that load, per replica [1]."""
    seconds_per_request: float
    """End to end at that load [s]."""
    ttft_s: float
    tpot_s: float
    """95th percentiles at that load."""
    prefill_gpu_s: float
    decode_gpu_s: float
    """GPU-seconds of one request."""
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A layout that cannot serve the workload, and why."""

    sku: str
    layout: str
    weights: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaQuestion:
    """What is asked of each candidate replica."""

    model: str | Mapping[str, Any]
    workload: Workload
    """Lengths; its load is ignored."""
    objective: Objective
    unit: str
    weights: tuple[str, ...]
    tensor_parallel: tuple[int, ...]
    kv_cache: str = AUTO
    engine: str = "vllm"
    calibration: str = AUTO
    max_num_seqs: int = 256
    workspace: str = "default"


class ReplicaService:
    """Largest loads of replicas, from the plan's own steady state."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans

    def replicas(self, question: ReplicaQuestion, sku: str) -> tuple[list[Replica], list[Rejected]]:
        """Return what every layout and format of a SKU carries, and those that cannot."""
        found: dict[tuple[str, str], Replica] = {}
        rejected: dict[tuple[str, str], Rejected] = {}
        for weights in question.weights:
            fits = False
            for deployment in self._deployments(question, sku, weights):
                if fits and deployment.pipeline_parallel > 1:
                    break
                one = self._replica(question, sku, deployment)
                key = (one.layout, one.weights)
                if isinstance(one, Replica):
                    found.setdefault(key, one)
                    fits = True
                else:
                    rejected.setdefault(key, one)
        return list(found.values()), [r for key, r in rejected.items() if key not in found]

    def _deployments(self, question: ReplicaQuestion, sku: str, weights: str) -> Iterator[Deployment]:
        base = Deployment(engine=question.engine, weights=weights, kv_cache=question.kv_cache,
                          max_num_seqs=question.max_num_seqs)
        resolved, base, _ = self._plans.resolve(self._plan_question(question, sku, base))
        domain = max(widths(resolved))
        for tensor in question.tensor_parallel:
            if tensor <= domain:
                yield replace(base, tensor_parallel=tensor)
        for stages in WIDER:
            yield replace(base, tensor_parallel=domain, pipeline_parallel=stages)

    def _plan_question(self, question: ReplicaQuestion, sku: str, deployment: Deployment) -> PlanQuestion:
        return PlanQuestion(model=question.model, sku=sku, deployment=deployment, calibration=question.calibration,
                            workload=replace(question.workload, concurrency=1.0, request_rate=None),
                            workspace=question.workspace)

    def _replica(self, question: ReplicaQuestion, sku: str, deployment: Deployment) -> Replica | Rejected:
        stages = deployment.pipeline_parallel
        layout = f"tp{deployment.tensor_parallel}" + (f" pp{stages}" if stages > 1 else "")
        try:
            configuration, deployment, _ = self._plans.configure(self._plan_question(question, sku, deployment))
        except (MissingFact, InvalidLayout, UnsupportedFormat) as error:
            return Rejected(sku=sku, layout=layout, weights=deployment.weights, reason=error.detail)
        tokens = question.workload.input_tokens + question.workload.output_tokens
        fit = configuration.fit(deployment, tokens)
        name = configuration.weights
        if not fit.fits:
            reason = f"does not fit: short of {binary_bytes(float(fit.shortfall_bytes))} per GPU"
            return Rejected(sku=sku, layout=layout, weights=name, reason=reason)
        state = largest(configuration, deployment, question, fit)
        if isinstance(state, str):
            return Rejected(sku=sku, layout=layout, weights=name, reason=state)
        return _described(configuration, deployment, question, state, layout)


def largest(configuration: Configuration, deployment: Deployment, question: ReplicaQuestion, fit: MemoryFit,
            ) -> SteadyState | str:
    """The steady state at the largest load that keeps the objective, or why none does."""
    lengths, goal = question.workload, question.objective

    def at_rate(load: float) -> SteadyState:
        return solve(configuration, deployment, replace(lengths, request_rate=load, concurrency=None), fit)

    def at_concurrency(load: float) -> SteadyState:
        return solve(configuration, deployment, replace(lengths, concurrency=load, request_rate=None), fit)

    if question.unit == RATE:
        most = float(at_rate(1e-6).max_request_rate)
        free = goal.ttft_s is None and goal.tpot_s is None
        return _bisect(at_rate, goal, most * 1e-6, most if free else most * BELOW_SATURATION)
    running = float(deployment.max_num_seqs * configuration.layout.data)
    return _bisect(at_concurrency, goal, 1.0, max(min(running, float(fit.max_concurrency)), 1.0))


def _bisect(at: Callable[[float], SteadyState], goal: Objective, low: float, high: float) -> SteadyState | str:
    """The largest load in a bracket whose percentiles keep the objective: they only rise with load."""
    top = at(high)
    if (goal.ttft_s is None and goal.tpot_s is None) or _broken(top, goal) is None:
        return top
    state = at(low)
    reason = _broken(state, goal)
    if reason is not None:
        return reason
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        tried = at(middle)
        if _broken(tried, goal) is None:
            low, state = middle, tried
        else:
            high = middle
    return state


def _broken(state: SteadyState, goal: Objective) -> str | None:
    for name, value, limit in (("TTFT", state.latency.ttft_p95, goal.ttft_s),
                               ("TPOT", state.latency.tpot_p95, goal.tpot_s)):
        if limit is not None and not float(value) <= limit:
            return f"{name} p95 {float(value):.3g} s is above {limit:g} s even on an idle replica"
    return None


def _described(configuration: Configuration, deployment: Deployment, question: ReplicaQuestion, state: SteadyState,
               layout: str) -> Replica:
    gpus, workload = configuration.layout.gpus, question.workload
    cached = workload.prefix_cache_hit * workload.input_tokens
    prompt = prompt_cost(configuration.bound, max(workload.input_tokens - cached, 1.0), cached,
                         float(deployment.max_num_batched_tokens))
    rate = float(state.request_rate)
    each = float(state.latency.ttft_mean) + (workload.output_tokens - 1) * float(state.latency.tpot_mean)
    in_flight = float(state.concurrency) if question.unit == IN_FLIGHT else rate * each
    load = rate if question.unit == RATE else in_flight
    bound = _names_objective(state, question.objective)
    # How many requests fit in memory is counted, not predicted; only rates and objectives carry the model's error.
    low, high = interval(configuration) if question.unit == RATE or bound else (None, None)
    return Replica(
        sku=configuration.resolved.chip.id, layout=layout, gpus=gpus, weights=configuration.weights, load=load,
        low=None if low is None else load * low, high=None if high is None else load * high, rate=rate,
        in_flight=in_flight, seconds_per_request=in_flight / rate, ttft_s=float(state.latency.ttft_p95),
        tpot_s=float(state.latency.tpot_p95), prefill_gpu_s=float(prompt.summary.time_s) * gpus,
        decode_gpu_s=workload.output_tokens * float(state.t_decode) / float(state.batch) * gpus,
        limit=bound or LIMIT_NAMES.get(Limit(int(float(state.limit))), "none"))


def _names_objective(state: SteadyState, goal: Objective) -> str | None:
    """Which percentile stands at its limit; None when the engine's own limits bind first."""
    for name, value, limit in (("ttft", state.latency.ttft_p95, goal.ttft_s),
                               ("tpot", state.latency.tpot_p95, goal.tpot_s)):
        if limit is not None and float(value) > 0.99 * limit:
            return name
    return None


def interval(configuration: Configuration) -> tuple[float | None, float | None]:
    """Lower and upper factor of the 90 % interval of a replica's rate, as in plans; None under datasheet ceilings."""
    profile = configuration.resolved.profile
    if profile is None:
        return None, None
    kind = "tpot_moe" if configuration.table.mixtures.names else "tpot_dense"
    low, high = factors(profile.spread[kind], known=known_pair(profile))
    return 1 / high, 1 / low
