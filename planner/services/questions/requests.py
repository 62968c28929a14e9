"""From a reading of the grammar to plan requests: one for each option compared, defaults named as assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from planner.core.quantities.format import amount, counted
from planner.services.parse import SkuEntry, Vocabulary

DEFAULT_INPUT, DEFAULT_OUTPUT, DEFAULT_CONCURRENCY = 1000.0, 1000.0, 64.0
"""As POST /v1/plan fills them in [token, token, 1]."""
SHARE_IN_FLIGHT = 0.1
"""Of named users at a peak, where nobody says otherwise; shown, and asked for in the form [1]."""
SMALL_TEAM = 10.0
"""As many users may all ask at once [1]."""
ANSWER_SHARE = 0.25
"""A window said without lengths is a prompt and an answer of at most this share of it [1]."""
NODE = 8
"""GPUs of a node where the SKU does not say."""
MOST_OPTIONS = 8
ASSUMED_LOAD = "assumed_load"
"""Key beside a reading's own: how its load was come by, in words."""
UNUSED_LOAD = "unused_load"
"""Key beside a reading's own: which of two loads said is not planned for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the GPUs of an option are used."""

    tensor: int | None
    pipeline: int = 1
    replicas: int = 1
    data: int = 1
    expert: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One thing to plan: a document of POST /v1/plan without its layout, and the layouts to try in order."""

    label: str
    document: Mapping[str, Any]
    layouts: tuple[Layout, ...]
    gpus: int | None
    assumed: tuple[str, ...] = ()
    """Defaults that were filled in, as short phrases."""

    def placed(self, layout: Layout) -> dict[str, Any]:
        """The document with a layout; the load is one replica's."""
        deployment = dict(self.document["deployment"]) | {
            "tensor_parallel": layout.tensor, "pipeline_parallel": layout.pipeline,
            "data_parallel": layout.data, "expert_parallel": layout.expert}
        workload = dict(self.document["workload"])
        for key in ("concurrency", "request_rate"):
            if workload.get(key) is not None:
                workload[key] /= layout.replicas
        return dict(self.document) | {"deployment": deployment, "workload": workload}




def options_of(parse: Mapping[str, Any], vocabulary: Vocabulary, *, intent: str = "plan") -> tuple[Option, ...]:
    """The options a request compares, in the order said; one when it compares nothing."""
    workload, assumed = workload_of(parse)
    return tuple(_option(row, parse, vocabulary, workload, assumed, intent)
                 for row, _ in zip(_rows(parse), range(MOST_OPTIONS), strict=False))


