"""How many GPUs a demand needs: one replica's reach by the plan, whole replicas by core/fleet, ranked by price."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from planner.core.fleet.break_even import monthly_usd
from planner.core.fleet.sizing import replicas
from planner.core.quantities.format import counted, prefixed, seconds
from planner.services.parse import Vocabulary
from planner.services.questions.figures import dollars
from planner.services.questions.reply import Outcome, Reply
from planner.services.questions.requests import Layout, Option, options_of, workload_of
from planner.services.questions.solver import ListPrices, Solver, link_of
from planner.services.sizing.reading import sizing_question
from planner.services.sizing.service import SizingService

HEADROOM = 0.2
"""As POST /v1/size: load is carried with a fifth to spare [1]."""
SHOWN = 5
Progress = Callable[[float], None]


class Sizes(Protocol):
    """How many GPUs a demand needs, option by option."""

    def options(self, parse: Mapping[str, Any], skus: Sequence[str], workspace: str,
                progress: Progress) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Outcome]]:
        """Return options and rejections in the names of POST /v1/size, ranked, and the plans behind the options."""
        ...


class PlanSizes:
    """Sizes from plans: the reach of the smallest layout that fits, then whole replicas."""

    def __init__(self, solver: Solver, vocabulary: Vocabulary) -> None:
        self._solver = solver
        self._vocabulary = vocabulary

    def options(self, parse: Mapping[str, Any], skus: Sequence[str], workspace: str,
                progress: Progress) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Outcome]]:
        """Return options and rejections in the names of POST /v1/size, ranked, and the plans behind the options."""
        found: list[tuple[dict[str, Any], Outcome]] = []
        rejected = []
        for index, sku in enumerate(skus):
            best = self._best(parse, sku, workspace)
            if isinstance(best, str):
                rejected.append({"sku": sku, "deployment": None, "reason": best})
            else:
                found.append(best)
            progress((index + 1) / len(skus))
        found.sort(key=_rank)
        return [option for option, _ in found], rejected, [outcome for _, outcome in found]

    def _best(self, parse: Mapping[str, Any], sku: str, workspace: str) -> tuple[dict[str, Any], Outcome] | str:
        """The cheapest way to serve with one SKU."""
        asked = {k: v for k, v in parse.items() if k != "gpus"} | {"skus": [sku]}
        found, reason = self.ways(options_of(asked, self._vocabulary)[0], workspace)
        return min(found, key=_rank) if found else reason

    def ways(self, base: Option, workspace: str) -> tuple[list[tuple[dict[str, Any], Outcome]], str]:
        """The ways to carry an option's load: its tensor parallelism, else from the least that fits up to its box."""
        said, entry = base.layouts[0].tensor, self._vocabulary.sku(str(base.document["sku"]))
        found: list[tuple[dict[str, Any], Outcome]] = []
        reason = "the model does not fit one node"
        for size in (said,) if isinstance(said, int) else _sizes(entry.box if entry is not None else 1):
            outcome = self._solver.solve(replace(base, layouts=(Layout(tensor=size),)), workspace)
            option = self._option(outcome, workspace)
            if isinstance(option, str):
                reason = option
            else:
                found.append((option, self._solver.solve(
                    replace(base, layouts=(Layout(tensor=size, replicas=option["replicas"]),)), workspace)))
        return found, reason

    def _option(self, outcome: Outcome, workspace: str) -> dict[str, Any] | str:
        """One option, or why this SKU is none."""
        answer = outcome.answer
        if answer is None:
            return outcome.refusal or "refused"
        if not answer["fit"]["fits"]:
            return "the model does not fit one node"
        key = "request_rate" if "request_rate" in outcome.document["workload"] else "concurrency"
        demand = float(outcome.document["workload"][key])
        top = answer["serving"]["max_request_rate"] if key == "request_rate" else answer["fit"]["max_concurrency"]
        reach = self._solver.reach(outcome, key, float(top), workspace)
        if reach is None:
            return "no load of one replica meets the target"
        count = int(replicas(demand, reach, HEADROOM))
        each = self._solver.at(outcome, key, demand / count, workspace)
        serving, cost = each["serving"], each["cost"]
        gpus = count * each["deployment"]["gpus"]
        sku = self._solver.power(str(outcome.option.document["sku"]), workspace)
        return {
            "sku": each["sku"], "deployment": each["deployment"], "replicas": count, "gpus": gpus,
            "max_rate_per_replica": reach if key == "request_rate" else None,
            "max_concurrency_per_replica": reach if key == "concurrency" else None,
            "ttft_s": serving["ttft_s"]["p95"], "tpot_s": serving["tpot_s"]["mean"],
            "utilization": serving["utilization"], "limit": serving["limit"],
            "usd_per_hour": None if cost is None else cost["usd_per_hour"] * count,
            "usd_per_million_output_tokens": None if cost is None else cost["usd_per_million_output_tokens"],
            "power_w": None if sku is None else sku * gpus}


