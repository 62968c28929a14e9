"""Verdicts in words, by intent; the numbers are the plan's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.core.fleet.break_even import api_usd, break_even_share, monthly_usd
from planner.core.quantities.format import binary_bytes, counted, seconds, significant
from planner.services.plan.explain import limit, per_user
from planner.services.questions.copies import together
from planner.services.questions.figures import dollars, paced, rate
from planner.services.questions.reply import Outcome
from planner.services.questions.requests import has_load, load_words

BOUND = {"memory": "Memory-bound", "compute": "Compute-bound", "communication": "Communication-bound",
         "overhead": "Overhead-bound"}


def lead_of(outcome: Outcome) -> str:
    """What was planned, in one sentence."""
    answer, layout = outcome.answer, outcome.layout
    if answer is None or layout is None:
        return ""
    deployment = answer["deployment"]
    parts = [f"{size}{deployment[key]}" for size, key in (
        ("TP", "tensor_parallel"), ("PP", "pipeline_parallel"), ("DP", "data_parallel")) if deployment[key] > 1]
    copies = f"{layout.replicas} replicas, each " if layout.replicas > 1 else ""
    shape = f" ({'·'.join(parts)})" if parts else ""
    return (f"{answer['model']}, weights {deployment['weights']}, KV {deployment['kv_cache']}, on {copies}"
            f"{deployment['gpus']} × {answer['sku']}{shape}, {deployment['engine']}.")


def verdict_of(outcome: Outcome, intent: str, parse: Mapping[str, Any]) -> str:
    """The answer's first sentence."""
    answer = together(outcome)
    if answer is None:
        return outcome.refusal or "This cannot be planned."
    if not answer["fit"]["fits"]:
        return f"Does not fit: short by {binary_bytes(answer['fit']['shortfall_bytes'])} per GPU."
    if intent == "fits":
        return _fits(answer, parse, outcome.trained) + _aimed(answer, parse)
    return _VERDICTS.get(intent, _plan)(answer, parse)


