"""How much one replica carries within its objective, for every SKU, layout and format worth trying."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from planner.core.execution.interval import factors
from planner.core.execution.prompt import prompt_cost
from planner.core.serving.objective import Objective, at_percentile, largest, largest_rate
from planner.core.serving.steady_state import Limit, SteadyState
from planner.core.workload import Workload
from planner.services.plan.answer import PlanService
from planner.services.plan.configuration import Configuration, Memo, widths
from planner.services.plan.evidence import known_pair
from planner.services.plan.load import LIMIT_NAMES, lengths_of, mean_context, solve
from planner.services.plan.question import AUTO, Deployment, PlanQuestion
from planner.services.sizing.candidates import Candidate, candidates
from planner.services.sizing.question import Constraints, Row, SizingQuestion

RATE, IN_FLIGHT = "request/s", "request in flight"
WIDER = (2, 4, 8)
"""[1] Pipeline stages tried, a node each, when no layout inside a node fits."""
KEPT = 4096
"""[1] Answers about replicas kept."""


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
    weights: tuple[str, ...] = ()
    """Empty: as published, and fp8 and fp4 where the chip computes in them."""
    tensor_parallel: tuple[int, ...] = ()
    """Empty: every power of two inside a scale-up domain."""
    kv_cache: str = AUTO
    engine: str = "vllm"
    calibration: str = AUTO
    max_num_seqs: int = 256
    workspace: str = "default"


class ReplicaService:
    """Largest loads of replicas, from the plan's own steady state; answers about named models are kept."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans
        self._kept = Memo(KEPT)

    def replicas(self, question: ReplicaQuestion, sku: str, generation: int = 0,
                 ) -> tuple[list[Replica], list[Rejected]]:
        """Return what every layout and format of a SKU carries, and those that cannot."""
        if not isinstance(question.model, str):
            return self._replicas(question, sku)
        return self._kept.get((question, sku, generation), lambda: self._replicas(question, sku))

    def _replicas(self, question: ReplicaQuestion, sku: str) -> tuple[list[Replica], list[Rejected]]:
        """Ask for each format on its own, so that one that needs several nodes is not hidden by one that does not."""
        found: list[Replica] = []
        rejected: list[Rejected] = []
        for weights in question.weights or ((),):
            asked = replace(question, weights=(weights,) if isinstance(weights, str) else ())
            able, unable = self._format(asked, sku)
            found += able
            rejected += unable
        return found, rejected

    def _format(self, question: ReplicaQuestion, sku: str) -> tuple[list[Replica], list[Rejected]]:
        refused: list[Row] = []
        found, rejected = self._tried(question, sku, refused, Deployment())
        domain, usual = self._widths(question, sku)
        for tensor in question.tensor_parallel:
            if tensor not in usual:
                able, unable = self._tried(question, sku, refused, Deployment(tensor_parallel=tensor))
                found, rejected = found + able, rejected + unable
        # Only a model too large for one node goes over several: a pipeline stage on each.
        if not found and not rejected and domain in (question.tensor_parallel or usual):
            for stages in WIDER:
                found, rejected = self._tried(question, sku, refused, Deployment(
                    tensor_parallel=domain, pipeline_parallel=stages))
                if found or rejected:
                    break
        rejected += [Rejected(sku=sku, layout=_layout_of_row(row["deployment"]), reason=row["reason"],
                              weights=row["deployment"]["weights"]) for row in refused]
        return found, rejected

    def _tried(self, question: ReplicaQuestion, sku: str, refused: list[Row], shape: Deployment,
               ) -> tuple[list[Replica], list[Rejected]]:
        asked = SizingQuestion(
            model=question.model, skus=(sku,), workload=replace(question.workload, request_rate=1.0, concurrency=None),
            objective=question.objective, calibration=question.calibration, workspace=question.workspace,
            constraints=Constraints(engines=(question.engine,), formats=question.weights),
            deployment=replace(shape, kv_cache=question.kv_cache, max_num_seqs=question.max_num_seqs))
        found: list[Replica] = []
        rejected: list[Rejected] = []
        for candidate in candidates(self._plans, asked, sku, refused):
            tensor = candidate.configuration.layout.tensor
            if question.tensor_parallel and shape.tensor_parallel is None and tensor not in question.tensor_parallel:
                continue
            one = _carried(candidate, question)
            (found if isinstance(one, Replica) else rejected).append(one)  # type: ignore[arg-type] # by its type
        return found, rejected

    def _widths(self, question: ReplicaQuestion, sku: str) -> tuple[int, tuple[int, ...]]:
        """Return the widest tensor parallelism inside a node, and all that are tried unasked."""
        resolved, _, _ = self._plans.resolve(PlanQuestion(
            model=question.model, sku=sku, calibration=question.calibration, workspace=question.workspace,
            deployment=Deployment(engine=question.engine)))
        usual = widths(resolved)
        return max(usual), usual