class RateSizes:
    """Sizes of a request rate: the sizing service's own, in closed form so that nobody waits for a simulation."""

    def __init__(self, service: SizingService) -> None:
        self._service = service

    def options(self, parse: Mapping[str, Any], skus: Sequence[str], workspace: str,
                progress: Progress) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Outcome]]:
        """Return the answer of POST /v1/size to the same question, and documents of its options' plans."""
        answer = self._service.answer(sizing_question(size_document(parse, skus), workspace), progress)
        return answer["options"], answer["rejected"], [_planned(parse, option) for option in answer["options"]]


def size_document(parse: Mapping[str, Any], skus: Sequence[str]) -> dict[str, Any]:
    """The request of POST /v1/size that a reading means; no SKUs: all with a price."""
    workload, _ = workload_of(parse)
    weights = parse.get("weights")
    formats = ["fp8", "w8a16"] if weights == "8bit" else [weights] if isinstance(weights, str) else weights or []
    keys = {"kv_cache", "memory_utilization", "engine"} | ({"tensor_parallel"} if isinstance(
        parse.get("tensor_parallel"), int) else set())
    slo = parse.get("slo") or {}
    price = (parse.get("price") or {}).get("usd_per_gpu_hour")
    prices = price if isinstance(price, list) else [price] * len(parse.get("skus", ()))
    return {
        "model": parse["model"], "skus": list(skus) if parse.get("skus") else None, "demand": workload,
        "slo": {"percentile": slo.get("percentile", 0.95), "ttft_s": slo.get("ttft_s"), "tpot_s": slo.get("tpot_s")},
        "constraints": {"headroom": HEADROOM, "formats": formats, "engines": [parse.get("engine", "vllm")]},
        "deployment": {key: parse[key] for key in sorted(keys) if isinstance(parse.get(key), str | int | float)},
        "usd_per_gpu_hour": {s: float(p) for s, p in zip(parse.get("skus", ()), prices, strict=False) if p is not None},
        "verification": "closed_form"}


def _planned(parse: Mapping[str, Any], option: Mapping[str, Any]) -> Outcome:
    """The plan behind one option: one replica at its share of the demand."""
    shown = {k: v for k, v in option["deployment"].items() if k != "gpus"}
    workload, assumed = workload_of(parse)
    document = {
        "model": parse["model"], "sku": option["sku"], "deployment": shown,
        "workload": workload | {"request_rate": workload["request_rate"] / option["replicas"]},
        "slo": {k: v for k, v in (parse.get("slo") or {}).items() if k in {"ttft_s", "tpot_s"}},
        "price": {"usd_per_gpu_hour": option["usd_per_gpu_hour"]}, "calibration": "auto"}
    return Outcome(option=Option(label=option["sku"], document=document, layouts=(), gpus=option["gpus"],
                                 assumed=assumed), document=document)


