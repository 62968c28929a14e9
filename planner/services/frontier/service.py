"""Frontiers over layouts, formats and concurrency, in closed form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.fleet.unit import usd_per_million
from planner.core.quantities.arrays import Array
from planner.core.serving.frontier import pareto
from planner.core.serving.objective import Objective
from planner.core.serving.steady_state import solve_closed
from planner.core.workload import Workload
from planner.services.plan.answer import PlanService
from planner.services.plan.load import lengths_of, mean_context
from planner.services.plan.question import Deployment, Subject
from planner.services.plan.sections import finite
from planner.services.pointers import at
from planner.services.sizing.candidates import Candidate, candidates
from planner.services.sizing.question import MOST_COMBINATIONS, Constraints, Row, SizingQuestion
from planner.services.sizing.service import Prices

MOST_POINTS = 100_000
"""Points one frontier may have [1]."""
SPEEDLESS = "Answers of one token have no speed: the Pareto set weighs the time to first token in its place."
CONCURRENCY = tuple(float(2**n) for n in range(11))
"""Asked when none is given [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierQuestion:
    """Models and machines to draw a frontier of."""

    model: Subject
    skus: tuple[Subject, ...]
    workload: Workload
    constraints: Constraints
    deployment: Deployment
    layouts: tuple[Mapping[str, Any], ...] = ()
    """Fixed layouts; none: every one worth asking about."""
    concurrency: tuple[float, ...] = CONCURRENCY
    usd_per_gpu_hour: Mapping[str, float]
    calibration: str = "auto"
    workspace: str = "default"


class FrontierService:
    """Answers frontiers from the plan's own configurations."""

    def __init__(self, plans: PlanService, prices: Prices) -> None:
        self._plans = plans
        self._prices = prices

    def answer(self, question: FrontierQuestion) -> dict[str, Any]:
        """Points with the Pareto set marked, and what was left out."""
        _check_size(question)
        question = replace(question, usd_per_gpu_hour=self._plans.named_prices(
            question.usd_per_gpu_hour, question.skus, question.workspace))
        rejected: list[Row] = []
        points: list[Row] = []
        seen: set[Hashable] = set()
        users = np.array(question.concurrency)
        for place, sku in enumerate(question.skus):
            with at(f"/skus/{place}", instead_of="/sku"):
                identity = self._plans.sku_identity(sku, question.workspace)
                if identity in seen:
                    continue
                seen.add(identity)
                for asked in _sizings(question):
                    for candidate in candidates(self._plans, asked, sku, rejected):
                        points += self._points(question, candidate, users)
        marks = pareto(np.array([p["tokens_per_s_per_user"] or 1.0 / p["ttft_s"] for p in points], dtype=np.float64),
                       np.array([p["output_tokens_per_s_per_gpu"] for p in points], dtype=np.float64))
        for point, mark in zip(points, marks.tolist(), strict=True):
            point["pareto"] = mark
        return {"points": points, "rejected": rejected, "assumptions": [
            "Closed loop in steady state, closed forms.", "More requests than a replica runs at once are left out.",
            *([SPEEDLESS] if question.workload.output_tokens <= 1 else [])]}

    def _points(self, question: FrontierQuestion, candidate: Candidate, users: Array) -> list[Row]:
        configuration, workload = candidate.configuration, question.workload
        limits = configuration.limits(candidate.deployment, candidate.fit)
        table = configuration.step_table(np.full(users.shape, mean_context(workload)))
        steady = solve_closed(table, lengths_of(workload), configuration.policy, limits, users)
        chip = configuration.resolved.chip.id
        own = question.usd_per_gpu_hour.get(chip)
        price = (own, "given in the question") if own is not None else self._prices.of(chip)
        shown = candidate.shown()
        rows = []
        for i in np.flatnonzero(~np.asarray(steady.saturated)).tolist():
            rate = float(steady.output_tokens_per_s[i])
            rows.append({
                "sku": chip, "deployment": shown, "concurrency": float(users[i]),
                "tokens_per_s_per_user": finite(steady.latency.speed_mean[i]),
                "output_tokens_per_s_per_gpu": rate / candidate.gpus,
                "ttft_s": float(steady.latency.ttft_mean[i]), "tpot_s": finite(steady.latency.tpot_mean[i]),
                "usd_per_million_output_tokens": None if price is None else usd_per_million(
                    price[0] * candidate.gpus, rate)})
        return rows


def _check_size(question: FrontierQuestion) -> None:
    """Refuse what would take minutes: the product of everything that is varied."""
    combinations = _sizings(question)[0].combinations() * max(len(question.layouts), 1)
    points = combinations * len(question.concurrency)
    if combinations > MOST_COMBINATIONS or points > MOST_POINTS:
        raise InvalidQuantity(
            f"The frontier varies {combinations:,} combinations of SKU, engine, format and layout over "
            f"{len(question.concurrency):,} loads; at most {MOST_COMBINATIONS:,} and {MOST_POINTS:,} points in all are "
            "answered.", pointer="/skus", hint="Name fewer SKUs, formats or layouts.")


def _sizings(question: FrontierQuestion) -> list[SizingQuestion]:
    """The candidates' question, once per fixed layout."""
    base = SizingQuestion(
        model=question.model, skus=question.skus, workload=question.workload, objective=Objective(),
        constraints=question.constraints, deployment=question.deployment, calibration=question.calibration,
        workspace=question.workspace)
    if not question.layouts:
        return [base]
    return [replace(base, deployment=replace(question.deployment, **layout)) for layout in question.layouts]