def _layout_of_row(row: Row) -> str:
    return f"tp{row['tensor_parallel']}" + (f" dp{row['data_parallel']}" if row["data_parallel"] > 1 else "")


def layout_of(configuration: Configuration) -> str:
    """A layout in a few letters: tp4, tp8 pp2, dp8 ep8."""
    layout = configuration.layout
    sizes = {"tp": layout.tensor, "pp": layout.pipeline, "dp": layout.data, "ep": layout.expert}
    return " ".join(f"{name}{size}" for name, size in sizes.items() if size > 1) or "tp1"


def _carried(candidate: Candidate, question: ReplicaQuestion) -> Replica | Rejected:
    """The replica at its largest load, or why it carries none."""
    configuration, deployment = candidate.configuration, candidate.deployment
    goal, lengths = question.objective, question.workload
    if question.unit == RATE:
        best = largest_rate(configuration.plain_table(mean_context(lengths)), lengths_of(lengths), configuration.policy,
                            configuration.limits(deployment, candidate.fit), goal, lengths.arrival_cv)
        if best.rate:
            return _described(candidate, question, best.steady)
        missed = _missed(best.steady, goal)
        return _refused(candidate, missed or "no load keeps the objective")

    def at(users: float) -> SteadyState:
        return solve(configuration, deployment, replace(lengths, concurrency=users, request_rate=None), candidate.fit)

    places = float(deployment.max_num_seqs * configuration.layout.data)
    most = max(min(places, float(candidate.fit.max_concurrency)), 1.0)
    missed = _missed(at(1.0), goal)
    if missed is not None:
        return _refused(candidate, missed)
    return _described(candidate, question, at(largest(lambda users: _missed(at(users), goal) is None, 1.0, most)))


def _refused(candidate: Candidate, reason: str) -> Rejected:
    configuration = candidate.configuration
    return Rejected(sku=configuration.resolved.chip.id, layout=layout_of(configuration), weights=configuration.weights,
                    reason=reason)


def _missed(state: SteadyState, goal: Objective) -> str | None:
    """The objective an almost idle replica already misses; None when it keeps both."""
    ttft, tpot = at_percentile(state.latency, goal.percentile)
    for name, value, limit in (("first token", ttft, goal.ttft), ("a token", tpot, goal.tpot)):
        if limit is not None and value > limit:
            return f"{name} takes {value:.3g} s at the {goal.percentile:g} quantile, {limit:g} s are asked"
    return None


def _described(candidate: Candidate, question: ReplicaQuestion, state: SteadyState) -> Replica:
    configuration, workload = candidate.configuration, question.workload
    gpus = configuration.layout.gpus
    cached = workload.prefix_cache_hit * workload.input_tokens
    prompt = prompt_cost(configuration.bound, max(workload.input_tokens - cached, 1.0), cached,
                         float(candidate.deployment.max_num_batched_tokens))
    rate, times = float(state.request_rate), state.latency
    each = float(times.e2e_mean)
    in_flight = float(state.concurrency) if question.unit == IN_FLIGHT else rate * each
    load = rate if question.unit == RATE else in_flight
    ttft, tpot = at_percentile(times, question.objective.percentile)
    bound = _at_limit(ttft, tpot, question.objective)
    # How many requests fit in memory is counted, not predicted; only rates and objectives carry the model's error.
    low, high = interval(configuration) if question.unit == RATE or bound else (None, None)
    return Replica(
        sku=configuration.resolved.chip.id, layout=layout_of(configuration), gpus=gpus, weights=configuration.weights,
        load=load, low=None if low is None else load * low, high=None if high is None else load * high, rate=rate,
        in_flight=in_flight, seconds_per_request=in_flight / rate, ttft_s=ttft, tpot_s=tpot,
        prefill_gpu_s=float(prompt.summary.time_s) * gpus,
        decode_gpu_s=workload.output_tokens * float(state.t_decode) / float(state.batch) * gpus,
        limit=bound or LIMIT_NAMES.get(Limit(int(float(state.limit))), "none"))


def _at_limit(ttft: float, tpot: float, goal: Objective) -> str | None:
    """Which latency stands at its limit; None when the engine's own limits bind first."""
    for name, value, limit in (("ttft", ttft, goal.ttft), ("tpot", tpot, goal.tpot)):
        if limit is not None and value > 0.99 * limit:
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
