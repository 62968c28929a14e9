"""How far a plan's times and rates may be off: 90 % intervals that stop where physics does."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from planner.core.execution.floor import Ceilings, Row, Served, ceilings
from planner.core.execution.interval import factors
from planner.core.hardware.efficiency.profile import EfficiencyProfile
from planner.core.serving.latency import speed
from planner.core.workload import Workload
from planner.services.plan.configuration import Configuration
from planner.services.plan.evidence import known_pair

Answer = Mapping[str, Any]
Range = tuple[float, float]


def intervals(answer: Answer, configuration: Configuration, workload: Workload) -> dict[str, list[float]]:
    """90 % intervals of the predicted times and rates; empty under datasheet ceilings, which are bounds.

    None reaches beyond physics: no time is less, and no rate more, than FLOP and bytes at datasheet ceilings allow.
    """
    profile = configuration.resolved.profile
    if profile is None:
        return {}
    step, first = configuration.memo.get("spread", lambda: _spread(profile, configuration))
    limits: Ceilings = configuration.memo.get("ceilings", lambda: ceilings(configuration.bound))
    least, prompt = limits.step(_rows(answer["decode"])), limits.step(_rows(answer["prefill"]))
    found: dict[str, list[float]] = {}
    _times(found, answer, {"decode.step_time_s": least}, step)
    batch = answer["decode"]["batch"]
    _rates(found, answer, {"decode.tokens_per_s": batch / least, "decode.tokens_per_s_per_user": 1.0 / least}, step)
    _times(found, answer, {"prefill.time_s": prompt}, first)
    if answer["serving"] is not None:
        load = _served(answer, configuration, workload, least, prompt)
        _serving(found, answer, load, (step, first))
        _rates(found, answer, _most(load, workload, limits), step)
    return found


def _spread(profile: EfficiencyProfile, configuration: Configuration) -> tuple[Range, Range]:
    """Factors of steps and of first tokens."""
    known = known_pair(profile)
    kind = "tpot_moe" if configuration.table.mixtures.names else "tpot_dense"
    return factors(profile.spread[kind], known=known), factors(profile.spread["ttft"], known=known)


def _rows(section: Answer) -> list[Row]:
    return [(row["name"], row["flop"], row["traffic_bytes"], row["link_bytes"]) for row in section["operators"]]


def _served(answer: Answer, configuration: Configuration, workload: Workload, step: float, prompt: float) -> Served:
    decode, prefill, layout = answer["decode"], answer["prefill"], configuration.layout
    return Served(
        step=step, step_flop=decode["flop"], step_cache_bytes=decode["traffic"]["kv_bytes"],
        batch=decode["batch"], running=answer["serving"]["mean_batch"], prompt=prompt,
        prompt_flop=prefill["flop"], prompt_cv=workload.input_cv, gaps=max(workload.output_tokens - 1.0, 0.0),
        groups=float(layout.data * layout.pipeline))


def _serving(found: dict[str, list[float]], answer: Answer, load: Served, spread: tuple[Range, Range]) -> None:
    step, first = spread
    _times(found, answer, dict.fromkeys(
        ("serving.tpot_s.mean", "serving.tpot_s.p95", "serving.tpot_s.p99", "serving.itl_s.mean"),
        load.between_tokens), step)
    _times(found, answer, {f"serving.ttft_s.{q}": load.first_token(median=q == "p50")
                           for q in ("mean", "p50", "p95", "p99")}, first)
    waits, whole = answer["serving"]["ttft_s"]["mean"], answer["serving"]["e2e_s"]["mean"]
    if whole is not None:
        part = waits / whole
        both = (part * first[0] + (1.0 - part) * step[0], part * first[1] + (1.0 - part) * step[1])
        _times(found, answer, dict.fromkeys(("serving.e2e_s.mean", "serving.e2e_s.p95"), load.whole), both)


def _most(load: Served, workload: Workload, limits: Ceilings) -> dict[str, float]:
    """The highest rates: what the replica and each user can get, and never more than users or arrivals ask for."""
    asked = workload.request_rate if workload.concurrency is None else workload.concurrency / load.whole
    now = min(load.request_rate_at_batch(limits), inf if asked is None else asked)
    return {"serving.tokens_per_s_per_user": speed(load.between_tokens),
            "serving.output_tokens_per_s": now * max(workload.output_tokens, 1.0),
            "serving.max_request_rate": load.request_rate(limits)}


def _times(found: dict[str, list[float]], answer: Answer, least: Mapping[str, float], spread: Range) -> None:
    for path, floor in least.items():
        value = _at(answer, path)
        if value is not None:
            found[path] = [min(max(value * spread[0], floor), value), value * spread[1]]


def _rates(found: dict[str, list[float]], answer: Answer, most: Mapping[str, float], spread: Range) -> None:
    for path, ceiling in most.items():
        value = _at(answer, path)
        if value is not None:
            found[path] = [value / spread[1], max(min(value / spread[0], ceiling), value)]


def _at(answer: Answer, path: str) -> float | None:
    here: Any = answer
    for part in path.split("."):
        here = here[part]
    return None if here is None else float(here)
