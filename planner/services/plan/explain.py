"""Two or three plain sentences, verdict first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.core.quantities.format import binary_bytes, counted, seconds, significant

_WHY = {
    "memory": "memory bandwidth: a decode step reads {weights:.0%} weights and {cache:.0%} KV cache",
    "compute": "arithmetic: the batch is past the point where weights are reused enough",
    "communication": "communication between GPUs",
    "overhead": "launches and host work, not the hardware's ceilings",
}


def explanation(answer: dict[str, Any], *, load: str) -> str:
    """The answer in words: whether it works and how fast under what load, what limits it, what helps most."""
    sentences = [_verdict(answer, load), limit(answer)]
    best = next((lever for lever in answer["levers"] if lever["helps"] and lever["setting"]), None)
    if best is not None:
        sentences.append(_best(best))
    return " ".join(sentences)


def per_user(answer: Mapping[str, Any]) -> float:
    """What each user gets of the served load [token/s], else of the decode step alone."""
    served = answer["serving"]["tokens_per_s_per_user"] if answer["serving"] else None
    return float(served or answer["decode"]["tokens_per_s_per_user"])


def _verdict(answer: dict[str, Any], load: str) -> str:
    fit, serving, deployment = answer["fit"], answer["serving"], answer["deployment"]
    where = f"{answer['model']} ({deployment['weights']}) on {deployment['gpus']} × {answer['sku']}"
    if not fit["fits"]:
        return (f"{where} does not fit: it is short of {binary_bytes(fit['shortfall_bytes'])} per GPU. {fit['reason']}")
    if serving is None:
        return f"{where} fits."
    if serving["saturated"] and serving["ttft_s"]["mean"] is None:
        return (f"{where} fits but cannot keep up with {load}: it sustains "
                f"{significant(serving['max_request_rate'])} requests/s, and the queue grows without end."
                f"{_objective(serving)}")
    each = serving["tokens_per_s_per_user"]
    gives = (f"gives each user {significant(each)} tokens/s and all of them "
             f"{significant(serving['output_tokens_per_s'])} tokens/s" if each is not None else
             f"gives {significant(serving['output_tokens_per_s'])} answers of one token a second")
    waits = " Some requests wait for a place in the KV cache or the running set." if serving["saturated"] else ""
    return (f"{where} fits: at {load} it {gives}, the first token after "
            f"{seconds(serving['ttft_s']['mean'])}.{waits}{_objective(serving)}")


def _objective(serving: dict[str, Any]) -> str:
    """Whether the objective is met, by the percentiles it is judged at; nothing where none was given."""
    if serving["meets_slo"] is None:
        return ""
    first, each = serving["ttft_s"]["p95"], serving["tpot_s"]["p95"]
    found = [f"{seconds(value)} {name}" for value, name in ((first, "to the first token"), (each, "a further token"))
             if value is not None]
    at = f": at the 95th percentile {' and '.join(found)}" if found else ""
    return f" The objective is {'met' if serving['meets_slo'] else 'missed'}{at}."


def limit(answer: Mapping[str, Any]) -> str:
    """What a decode step is limited by, and how far it is from the other limits."""
    decode = answer["decode"]
    share = decode["kv_fraction"]
    why = _WHY[decode["bound"]].format(weights=1 - share, cache=share)
    crossover, batch = decode["batch_crossover"], decode["batch"]
    what = counted(batch, "sequence")
    text = f"Decoding {what} is" if answer["fit"]["fits"] else f"If memory sufficed, decoding {what} would be"
    text += f" limited by {why}"
    if decode["bound"] == "memory" and crossover is not None:
        side = "past" if batch > crossover else "below"
        text += f" ({side} the KV crossover of {significant(crossover)})"
    return text + f"; B* is {significant(decode['batch_critical'])}."


def _best(lever: dict[str, Any]) -> str:
    effect = lever["effect"]
    what = "requests at once" if effect["metric"] == "fit.max_concurrency" else "tokens/s per GPU"
    gain = "makes room where there is none" if effect["ratio"] is None else f"gives {effect['ratio']:.2f}× the {what}"
    return f"Best lever: {lever['change']} {gain}."
