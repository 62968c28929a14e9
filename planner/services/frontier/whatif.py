"""Splits into pools, drafts and prefix caches, asked of the plan's own configurations."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.serving.disaggregation import PoolKind, search
from planner.core.serving.objective import operate
from planner.core.serving.prefix import hit_over_replicas, prefix_effect
from planner.core.serving.speculation import Speculation, accepted_tokens, speculation_curve
from planner.services.plan.answer import PlanService, request_tokens
from planner.services.plan.configuration import Configuration
from planner.services.plan.load import lengths_of, mean_context
from planner.services.plan.question import Deployment, PlanQuestion
from planner.services.pointers import at

BATCHES = np.unique(np.round(np.geomspace(1.0, 1024.0, 41)))


class WhatIfService:
    """Answers what-ifs about how a model is served."""

    def __init__(self, plans: PlanService) -> None:
        self._plans = plans

    def _kind(self, question: PlanQuestion) -> tuple[PoolKind, Configuration]:
        with at("/base"):
            configuration, deployment, _ = self._plans.configure(question)
        fit = configuration.fit(deployment, request_tokens(question.workload))
        if not fit.fits:
            raise InvalidQuantity(f"One replica does not fit: {fit.reason}", pointer="/base/deployment")
        return PoolKind(table=configuration.plain_table(mean_context(question.workload)), policy=configuration.policy,
                        limits=configuration.limits(deployment, fit),
                        gpus=configuration.layout.gpus), configuration

    def disaggregation(self, question: PlanQuestion, rate: float, gpus: int, prefill: Deployment | None,
                       link: tuple[float | None, float]) -> dict[str, Any]:
        """Every split of the GPUs, the best first, beside the same GPUs undivided."""
        decode, configuration = self._kind(question)
        first = decode
        if prefill is not None:
            with at("/prefill_deployment", instead_of="/base/deployment"):
                first, _ = self._kind(replace(question, deployment=prefill))
        if decode.gpus + first.gpus > gpus:
            raise InvalidQuantity(f"One replica of each pool takes {decode.gpus + first.gpus} GPUs, more than {gpus}.",
                                  pointer="/gpus")
        workload = question.workload
        transfer = _transfer(configuration, workload.input_tokens, link)
        lengths = lengths_of(workload)
        replicas = max(gpus // decode.gpus, 1)
        whole = operate(decode.table, lengths, decode.policy, decode.limits, rate / replicas, 0.95)
        return {
            "ratios": [_finite(asdict(ratio)) for ratio in search(first, decode, gpus, lengths, rate, transfer)],
            "colocated": _finite({
                "replicas": replicas, "gpus": replicas * decode.gpus, "stable": not bool(whole.steady.saturated),
                "ttft_mean": float(whole.steady.latency.ttft_mean), "ttft_p95": whole.ttft,
                "tpot_mean": float(whole.steady.latency.tpot_mean), "tpot_p95": whole.tpot,
                "max_rate": float(whole.steady.max_request_rate) * replicas}),
            "transfer_s": transfer,
            "assumptions": ["Prompts are dealt in turn over prefill replicas.",
                            "The cache is handed over after the first token; its time lengthens the first gap.",
                            "Times are in seconds, rates in requests per second."]}

    def speculation(self, question: PlanQuestion, draft_tokens: int, acceptance: float | None, gained: float | None,
                    share: float) -> dict[str, Any]:
        """Speed-up over batch and the batch at which a draft stops paying."""
        if (acceptance is None) == (gained is None):
            raise InvalidQuantity("Give either acceptance or accepted_tokens.", pointer="/acceptance")
        kind, configuration = self._kind(question)
        tokens = gained if gained is not None else float(accepted_tokens(acceptance or 0.0, draft_tokens))
        table = configuration.step_table(np.asarray(mean_context(question.workload)))
        lengths = lengths_of(question.workload)
        alone = speculation_curve(table, lengths, kind.policy, kind.limits,
                                  Speculation(draft_tokens=draft_tokens, accepted=tokens, draft_time_s=0.0),
                                  np.array([1.0]))
        time = share * draft_tokens * float(alone.plain_time[0])
        curve = speculation_curve(table, lengths, kind.policy, kind.limits,
                                  Speculation(draft_tokens=draft_tokens, accepted=tokens, draft_time_s=time), BATCHES)
        even = curve.break_even_batch
        verdict = ("A draft of this quality never pays." if even is None else
                   f"It pays at every batch up to {BATCHES[-1]:.0f}." if math.isinf(even) else
                   f"It pays up to a batch of {even:.0f} per rank.")
        return {"accepted_tokens": tokens, "draft_time_s": time, "batch": curve.batch.tolist(),
                "speed_up": curve.speed_up.tolist(),
                "break_even_batch": None if even is None or math.isinf(even) else even, "verdict": verdict}

    def prefix(self, question: PlanQuestion, hits: list[float], replicas: int, turns: float) -> dict[str, Any]:
        """TTFT and largest rate over hit shares, and what is left of a hit when routing ignores prefixes."""
        rate = question.workload.request_rate
        if rate is None:
            raise InvalidQuantity("Give base.workload.request_rate: a hit saves time at a rate.",
                                  pointer="/base/workload/request_rate")
        kind, _ = self._kind(question)
        rows = []
        for hit in hits:
            left = hit_over_replicas(hit, replicas, turns)
            effect = prefix_effect(kind.table, lengths_of(question.workload), kind.policy, kind.limits, rate, hit)
            rows.append(_finite({**asdict(effect), "hit_without_prefix_routing": left}))
        return {"rows": rows, "assumptions": [
            "Blocks that several requests share are not counted as saved capacity.",
            "At least one prompt token is always computed."]}


def _transfer(configuration: Configuration, tokens: float, link: tuple[float | None, float]) -> float:
    bandwidth, latency = link
    scale_up = configuration.resolved.chip.scale_up
    if bandwidth is None:
        if scale_up is None:
            raise MissingFact("The bandwidth between the pools is not known: this SKU has no scale-up link.",
                              fact="transfer_bytes_per_s", pointer="/transfer_bytes_per_s")
        bandwidth = scale_up.bytes_per_s
    return latency + tokens * configuration.footprint.bytes_per_token / bandwidth


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()}