def _plan(answer: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    serving, load = answer["serving"], load_words(parse)
    if serving["saturated"]:
        target = {None: "", True: " The target is met all the same.", False: " The target is missed."}
        return f"Fits, but {_beyond(answer, parse, load)}.{target[serving['meets_slo']]}"
    first = f"the one token of an answer after {seconds(serving['ttft_s']['mean'])}"
    speed = f"{rate(per_user(answer))} per user" if paced(answer) else first
    if serving["meets_slo"] is not None:
        return f"Fits and {'meets' if serving['meets_slo'] else 'misses'} the target at {load}: {speed}."
    return f"Fits: {speed}, {rate(serving['output_tokens_per_s'])} in all at {load}."


def _aimed(answer: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    """Whether targets are met at the load said, where room alone was asked about."""
    meets = (answer["serving"] or {}).get("meets_slo")
    if meets is None or not has_load(parse):
        return ""
    return f" The target is {'met' if meets else 'missed'} at {load_words(parse)}."


def _beyond(answer: Mapping[str, Any], parse: Mapping[str, Any], load: str) -> str:
    """How a load is too much for the GPUs planned."""
    if "request_rate" in parse:
        most = significant(answer["serving"]["max_request_rate"])
        return f"cannot keep up with {load}: it sustains {most} requests/s"
    held = counted(answer["fit"]["max_concurrency"], "request")
    return f"not all of {load} at once: the KV cache holds {held}; the others wait"


def _fits(answer: Mapping[str, Any], parse: Mapping[str, Any], trained: int | None) -> str:
    fit = answer["fit"]
    room = f"room for {counted(fit['max_concurrency'], 'request')}"
    load = parse.get("concurrency")
    if isinstance(load, int | float) and answer["serving"] is not None and fit["max_concurrency"] < answer["serving"][
            "concurrency"]:
        return f"The model fits, but there is only {room} at once: the others wait."
    held = fit["max_context_tokens"]
    asked = parse.get("context_tokens")
    stretched = trained is not None and isinstance(asked, int | float) and asked > trained
    longest = held if trained is None or stretched else min(held, trained)
    return f"Yes, it fits: {room}, and up to {longest:,.0f} tokens of context."


def reach_of(most: float | None) -> str:
    """How many in flight the targets said bear."""
    return "No number in flight meets the targets" if most is None else f"Up to {most:,.0f} in flight meet the targets"


def _batch(answer: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    del parse
    decode, fit = answer["decode"], answer["fit"]
    crossover = decode["batch_crossover"]
    meets = "" if crossover is None else f" KV traffic passes the weights at {significant(crossover)}."
    return (f"Memory holds {fit['max_concurrency']:,.0f} at once; weights stop limiting at B* = "
            f"{significant(decode['batch_critical'])}.{meets}")


def _cost(answer: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    cost = answer["cost"]
    if cost is None or cost["usd_per_million_output_tokens"] is None:
        return "No price is known for this SKU; say one, such as “at 2.50/h”."
    text = (f"{dollars(cost['usd_per_million_output_tokens'])} per million output tokens "
            f"({dollars(cost['usd_per_million_tokens'])} over all tokens) at {load_words(parse)}")
    if answer["serving"]["saturated"]:
        text += f", but {_beyond(answer, parse, 'them')}"
    api = (parse.get("api_price") or {}).get("usd_per_million_tokens")
    return f"{text}." if api is None else f"{text}; {_against(answer, cost['usd_per_million_tokens'], api)}."


def _against(answer: Mapping[str, Any], owned: float, api: float) -> str:
    """Own GPUs against an API: how busy they must be, as far as they can be."""
    share = break_even_share(owned, api)
    if share <= 1:
        return f"break-even with the API's {dollars(api)} at {share:.0%} of this load"
    rate_now, most = answer["serving"]["request_rate"], answer["serving"]["max_request_rate"]
    if most is not None and share * rate_now <= most:
        return f"the API at {dollars(api)} is cheaper at this load, break-even is at {share:.2f} times it"
    return f"the API at {dollars(api)} is cheaper at any load these GPUs carry"


def full_line(answer: Mapping[str, Any], in_flight: float) -> tuple[str, ...]:
    """What a token costs on full GPUs."""
    money = (answer["cost"] or {}).get("usd_per_million_output_tokens")
    if money is None:
        return ()
    line = f"Full, at {in_flight:,.0f} in flight: {dollars(money)} per million output tokens, "
    return (line + f"{rate(per_user(answer))} per user.",)


def _why(answer: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    decode = answer["decode"]
    share = decode["kv_fraction"]
    what = f"{share:.0%} of each step's traffic is KV cache, {1 - share:.0%} weights"
    return f"{BOUND[decode['bound']]} at {load_words(parse)}: {what}."


def window_line(outcome: Outcome) -> str:
    """That the model ends the context before memory does."""
    answer, trained = outcome.answer, outcome.trained
    if answer is None or trained is None or not answer["fit"]["fits"]:
        return ""
    held, asked = answer["fit"]["max_context_tokens"], outcome.document["deployment"].get("max_model_len")
    if asked is not None and asked > trained:
        return ""  # the plan warns of it
    if held <= trained:
        return ""
    return f"Memory would hold {held:,.0f} tokens, but the model declares at most {trained:,}."


_VERDICTS = {"batch": _batch, "cost": _cost, "why": _why}


def limit_of(answer: Mapping[str, Any]) -> str:
    """What limits, as the plan's explanation says it."""
    return limit(answer) if answer["fit"]["fits"] else ""


def lever_of(answer: Mapping[str, Any]) -> str:
    """The best lever that is a setting."""
    for lever in answer["levers"]:
        effect = lever["effect"]
        if lever["helps"] and lever["setting"] and effect["ratio"] is not None:
            return f"{lever['change']}: {effect['ratio']:.2f}× {_METRICS.get(effect['metric'], effect['metric'])}"
    return ""


_METRICS = {"decode.tokens_per_s_per_gpu": "the tokens/s per GPU", "fit.max_concurrency": "the requests at once"}


def bill_lines(outcome: Outcome, parse: Mapping[str, Any], intent: str) -> tuple[str, ...]:
    """What a month costs, and the same tokens from an API when the tokens of a month were said."""
    answer, tokens = outcome.answer, parse.get("tokens_per_month")
    if answer is None or answer["cost"] is None or outcome.layout is None or (tokens is None and intent != "cost"):
        return ()
    owned = monthly_usd(answer["cost"]["usd_per_hour"] * outcome.layout.replicas)
    lines = [f"Kept for a month: {dollars(owned)}, whatever the load."]
    api = (parse.get("api_price") or {}).get("usd_per_million_tokens")
    if api is not None and tokens is not None:
        lines.append(f"{tokens:,.0f} tokens a month from the API: {dollars(api_usd(tokens, api))}.")
    return tuple(lines)


def comparison(outcomes: Sequence[Outcome], parse: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Which option wins, and a line for each."""
    lines = tuple(_line(o) for o in outcomes)
    able = [o for o in outcomes if o.answer is not None and o.answer["fit"]["fits"] and o.answer["serving"] is not None]
    if not able:
        return "None of these fits.", lines
    if len(able) == 1:
        return f"Only {able[0].option.label} fits.", lines
    priced = [o for o in able if (o.answer or {}).get("cost") and _money(o) is not None]
    if len(priced) == len(able):
        ranked = sorted(able, key=lambda o: _money(o) or 0.0)
        first, second = _money(ranked[0]) or 0.0, _money(ranked[1]) or 0.0
        return (f"{ranked[0].option.label} is cheapest: {dollars(first)} per million output tokens, "
                f"{ranked[1].option.label} {dollars(second)}, at {load_words(parse)}."), lines
    ranked = sorted(able, key=lambda o: -_speed(o))
    return (f"{ranked[0].option.label} gives most per GPU: {rate(_speed(ranked[0]))}, "
            f"{ranked[1].option.label} {rate(_speed(ranked[1]))}, at {load_words(parse)}."), lines


def _money(outcome: Outcome) -> float | None:
    cost = (outcome.answer or {}).get("cost") or {}
    value = cost.get("usd_per_million_output_tokens")
    return None if value is None else float(value)


def _speed(outcome: Outcome) -> float:
    return float((outcome.answer or {})["serving"]["output_tokens_per_s_per_gpu"])


def _line(outcome: Outcome) -> str:
    answer, name = outcome.answer, outcome.option.label
    if answer is None:
        return f"{name}: {outcome.refusal}"
    if not answer["fit"]["fits"]:
        return f"{name}: does not fit, short by {binary_bytes(answer['fit']['shortfall_bytes'])} per GPU"
    serving, money = answer["serving"], _money(outcome)
    parts = [f"{rate(per_user(answer))} per user"] if paced(answer) else []
    parts.append(f"{rate(_speed(outcome))} per GPU")
    if serving["ttft_s"]["p95"] is not None:
        parts.append(f"TTFT p95 {seconds(serving['ttft_s']['p95'])}")
    parts.append(f"holds {answer['fit']['max_concurrency']:,.0f}")
    if money is not None:
        parts.append(f"{dollars(money)} per M output tokens")
    copies = counted(outcome.layout.replicas, "replica") if outcome.layout and outcome.layout.replicas > 1 else ""
    if outcome.option.gpus is None and (gpus := answer["deployment"]["gpus"]) > 1:
        copies = f"{copies} of {counted(gpus, 'GPU')}" if copies else counted(gpus, "GPU")
    copies = f" ({copies})" if copies else ""
    return f"{name}{copies}: " + ", ".join(parts)
