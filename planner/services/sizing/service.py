"""Sizings: options in closed form, ranked; the picks verified by simulation until all of them hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from planner.core.errors import InvalidQuantity, MissingFact, NotFound
from planner.core.fleet.unit import usd_per_million
from planner.core.serving.objective import Objective, Operation, largest_rate, operate, replicas_for
from planner.core.serving.steady_state import Limit
from planner.services.plan.answer import PlanService
from planner.services.plan.load import LIMIT_NAMES, lengths_of, mean_context
from planner.services.plan.question import Subject
from planner.services.plan.sections import finite
from planner.services.pointers import at
from planner.services.sizing.candidates import Candidate, candidates
from planner.services.sizing.question import Row, SizingQuestion
from planner.services.sizing.verify import Allowance, Spent, Verdict, verify

Report = Callable[[float], None]
PICKS = ("cheapest", "fewest_gpus", "lowest_latency")
MOST_VERIFIED = 8
"""Candidates simulated at most [1]."""
UNVERIFIED = ("Not every pick was simulated: that takes longer than an answer at once may. As a job "
              "(Prefer: respond-async) all are.")


class Prices(Protocol):
    """What a GPU-hour of a SKU costs."""

    def of(self, sku: str) -> tuple[float, str] | None:
        """USD per GPU and hour with its source, or None."""
        ...

    def skus(self) -> Sequence[str]:
        """Every SKU with a price."""
        ...


@dataclass(slots=True, kw_only=True)
class _Option:
    candidate: Candidate
    rate: float
    """Largest per replica [1/s]."""
    minimum: int
    """Replicas before headroom and spares [1]."""
    replicas: int
    operation: Operation
    price: tuple[float, str] | None
    verdict: Verdict | None = None

    @property
    def gpus(self) -> int:
        return self.replicas * self.candidate.gpus

    @property
    def cost(self) -> float:
        return math.inf if self.price is None else self.price[0] * self.gpus

    @property
    def power(self) -> float:
        watts = self.candidate.configuration.resolved.chip.power_w
        return math.inf if watts is None else watts * self.gpus


class SizingService:
    """Answers sizings from the plan's own configurations."""

    def __init__(self, plans: PlanService, prices: Prices) -> None:
        self._plans = plans
        self._prices = prices

    def answer(self, question: SizingQuestion, report: Report = lambda _: None,
               steps: float = math.inf) -> dict[str, Any]:
        """Ranked options, picks, and why each rejected candidate lost; verifying takes no more simulated steps."""
        if question.workload.request_rate is None:
            raise InvalidQuantity("A sizing needs the demand's request_rate.", pointer="/demand/request_rate")
        skus = question.skus or tuple(self._prices.skus())
        question = replace(question, usd_per_gpu_hour=self._plans.named_prices(
            question.usd_per_gpu_hour, question.skus, question.workspace))
        rejected: list[Row] = []
        options: list[_Option] = []
        seen: set[Hashable] = set()
        for done, sku in enumerate(skus):
            with at(f"/skus/{done}", instead_of="/sku"):
                identity = self._plans.sku_identity(sku, question.workspace) if question.skus else done
                options += [] if identity in seen else self._on(question, sku, rejected)
                seen.add(identity)
            report(0.5 * (done + 1) / len(skus))
        verified = not question.simulate or self._verify_picks(question, options, rejected, report, Allowance(steps))
        options.sort(key=lambda o: _rank(question.rank_by, o))
        return {"options": [_shown(question, o) for o in options], "rejected": rejected,
                "picks": {name: None if (best := _pick(name, options)) is None else options.index(best)
                          for name in PICKS},
                "demand": {"request_rate": question.workload.request_rate, "arrival_cv": question.workload.arrival_cv},
                "assumptions": [*_assumptions(question), *([] if verified else [UNVERIFIED])]}

    def _on(self, question: SizingQuestion, sku: Subject, rejected: list[Row]) -> list[_Option]:
        found = []
        try:
            for candidate in candidates(self._plans, question, sku, rejected):
                option = self._option(question, candidate, rejected)
                if option is not None:
                    found.append(option)
        except (NotFound, MissingFact) as error:
            if question.skus:
                raise
            rejected.append({"sku": sku, "deployment": None, "reason": error.detail})
        return found

    def _option(self, question: SizingQuestion, candidate: Candidate, rejected: list[Row]) -> _Option | None:
        workload, objective = question.workload, question.objective
        best = largest_rate(*_replica(candidate, question), objective, workload.arrival_cv)
        chip = candidate.configuration.resolved.chip
        if not best.rate:
            rejected.append({"sku": chip.id, "deployment": candidate.shown(), "reason": _why(best, objective)})
            return None
        price = self._price(question, chip.id)
        option = _Option(candidate=candidate, rate=best.rate, minimum=0, replicas=0, operation=best, price=price)
        return option if _settle(question, option, rejected) else None

    def _price(self, question: SizingQuestion, sku: str) -> tuple[float, str] | None:
        if sku in question.usd_per_gpu_hour:
            return question.usd_per_gpu_hour[sku], "given in the question"
        return self._prices.of(sku)

    def _verify_picks(self, question: SizingQuestion, options: list[_Option], rejected: list[Row],
                      report: Report, allowance: Allowance) -> bool:
        """Simulate the picks; what simulation changes may change the picks, so look again. False when cut short."""
        for turn in range(MOST_VERIFIED):
            report(0.5 + 0.5 * turn / MOST_VERIFIED)
            waiting = [best for name in PICKS if (best := _pick(name, options)) is not None and best.verdict is None]
            if not waiting:
                break
            option = waiting[0]
            try:
                option.verdict = verify(option.candidate, question.workload, question.objective,
                                        question.workload.request_rate or 0.0, option.rate, allowance)
            except Spent:
                return False
            if not option.verdict.replicas:
                options.remove(option)
                rejected.append({"sku": option.candidate.configuration.resolved.chip.id,
                                 "deployment": option.candidate.shown(),
                                 "reason": "Simulation refutes it: the objective is missed at any rate tried."})
                continue
            option.rate = option.verdict.rate
            if not _settle(question, option, rejected):
                options.remove(option)
        return True


