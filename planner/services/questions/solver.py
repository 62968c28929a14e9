"""Plans one option: its layouts in order, a price where none was said, the curve of its throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from planner.core.architecture.model import Model
from planner.core.errors import InvalidLayout, PlannerError
from planner.services.catalog import CatalogService
from planner.services.plan.answer import PlanService
from planner.services.plan.reading import question_of
from planner.services.questions.figures import lookup
from planner.services.questions.reply import Chart, Outcome, Series
from planner.services.questions.requests import Option

CURVE = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Requests in flight a chart is drawn over."""
HALVINGS = 7
"""Steps of the search for the load that just meets the targets: within 1 % of the range [1]."""
CURVES = 4
"""Lines of a chart at the most."""


class ListPrices(Protocol):
    """Prices not said come from the catalogue."""

    def of(self, sku: str) -> tuple[float, str] | None:
        """Return a list price [USD per GPU hour] and where it is from."""
        ...

    def skus(self) -> Sequence[str]:
        """Return the SKUs that have one."""
        ...


class Solver:
    """Plans one option at a time, trying its layouts in order."""

    def __init__(self, plans: PlanService, catalog: CatalogService, prices: ListPrices) -> None:
        self._plans = plans
        self._catalog = catalog
        self._prices = prices

    def answer(self, document: Mapping[str, Any], workspace: str) -> Mapping[str, Any]:
        """A plan as POST /v1/plan answers it."""
        return self._plans.answer(question_of(document, workspace))

    def power(self, sku: str, workspace: str) -> float | None:
        """Board power of a SKU [W]."""
        watts = self._catalog.sku(sku, workspace).value.power_w
        return None if watts is None else float(watts)

    def trained(self, model: str, workspace: str) -> int | None:
        """Longest context a model declares [token]; a card of five fields declares none."""
        value = self._catalog.model(model, workspace).value
        return value.context_trained if isinstance(value, Model) else None

    def solve(self, option: Option, workspace: str) -> Outcome:
        """The first layout that fits, else the first the model takes at all."""
        option = self._with_price(option)
        best: Outcome | None = None
        refusal = "no layout of these GPUs suits the model"
        for layout in option.layouts:
            document = option.placed(layout)
            try:
                answer = self.answer(document, workspace)
            except InvalidLayout as error:
                refusal = error.detail
                continue
            except PlannerError as error:
                refusal = f"{error.detail} {error.hint or ''}".strip()
                return Outcome(option=option, document=document, refusal=refusal)
            outcome = Outcome(option=option, layout=layout, document=document, answer=answer,
                              trained=self.trained(str(document["model"]), workspace))
            if answer["fit"]["fits"]:
                return outcome
            best = best or outcome
        return best or Outcome(option=option, refusal=refusal)

    def reach(self, outcome: Outcome, key: str, top: float, workspace: str) -> float | None:
        """The largest load of one replica that meets the targets, by halving; all of it without targets."""
        if not outcome.document["slo"] or self.at(outcome, key, top, workspace)["serving"]["meets_slo"]:
            return top
        low, high = 0.0, top
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self.at(outcome, key, middle, workspace)["serving"]["meets_slo"]:
                low = middle
            else:
                high = middle
        return low or None

    def at(self, outcome: Outcome, key: str, load: float, workspace: str) -> Mapping[str, Any]:
        """One replica's plan at a load, given as a rate or as requests in flight."""
        loads = {"request_rate", "concurrency"}
        workload = {k: v for k, v in outcome.document["workload"].items() if k not in loads} | {key: max(load, 1e-6)}
        return self.answer(dict(outcome.document) | {"workload": workload}, workspace)

    def _with_price(self, option: Option) -> Option:
        said = option.document["price"]["usd_per_gpu_hour"]
        listed = None if said is not None else self._prices.of(option.document["sku"])
        price = said if said is not None else listed[0] if listed else None
        return replace(option, document=dict(option.document) | {"price": {"usd_per_gpu_hour": price}})

    def priced(self, outcome: Outcome, parse: Mapping[str, Any]) -> str:
        """Name the list price that was used, when no price was said."""
        listed = self._prices.of(str(outcome.option.document["sku"]))
        if "price" in parse or listed is None:
            return ""
        return f"list price ${listed[0]:,.2f} per GPU hour of {outcome.option.document['sku']} ({listed[1]})"

    def chart(self, outcomes: Sequence[Outcome], workspace: str) -> Chart | None:
        """Tokens per second over requests in flight, each line as far as memory goes."""
        series: list[Series] = []
        marks: list[tuple[float, str]] = []
        for outcome in [o for o in outcomes if o.answer is not None and o.answer["fit"]["fits"]][:CURVES]:
            points = self._curve(outcome, workspace)
            series.append(Series(label=outcome.option.label, x=[x for x, _ in points], y=[y for _, y in points]))
        if not series:
            return None
        if len(outcomes) == 1 and (other := self._in_fp8(outcomes[0], workspace)) is not None:
            points = self._curve(other, workspace)
            series.append(Series(label="with fp8 weights", x=[x for x, _ in points], y=[y for _, y in points]))
        answer = outcomes[0].answer if len(outcomes) == 1 else None
        now = None
        if answer is not None:
            marks = [(value, label) for path, label in (
                ("decode.batch_crossover", "KV crossover"), ("fit.max_concurrency", "KV limit"),
                ("decode.batch_critical", "B*")) if (value := lookup(answer, path))]
            now = (answer["serving"]["concurrency"], answer["serving"]["output_tokens_per_s"])
        return Chart(title="Total tokens/s against requests in flight", series=tuple(series), marks=tuple(marks),
                     now=now)

    def _in_fp8(self, outcome: Outcome, workspace: str) -> Outcome | None:
        """The same plan with fp8 weights, where that is another plan and the SKU multiplies in fp8."""
        answer = outcome.answer
        if answer is None or str(answer["deployment"]["weights"]).startswith(("fp8", "w4", "nvfp4", "mxfp4", "gguf")):
            return None
        document = dict(outcome.document)
        document["deployment"] = dict(document["deployment"]) | {"weights": "fp8"}
        try:
            other = self.answer(document, workspace)
        except PlannerError:
            return None
        return replace(outcome, document=document, answer=other) if other["fit"]["fits"] else None

    def _curve(self, outcome: Outcome, workspace: str) -> list[tuple[float, float]]:
        answer = outcome.answer
        points: list[tuple[float, float]] = []
        if answer is None:
            return []
        for batch in CURVE:
            if batch > answer["fit"]["max_concurrency"] and points:
                break
            workload = {k: v for k, v in outcome.document["workload"].items() if k != "request_rate"}
            document = dict(outcome.document) | {"workload": workload | {"concurrency": float(batch)}}
            serving = self.answer(document, workspace)["serving"]
            points.append((float(batch), float(serving["output_tokens_per_s"])))
        return points


def link_of(outcome: Outcome) -> dict[str, str]:
    """The plan's shareable address in its short names."""
    document = outcome.document
    if not document:
        return {}
    deployment, workload = document["deployment"], document["workload"]
    found = {
        "model": document["model"], "sku": document["sku"], "tp": deployment["tensor_parallel"],
        "pp": deployment["pipeline_parallel"], "weights": deployment["weights"], "kv": deployment["kv_cache"],
        "engine": deployment["engine"], "in": workload["input_tokens"], "out": workload["output_tokens"],
        "concurrency": workload.get("concurrency"), "rate": workload.get("request_rate"),
        "price": document["price"]["usd_per_gpu_hour"], "ttft": document["slo"].get("ttft_s"),
        "tpot": document["slo"].get("tpot_s"), "hit": workload.get("prefix_cache_hit"),
    }
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in found.items()
            if value is not None and value != "auto"}
