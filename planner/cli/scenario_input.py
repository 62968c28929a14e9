"""Procurement questions from scenario files and from short options, checked by the API's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.core.errors import InvalidQuantity
from planner.core.quantities.format import counted

DEFAULT_ANSWER_TOKENS = 1000.0
"""[token] Answer length taken when only a context window is named, the same default as a plan's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quick:
    """A procurement question in short options."""

    model: str | None = None
    users: float | None = None
    in_flight: float | None = None
    rate: float | None = None
    tokens_per_month: float | None = None
    share: float | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    context: float | None = None
    mix: str | None = None
    ttft: float | None = None
    tpot: float | None = None
    skus: str | None = None
    options: str | None = None
    weights: str | None = None
    prices: tuple[str, ...] = ()
    api: str | None = None
    measured: float | None = None
    spare: int | None = None
    months: int = 1


def from_file(path: Path) -> dict[str, Any]:
    """Return the complete document of a scenario file, or refuse it with every problem on its line."""
    from pydantic import ValidationError

    from planner.catalog.scenario_files import Problem, read_scenario_file
    from planner.schemas.scenario import ScenarioQuestion

    read = read_scenario_file(path)
    problems = list(read.problems)
    document: dict[str, Any] = {}
    if not any("cannot be read" in p.message or "circle" in p.message or "not JSON" in p.message for p in problems):
        try:
            document = ScenarioQuestion.model_validate(read.document).model_dump()
        except ValidationError as error:
            for finding in error.errors():
                file, line = read.place(tuple(finding["loc"]))
                name = ".".join(str(step) for step in finding["loc"])
                message = str(finding["msg"]).removeprefix("Value error, ")
                problems.append(Problem(file=file, line=line, message=f"{name}: {message}" if name else message))
    if problems:
        lines = "\n".join(f"  {problem}" for problem in sorted(set(problems)))
        raise InvalidQuantity(f"{path.name} has {counted(len(set(problems)), 'problem')}:\n{lines}")
    return document


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with its defaults, or refuse the first field at fault."""
    from planner.cli.questions import asked
    from planner.schemas.scenario import ScenarioQuestion

    return asked(ScenarioQuestion, dict(document))


def from_options(asked: Quick) -> dict[str, Any]:
    """Return the document of a question in short options."""
    notes = ["GPUs are rented one by one, those of a replica in one node; a file may say rent_by = 'node'."]
    prompt, answer = _lengths(asked, notes)
    fleets = [_fleet(text) for text in _items(asked.options)]
    workload: dict[str, Any] = {
        "model": asked.model, "input_tokens": prompt, "output_tokens": answer, "headroom": 0.0 if fleets else 0.2,
        "spare_replicas": (asked.spare if asked.spare is not None else int(not fleets)),
        "slo": {"ttft_s": asked.ttft, "tpot_s": asked.tpot}, "demand": _demand(asked, answer, notes),
        "measured": _measured(asked, fleets)}
    prices = [_price(text, fleets, asked.skus) for text in asked.prices]
    return complete({
        "name": asked.model or "question", "currency": "USD", "horizon_months": asked.months, "notes": notes,
        "rent_by": "gpu",
        "workloads": [workload], "fleets": fleets, "prices": prices, "apis": _apis(asked),
        "candidates": {"skus": _items(asked.skus) or None, "weights": _items(asked.weights)}})


def _items(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _lengths(asked: Quick, notes: list[str]) -> tuple[float | None, float | None]:
    prompt, answer = asked.input_tokens, asked.output_tokens
    if asked.mix is not None:
        first, _, second = asked.mix.partition("/")
        whole = _number(first, "mix") + _number(second, "mix")
        prompt, answer = 1000.0 * _number(first, "mix") / whole, 1000.0 * _number(second, "mix") / whole
        notes.append(f"A request is taken as 1,000 tokens, {prompt:g} in and {answer:g} out; only the mix was named.")
    if asked.context is not None and prompt is None:
        answer = DEFAULT_ANSWER_TOKENS if answer is None else answer
        if asked.context <= answer:
            raise InvalidQuantity(f"context {asked.context:g} leaves no prompt beside {answer:g} answer tokens.",
                                  pointer="/context", hint="Name --out as well.")
        prompt = asked.context - answer
        notes.append(f"A full window of {asked.context:,.0f} tokens per request: {prompt:,.0f} in and {answer:,.0f} "
                     "out; most chats use less.")
    return prompt, answer


def _demand(asked: Quick, answer: float | None, notes: list[str]) -> dict[str, Any]:
    if asked.measured is not None and asked.rate is None and asked.tokens_per_month is None and answer:
        notes.append("No demand is named: the measured replica is taken as fully busy; unit prices by use show the "
                     "rest.")
        return {"request_rate": asked.measured / answer}
    return {"users": asked.users, "in_flight": asked.in_flight, "request_rate": asked.rate,
            "tokens_per_month": asked.tokens_per_month, "in_flight_share": asked.share}


def _fleet(text: str) -> dict[str, Any]:
    """A fixed fleet: 8xh100, 4×h200:fp8."""
    count, _, rest = text.replace("×", "x").partition("x")
    sku, _, weights = rest.partition(":")
    if not count.isdigit() or not sku:
        raise InvalidQuantity(f"{text!r} is no fleet; write it as 8xh100 or 8xh100:fp8.", pointer="/options")
    return {"sku": sku, "gpus": int(count), "weights": weights or None}


def _measured(asked: Quick, fleets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if asked.measured is None:
        return []
    if len(fleets) != 1:
        raise InvalidQuantity("A measured speed needs the hardware it was measured on: one fleet such as 1xh100.",
                              pointer="/options")
    return [{"sku": fleets[0]["sku"], "gpus": fleets[0]["gpus"], "output_tokens_per_s": asked.measured,
             "weights": fleets[0]["weights"] or "as measured"}]


def _price(text: str, fleets: list[dict[str, Any]], skus: str | None) -> dict[str, Any]:
    """A rent in USD per GPU-hour: 2.50, or h100=2.50."""
    sku, _, usd = text.rpartition("=")
    names = [sku] if sku else list(dict.fromkeys([f["sku"] for f in fleets] + _items(skus)))
    if len(names) != 1:
        raise InvalidQuantity(f"The price {text!r} must say of which SKU: h100=2.50.", pointer="/price")
    return {"sku": names[0], "kind": "on_demand", "price_per_gpu_hour": _number(usd, "price"), "unit_gpus": 1}


def _apis(asked: Quick) -> list[dict[str, Any]]:
    if asked.api is None:
        return []
    first, _, second = asked.api.partition("/")
    return [{"id": "api", "price_per_million_input": _number(first, "api"),
             "price_per_million_output": _number(second or first, "api")}]


def _number(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidQuantity(f"{name} must be a number, got {text[:40]!r}.", pointer=f"/{name}") from None