def _replica(candidate: Candidate, question: SizingQuestion) -> tuple[Any, Any, Any, Any]:
    configuration = candidate.configuration
    return (configuration.plain_table(mean_context(question.workload)), lengths_of(question.workload),
            configuration.policy, configuration.limits(candidate.deployment, candidate.fit))


def _settle(question: SizingQuestion, option: _Option, rejected: list[Row]) -> bool:
    """Set replicas from the rate one carries; false when they are too many."""
    demand, constraints = question.workload.request_rate or 0.0, question.constraints
    option.minimum = option.verdict.replicas if option.verdict else replicas_for(demand, option.rate)
    option.replicas = max(replicas_for(demand * (1.0 + constraints.headroom), option.rate),
                          option.minimum) + constraints.spare_replicas
    option.operation = operate(*_replica(option.candidate, question), demand / option.replicas,
                               question.objective.percentile, question.workload.arrival_cv)
    if constraints.max_gpus is not None and option.gpus > constraints.max_gpus:
        rejected.append({"sku": option.candidate.configuration.resolved.chip.id,
                         "deployment": option.candidate.shown(),
                         "reason": f"It takes {option.gpus} GPUs, more than {constraints.max_gpus}."})
        return False
    return True


def _why(best: Operation, objective: Objective) -> str:
    parts = []
    if objective.ttft is not None and best.ttft > objective.ttft:
        parts.append(f"first token takes {best.ttft:.3g} s on an idle replica, {objective.ttft:g} s are asked")
    if objective.tpot is not None and best.tpot > objective.tpot:
        parts.append(f"a token takes {best.tpot:.3g} s on an idle replica, {objective.tpot:g} s are asked")
    return "The objective is out of reach: " + " and ".join(parts) + "."


def _rank(by: str, option: _Option) -> tuple[float, ...]:
    keys = {"cost": option.cost, "gpus": float(option.gpus), "power": option.power}
    return keys[by], option.cost, float(option.gpus), _pace(option)


def _pick(name: str, options: Sequence[_Option]) -> _Option | None:
    if not options:
        return None
    if name == "cheapest":
        best = min(options, key=lambda o: _rank("cost", o))
        return None if math.isinf(best.cost) else best
    if name == "fewest_gpus":
        return min(options, key=lambda o: _rank("gpus", o))
    return min(options, key=lambda o: (_pace(o), o.operation.ttft, o.cost))


def _pace(option: _Option) -> float:
    """Time per output token to order options by; where answers are one token there is none to tell them apart."""
    return finite(option.operation.tpot) or 0.0


def _shown(question: SizingQuestion, option: _Option) -> Row:
    operation, steady = option.operation, option.operation.steady
    demand = question.workload.request_rate or 0.0
    tokens = demand * question.workload.output_tokens
    verdict = option.verdict
    simulated = None if verdict is None or verdict.at_demand is None else {
        "ttft_s": verdict.at_demand.ttft.asked, "tpot_s": finite(verdict.at_demand.tpot.asked),
        "requests": verdict.at_demand.requests, "replicas": verdict.replicas,
        "one_replica_fewer_fails": verdict.one_fewer_fails}
    row: Row = {
        "sku": option.candidate.configuration.resolved.chip.id, "deployment": option.candidate.shown(),
        "replicas": option.replicas, "replicas_minimum": option.minimum, "gpus": option.gpus,
        "max_rate_per_replica": option.rate, "ttft_s": operation.ttft, "tpot_s": finite(operation.tpot),
        "utilization": demand / option.replicas / float(steady.max_request_rate),
        "limit": LIMIT_NAMES[Limit(int(steady.limit))],
        "usd_per_gpu_hour": None if option.price is None else option.price[0],
        "price_source": None if option.price is None else option.price[1],
        "usd_per_hour": None if option.price is None else option.cost,
        "usd_per_million_output_tokens": None if option.price is None else usd_per_million(option.cost, tokens),
        "power_w": None if math.isinf(option.power) else option.power,
        "verified": simulated is not None, "simulated": simulated,
    }
    if question.hourly_rates:
        hours = [replicas_for(rate * (1.0 + question.constraints.headroom), option.rate)
                 + question.constraints.spare_replicas for rate in question.hourly_rates]
        row["replicas_by_hour"] = hours
        row["gpu_hours"] = sum(hours) * option.candidate.gpus
    return row


def _assumptions(question: SizingQuestion) -> list[str]:
    text = [f"Latencies at the {question.objective.percentile:.3g} quantile, each replica at its share of the demand.",
            "Closed forms up to 85 % of the largest rate; the picks are simulated with 20,000 requests."
            if question.simulate else "Closed forms only, up to 85 % of the largest rate."]
    if question.constraints.headroom:
        text.append(f"{question.constraints.headroom:.0%} of the demand is kept free as headroom.")
    return text