class Sizing:
    """Replies about how many, which and what to buy."""

    def __init__(self, sizes: Sizes, rates: Sizes, vocabulary: Vocabulary, prices: ListPrices) -> None:
        self._sizes = sizes
        self._rates = rates
        self._vocabulary = vocabulary
        self._prices = prices

    def candidates(self) -> list[str]:
        """SKUs ranked when none is named: those sold in boxes and with a list price."""
        return [s for s in self._prices.skus() if (entry := self._vocabulary.sku(s)) is not None and entry.box > 1]

    def reply(self, parse: Mapping[str, Any], workspace: str, progress: Progress) -> Reply:
        """The options for a demand, ranked by price."""
        rate = "request_rate" in parse
        skus = list(parse.get("skus") or (self._prices.skus() if rate else self.candidates()))
        sizes = self._rates if rate else self._sizes
        options, rejected, outcomes = sizes.options(parse, skus, workspace, progress)
        _, assumed = workload_of(parse)
        notes = [*assumed, f"{HEADROOM:.0%} headroom over the load said",
                 *(note for o in outcomes[:SHOWN] if (note := _priced(o, parse, self._prices)))]
        sizing = {"options": options, "rejected": rejected}
        if not options:
            reasons = tuple(dict.fromkeys(f"{row['sku']}: {row['reason']}" for row in rejected))[:SHOWN]
            return Reply(intent="size", verdict="No GPU asked about carries this.", lines=reasons, sizing=sizing,
                         assumptions=tuple(notes))
        first = options[0]
        lines = tuple(_line(option, parse) for option in options[:SHOWN])
        ways = counted(len(options), "way")
        return Reply(
            intent="size", sizing=sizing, lines=lines, outcomes=tuple(outcomes[:SHOWN]), link=link_of(outcomes[0]),
            verdict=f"{first['gpus']} × {first['sku']}: {_copies(first)}.", assumptions=tuple(dict.fromkeys(notes)),
            lead=f"{outcomes[0].document['model']}, ranked by price: {ways}, {len(rejected)} refused.")


def _sizes(box: int) -> tuple[int, ...]:
    """Tensor-parallel sizes within a box: powers of two."""
    return tuple(2**k for k in range(max(1, box).bit_length()) if 2**k <= max(1, box))


def _rank(pair: tuple[dict[str, Any], Outcome]) -> tuple[bool, float, int]:
    """Priced options first, the cheapest first, then the fewest GPUs."""
    option, _ = pair
    return option["usd_per_hour"] is None, option["usd_per_hour"] or 0.0, option["gpus"]


def _copies(option: Mapping[str, Any]) -> str:
    return f"{counted(option['replicas'], 'replica')} of {counted(option['deployment']['gpus'], 'GPU')}"


def _line(option: Mapping[str, Any], parse: Mapping[str, Any]) -> str:
    """One ranked option."""
    parts = [f"{option['gpus']} × {option['sku']} ({_copies(option)}, weights {option['deployment']['weights']})"]
    if option["ttft_s"] is not None:
        parts.append(f"TTFT p95 {seconds(option['ttft_s'])}")
    if option["tpot_s"] is not None:
        parts.append(f"TPOT {seconds(option['tpot_s'])}")
    if option["usd_per_hour"] is not None:
        parts.append(f"{dollars(option['usd_per_hour'])}/h")
        if "budget_usd" in parse:
            months = float(parse["budget_usd"]) / monthly_usd(option["usd_per_hour"])
            parts.append(f"the budget rents it for {counted(months, 'month')}")
    if option["power_w"] is not None:
        over = " (over the power said)" if "power_w" in parse and option["power_w"] > parse["power_w"] else ""
        parts.append(prefixed(option["power_w"], "W") + over)
    return ", ".join(parts)


def _priced(outcome: Outcome, parse: Mapping[str, Any], prices: ListPrices) -> str:
    listed = prices.of(str(outcome.option.document["sku"]))
    if "price" in parse or listed is None:
        return ""
    return f"list price ${listed[0]:,.2f} per GPU hour of {outcome.option.document['sku']} ({listed[1]})"