def workload_of(parse: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The workload of a request with its defaults, and what was assumed."""
    assumed: list[str] = []
    workload = _lengths(parse, assumed)
    assumed += [str(parse[key]) for key in (ASSUMED_LOAD, UNUSED_LOAD) if parse.get(key)]
    if "request_rate" in parse:
        workload["request_rate"] = float(parse["request_rate"])
    elif "concurrency" in parse:
        workload["concurrency"] = float(_first(parse["concurrency"]))
    elif "users" in parse:
        users = float(parse["users"])
        workload["concurrency"] = float(ceil(min(users, max(SMALL_TEAM, SHARE_IN_FLIGHT * users))))
        share = "all" if workload["concurrency"] == users else f"{workload['concurrency'] / users:.0%}"
        assumed.append(f"{share} of {users:,.0f} users in flight: {workload['concurrency']:,.0f}")
    else:
        workload["concurrency"] = DEFAULT_CONCURRENCY
        assumed.append(f"{DEFAULT_CONCURRENCY:.0f} requests in flight, as no load was said")
    if "prefix_cache_hit" in parse:
        workload["prefix_cache_hit"] = float(parse["prefix_cache_hit"])
    return workload, tuple(assumed)


def has_load(parse: Mapping[str, Any]) -> bool:
    """Whether a load was said, and not assumed."""
    return any(key in parse for key in ("request_rate", "concurrency", "users"))


def load_words(parse: Mapping[str, Any]) -> str:
    """The load planned for, in words; one that nobody said is called assumed."""
    workload, _ = workload_of(parse)
    if "request_rate" in workload:
        return f"{amount(workload['request_rate'])} requests/s"
    said = "concurrency" in parse and not parse.get(ASSUMED_LOAD)
    return f"{counted(workload['concurrency'], 'request')} in flight{'' if said else ' (assumed)'}"


def _lengths(parse: Mapping[str, Any], assumed: list[str]) -> dict[str, Any]:
    """Prompt and answer: as said, else filling the window said, else the contract's defaults."""
    given, made = parse.get("input_tokens"), parse.get("output_tokens")
    window = _first(parse["context_tokens"]) if "context_tokens" in parse else None
    if window is not None and given is None:
        made = float(made) if made is not None else min(DEFAULT_OUTPUT, ANSWER_SHARE * window)
        given = max(window - made, 1.0)
        assumed.append(f"full windows: prompt {given:,.0f}, answer {made:,.0f} tokens")
    elif given is None and made is None:
        assumed.append(f"prompt {DEFAULT_INPUT:,.0f}, answer {DEFAULT_OUTPUT:,.0f} tokens")
    elif given is None or made is None:
        name, size = ("prompt", DEFAULT_INPUT) if given is None else ("answer", DEFAULT_OUTPUT)
        assumed.append(f"{name} {size:,.0f} tokens")
    return {"input_tokens": float(given if given is not None else DEFAULT_INPUT),
            "output_tokens": float(made if made is not None else DEFAULT_OUTPUT)}


def _rows(parse: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What each option has of its own: SKUs with what is aligned to them, else the one axis compared."""
    skus, models = list(parse.get("skus", ())), list(parse.get("models") or [parse.get("model")])
    gpus = list(parse.get("gpus") or [None] * len(skus))
    paired = 1 < len(skus) == len(models) and len(set(skus)) == 1  # "scout on 4 or maverick on 8": each its own count
    for place, model in enumerate(models):
        for index, sku in enumerate(skus):
            if paired and place != index:
                continue
            row = {"model": model, "sku": sku, "gpus": gpus[index]}
            aligned = {key: _at(parse.get(key), index, len(skus)) for key in ("weights", "kv_cache")}
            row |= aligned | {"price": _at((parse.get("price") or {}).get("usd_per_gpu_hour"), index, len(skus))}
            yield from _spread(row, parse)


def _spread(row: dict[str, Any], parse: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options of one SKU: one for each value of an axis given as a list, or for TP against DP."""
    if len(parse.get("skus", ())) == 1:
        for key in ("weights", "kv_cache", "tensor_parallel", "data_parallel", "context_tokens"):
            if isinstance(parse.get(key), list):
                for value in parse[key]:
                    yield {**row, key: value}
                return
        if {"tensor_parallel", "data_parallel"} <= parse.keys():
            yield {**row, "tensor_parallel": parse["tensor_parallel"], "data_parallel": 1}
            yield {**row, "tensor_parallel": 1, "data_parallel": parse["data_parallel"]}
            return
    yield row


def _option(row: Mapping[str, Any], parse: Mapping[str, Any], vocabulary: Vocabulary, workload: Mapping[str, Any],
            assumed: tuple[str, ...], intent: str) -> Option:
    sku = vocabulary.sku(row["sku"])
    own = dict(parse) | {k: v for k, v in row.items() if v is not None}
    if isinstance(row.get("context_tokens"), int | float):
        workload, assumed = workload_of(own)
    weights = own.get("weights", "auto")
    if weights == "8bit":
        weights = "fp8" if sku is not None and sku.has_fp8() else "w8a16"
    deployment = {"engine": own.get("engine", "vllm"), "weights": weights, "kv_cache": own.get("kv_cache", "auto"),
                  "memory_utilization": float(own.get("memory_utilization", 0.9))}
    if "context_tokens" in own and intent in {"fits", "batch"}:
        deployment["max_model_len"] = int(own["context_tokens"])
    document = {"model": row["model"], "sku": row["sku"], "deployment": deployment, "workload": dict(workload),
                "slo": {k: v for k, v in (own.get("slo") or {}).items() if k in {"ttft_s", "tpot_s"}},
                "price": {"usd_per_gpu_hour": row.get("price")}, "calibration": "auto"}
    return Option(label=_label(row, parse, sku), document=document, gpus=row.get("gpus"), assumed=assumed,
                  layouts=layouts_of(row.get("gpus"), own, sku))


def layouts_of(gpus: int | None, own: Mapping[str, Any], sku: SkuEntry | None) -> tuple[Layout, ...]:
    """Layouts to try in order: as said, else tensor parallel within a node, then replicas, then pipeline stages."""
    tensor, pipeline = own.get("tensor_parallel"), int(own.get("pipeline_parallel", 1))
    data = int(own.get("data_parallel", 1)) if isinstance(own.get("data_parallel", 1), int) else 1
    expert = data if data > 1 else int(own.get("expert_parallel", 1))
    if isinstance(tensor, int) or data > 1 or pipeline > 1:
        size = int(tensor or 1) * pipeline * data
        replicas = max(1, (gpus or size) // size)
        return (Layout(tensor=tensor, pipeline=pipeline, data=data, expert=expert, replicas=replicas),)
    if gpus is None:
        return (Layout(tensor=None),)
    node = (sku.box if sku is not None else 0) or NODE
    divisors = [d for d in range(min(gpus, node), 0, -1) if gpus % d == 0]
    replicated = [Layout(tensor=d, replicas=gpus // d) for d in divisors]
    staged = [Layout(tensor=d, pipeline=gpus // d) for d in divisors if d < gpus]
    return (replicated[0], *staged[:1], *replicated[1:], *staged[1:]) if gpus > node else (*replicated, *staged)


def _label(row: Mapping[str, Any], parse: Mapping[str, Any], sku: SkuEntry | None) -> str:
    """A few words that tell an option from the others."""
    name = sku.name if sku is not None else str(row["sku"])
    parts = [f"{row['gpus']} × {name}" if row.get("gpus") else name]
    if "models" in parse:
        parts.insert(0, str(row["model"]).split("/")[-1])
    parts += [str(row[key]) for key in ("weights", "kv_cache") if isinstance(parse.get(key), list) and row.get(key)]
    if row.get("tensor_parallel"):
        parts.append(f"TP{row['tensor_parallel']}" if row.get("data_parallel", 1) == 1 else f"DP{row['data_parallel']}")
    if row.get("context_tokens"):
        parts.append(f"{row['context_tokens']:,} tokens")
    return ", ".join(parts)


def _at(value: Any, index: int, options: int) -> Any:  # noqa: ANN401 - a JSON value
    """A value's share of one option: its own when given per option, else the common one; an axis is nobody's."""
    if not isinstance(value, list):
        return value
    return value[index] if options > 1 and len(value) == options else None


def _first(value: Any) -> float:  # noqa: ANN401 - a JSON value
    return float(value[0] if isinstance(value, list) else value)
