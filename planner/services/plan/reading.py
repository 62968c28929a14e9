"""Plan questions from documents in the contract's shape, and from the short names of links and the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.quantities.parse import context_length, count
from planner.core.workload import Workload
from planner.services.formats import deployment_of
from planner.services.plan.question import Deployment, Objective, PlanQuestion

DEFAULT_CONCURRENCY = 64.0
_WORKLOAD = tuple(field.name for field in fields(Workload))
_DEPLOYMENT = tuple(field.name for field in fields(Deployment))


def question_of(document: Mapping[str, Any], workspace: str = "default") -> PlanQuestion:
    """The question of a complete document, such as a validated request body."""
    asked = document.get("workload") or {}
    return PlanQuestion(
        model=document["model"], sku=document["sku"], deployment=deployment_of(document),
        workload=workload_of(asked), objective=Objective(**document.get("slo") or {}),
        usd_per_gpu_hour=(document.get("price") or {}).get("usd_per_gpu_hour"),
        calibration=document.get("calibration") or "auto", workspace=workspace,
        load_assumed=asked.get("concurrency") is None and asked.get("request_rate") is None)


def simulation_of(question: PlanQuestion) -> dict[str, Any]:
    """Where and how to play this question's load through a simulation, for answers near saturation."""
    workload, deployment = question.workload, question.deployment
    asked = {name: value for name in _WORKLOAD if (value := getattr(workload, name)) is not None}
    plan = {"model": question.model, "sku": question.sku,
            "deployment": {name: getattr(deployment, name) for name in _DEPLOYMENT}, "workload": asked,
            "calibration": question.calibration}
    return {"method": "POST", "href": "/v1/simulations", "body": {"plan": plan}}


def workload_of(fields: Mapping[str, Any]) -> Workload:
    """A workload with the defaults filled in: 1000 tokens in and out, 64 requests in flight when no load is named."""
    values = {"input_tokens": 1000.0, "output_tokens": 1000.0, **fields}
    if values.get("concurrency") is None and values.get("request_rate") is None:
        values["concurrency"] = DEFAULT_CONCURRENCY
    return Workload(**values)


def _plain(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidQuantity(f"{name} must be a number, got {text[:40]!r}.", pointer=f"/{name}") from None


def _whole(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidQuantity(f"{name} must be a whole number, got {text[:40]!r}.", pointer=f"/{name}") from None


def _text(text: str, name: str) -> str:
    del name
    return text


Reader = Callable[[str, str], Any]
SHORT: Mapping[str, tuple[str, Reader]] = {
    "model": ("model", _text), "sku": ("sku", _text), "engine": ("deployment.engine", _text),
    "tp": ("deployment.tensor_parallel", _whole), "pp": ("deployment.pipeline_parallel", _whole),
    "dp": ("deployment.data_parallel", _whole), "ep": ("deployment.expert_parallel", _whole),
    "weights": ("deployment.weights", _text), "kv": ("deployment.kv_cache", _text),
    "in": ("workload.input_tokens", count), "out": ("workload.output_tokens", count),
    "context": ("workload.context_tokens", context_length), "batch": ("workload.batch", count),
    "concurrency": ("workload.concurrency", count),
    "rate": ("workload.request_rate", _plain), "hit": ("workload.prefix_cache_hit", _plain),
    "ttft": ("slo.ttft_s", _plain), "tpot": ("slo.tpot_s", _plain), "price": ("price.usd_per_gpu_hour", _plain),
    "calibration": ("calibration", _text),
}
"""Short name → field and how its text is read; links, the command line and the web app share them."""


def document_of(short: Mapping[str, str]) -> dict[str, Any]:
    """A document in the contract's shape from short names; it still wants validation."""
    document: dict[str, Any] = {}
    for name, text in short.items():
        if name not in SHORT:
            raise InvalidQuantity(f"{name} is not a parameter of a plan.", hint="Known: " + ", ".join(SHORT),
                                  pointer=f"/{name}")
        path, read = SHORT[name]
        place(document, path, read(text, name))
    return document


def place(document: dict[str, Any], path: str, value: object) -> None:
    """Set a dotted field of a nested document, making the objects on the way."""
    *outer, last = path.split(".")
    for step in outer:
        document = document.setdefault(step, {})
    document[last] = value
