"""A scenario document to the fleet core's scenario: names resolved, replicas measured up, prices read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner.core.errors import InvalidQuantity, MissingFact
from planner.core.fleet.calendar import Calendar
from planner.core.fleet.scenario import Candidate, Limits, Scenario, Workload
from planner.core.fleet.terms import periods_of
from planner.core.hardware.chip import Chip
from planner.core.serving.objective import Objective
from planner.core.workload import Workload as Lengths
from planner.services.catalog import CatalogService
from planner.services.formats import check_all_weights, check_cache, check_weights
from planner.services.pointers import at
from planner.services.procurement.book import Book, PriceReader
from planner.services.procurement.demand import Load, load_of, unit_of
from planner.services.procurement.references import check_references
from planner.services.procurement.replicas import RATE, Rejected, Replica, ReplicaQuestion, ReplicaService

Fields = Mapping[str, Any]
MOST_MOMENTS = 2400
"""[1] Periods times load blocks of one question: the time of every way and every draw grows with them."""
MOST_PAIRS = 160
"""[1] Workloads times SKUs of one question: each takes up to a third of a second the first time."""


@dataclass(slots=True, kw_only=True)
class Read:
    """A scenario ready for the core, with everything its answer must say beside the numbers."""

    document: Fields
    scenario: Scenario
    replicas: dict[str, Replica]
    """By candidate id."""
    rejected: list[Rejected]
    loads: dict[str, Load]
    """By workload id."""
    book: Book
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    unpriced: list[str] = field(default_factory=list)
    """SKUs asked for that no price is known of."""
    sku_ids: dict[str, str] = field(default_factory=dict)
    """Ids of the SKUs by the names the document uses."""


class ScenarioReader:
    """Reads scenario documents."""

    def __init__(self, catalog: CatalogService, replicas: ReplicaService) -> None:
        self._catalog = catalog
        self._replicas = replicas

    def read(self, document: Fields, today: date, workspace: str) -> Read:
        """Return the scenario of a complete document; a fact that is missing is refused by name."""
        chips: dict[str, Chip] = {}
        _check_formats(document)
        check_references(document)

        def chip_of(name: str) -> Chip:
            if name not in chips:
                chips[name] = self._catalog.sku(name, workspace).value
            return chips[name]

        prices = PriceReader(document, chip_of, today)
        sites = prices.sites()
        for place, price in enumerate(document["prices"]):
            with at(f"/prices/{place}", beside=("/exchange",)):
                prices.add(price)
        fixed = [fleet["sku"] for fleet in document["fleets"]]
        skus = _named(document, chip_of) or self._default_skus(document, prices.book)
        if document["catalog_prices"]:
            prices.add_catalogued(skus, self._catalog, workspace)
        priced = {o.sku for o in prices.book.offers}
        found = _Found()
        if len(skus) * len(document["workloads"]) > MOST_PAIRS:
            raise InvalidQuantity(f"{len(document['workloads'])} workloads on {len(skus)} SKUs are more than "
                                  f"{MOST_PAIRS} pairs.", hint="Name the SKUs worth asking about.",
                                  pointer="/candidates/skus")
        for place, workload in enumerate(document["workloads"]):
            with at(f"/workloads/{place}", beside=("/candidates",)):
                self._workload(document, workload, [s for s in skus if s in priced or fixed], found, chip_of, workspace)
        scenario = Scenario(
            calendar=calendar_of(document), workloads=tuple(found.workloads), candidates=tuple(found.candidates),
            offers=tuple(prices.book.offers), sites=sites, apis=prices.apis(), limits=limits_of(document, prices),
            blocks=document["blocks_per_period"], power_fraction=document["power_fraction"])
        unpriced = [s for s in skus if s not in priced]
        return Read(document=document, scenario=scenario, replicas=found.replicas, rejected=found.rejected,
                    loads=found.loads, book=prices.book,
                    notes=[*document["notes"], *found.notes, *prices.book.notes],
                    warnings=[*found.warnings, *prices.book.warnings], unpriced=unpriced,
                    sku_ids={name: chip.id for name, chip in chips.items()})

    def _default_skus(self, document: Fields, book: Book) -> list[str]:
        own = list(dict.fromkeys(o.sku for o in book.offers))
        if own or any(w["measured"] for w in document["workloads"]) or not document["catalog_prices"]:
            return own
        return sorted({value.sku for _, value in self._catalog.values("price")})

    def _workload(self, document: Fields, asked: Fields, skus: list[str], found: _Found, chip_of: Any,  # noqa: ANN401 - a function
                  workspace: str) -> None:
        name = asked["id"]
        for fact in ("input_tokens", "output_tokens"):
            if asked[fact] is None:
                raise MissingFact(f"{name}: {fact} is not given.", fact=fact, pointer=f"/{fact}")
        load = load_of(name, asked["demand"], asked["input_tokens"] + asked["output_tokens"])
        if asked["measured"]:
            replicas = _all_measured(asked, load.unit, chip_of)
            found.warnings += self._doubted(document, asked, replicas, workspace)
        else:
            replicas, rejected = self._predicted(document, asked, skus, workspace)
            found.rejected += rejected
        for replica in replicas:
            key = f"{name}: {replica.sku} {replica.layout} {replica.weights}"
            found.replicas[key] = replica
            found.candidates.append(candidate_of(key, name, replica))
        found.loads[name] = load
        found.notes += load.notes
        found.workloads.append(_core_workload(asked, load, replicas, found.notes))

    def _doubted(self, document: Fields, asked: Fields, replicas: list[Replica], workspace: str) -> list[str]:
        """Say where a measurement and the performance model disagree; a measurement without a model is believed."""
        found: list[str] = []
        if asked["model"] is None:
            return found
        for given in replicas:
            able, unable = self._predicted(document, asked, [given.sku], workspace)
            small = [r for r in able if r.gpus <= given.gpus]
            best = max((r.high or r.load for r in small), default=0.0)
            fits = ", ".join(sorted({f"{r.layout} {r.weights}" for r in small}))
            if not small:
                reasons = "; ".join(dict.fromkeys(f"{r.layout} {r.weights}: {r.reason}" for r in unable[:3]))
                found.append(f"By the model nothing fits {given.gpus} × {given.sku}: "
                             f"{reasons or 'all layouts are wider'}. The measurement is used as given.")
            elif given.load > best:
                found.append(f"By the model {given.gpus} × {given.sku} carries at most {best:.3g} requests/s ({fits} "
                             f"fits), less than the {given.load:.3g} measured. The measurement is used as given.")
        return found

    def _predicted(self, document: Fields, asked: Fields, skus: list[str], workspace: str,
                   ) -> tuple[list[Replica], list[Rejected]]:
        if asked["model"] is None:
            raise MissingFact(f"{asked['id']}: no model is named.", fact="model", pointer="/model")
        chosen = document["candidates"]
        replicas: list[Replica] = []
        rejected: list[Rejected] = []
        question = ReplicaQuestion(
            model=asked["model"], unit=unit_of(asked["demand"]), weights=tuple(chosen["weights"]),
            workload=Lengths(input_tokens=asked["input_tokens"], output_tokens=asked["output_tokens"],
                             input_cv=asked["input_cv"], output_cv=asked["output_cv"],
                             prefix_cache_hit=asked["prefix_cache_hit"]),
            objective=Objective(ttft=asked["slo"]["ttft_s"], tpot=asked["slo"]["tpot_s"],
                                percentile=asked["slo"]["percentile"]),
            tensor_parallel=tuple(chosen["tensor_parallel"]), kv_cache=chosen["kv_cache"], engine=chosen["engine"],
            calibration=chosen["calibration"], max_num_seqs=chosen["max_num_seqs"], workspace=workspace)
        for sku in skus:
            with at("/candidates", instead_of="/deployment"), at("/candidates/calibration", instead_of="/calibration"):
                able, unable = self._replicas.replicas(question, sku, self._catalog.generation(workspace))
            replicas += able
            rejected += unable
        return replicas, rejected


@dataclass(slots=True)
class _Found:
    workloads: list[Workload] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    replicas: dict[str, Replica] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    loads: dict[str, Load] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def calendar_of(document: Fields) -> Calendar:
    """The planning calendar; a horizon that is no whole number of periods is rounded up."""
    periods = periods_of(document["horizon_months"], document["months_per_period"])
    if periods * document["blocks_per_period"] > MOST_MOMENTS:
        raise InvalidQuantity(f"{periods} periods of {document['blocks_per_period']} load blocks are more than "
                              f"{MOST_MOMENTS} moments.", pointer="/blocks_per_period",
                              hint="Use longer periods or fewer blocks.")
    return Calendar(periods=periods, months_per_period=document["months_per_period"],
                    discount_rate=document["cost_of_capital"])


def limits_of(document: Fields, prices: PriceReader) -> Limits:
    """Caps in USD."""
    rate, limits = prices.rate(document["currency"]), document["limits"]
    budget, capital = limits["budget"], limits["capital"]
    return Limits(budget_usd=None if budget is None else budget * rate, gpus=limits["max_gpus"],
                  capital_usd=None if capital is None else capital * rate)


def candidate_of(key: str, workload: str, replica: Replica) -> Candidate:
    """A replica as the fleet core sees it."""
    return Candidate(id=key, workload=workload, sku=replica.sku, gpus=replica.gpus, capacity=replica.load,
                     capacity_low=replica.low, capacity_high=replica.high, layout=replica.layout,
                     weights=replica.weights, prefill_gpu_s=replica.prefill_gpu_s, decode_gpu_s=replica.decode_gpu_s,
                     limit=replica.limit)


def _core_workload(asked: Fields, load: Load, replicas: list[Replica], notes: list[str]) -> Workload:
    rate = 1.0
    if load.unit != RATE and replicas:
        best = max(replicas, key=lambda r: (r.load / r.gpus, r.sku))
        rate = best.rate / best.in_flight
        notes.append(f"{asked['id']}: tokens are counted at one request per {1 / rate:.3g} s in flight, as on "
                     f"{best.sku} {best.layout} {best.weights} at its largest load.")
    return Workload(
        id=asked["id"], model=asked["model"] if isinstance(asked["model"], str) else asked["id"], demand=load.demand,
        unit=load.unit, input_tokens=asked["input_tokens"], output_tokens=asked["output_tokens"], rate_per_load=rate,
        headroom=asked["headroom"], spare=asked["spare_replicas"],
        sites=None if asked["sites"] is None else tuple(asked["sites"]), spot_share=asked["max_spot_share"])


def _check_formats(document: Fields) -> None:
    """Refuse formats of candidates and fixed fleets that are none."""
    check_all_weights(document["candidates"]["weights"], "/candidates/weights")
    check_cache(document["candidates"]["kv_cache"], "/candidates/kv_cache")
    measured_as = {given["weights"] for workload in document["workloads"] for given in workload["measured"]}
    for place, fleet in enumerate(document["fleets"]):
        if fleet["weights"] not in {None, *measured_as}:
            check_weights(fleet["weights"], f"/fleets/{place}/weights")


def _named(document: Fields, chip_of: Any) -> list[str]:  # noqa: ANN401 - a function
    """Ids of the SKUs that candidates and fixed fleets name, each once."""
    found: list[str] = []
    for place, name in enumerate(document["candidates"]["skus"] or ()):
        with at(f"/candidates/skus/{place}", instead_of="/sku"):
            found.append(chip_of(name).id)
    for place, fleet in enumerate(document["fleets"]):
        with at(f"/fleets/{place}"):
            found.append(chip_of(fleet["sku"]).id)
    return list(dict.fromkeys(found))


def _all_measured(asked: Fields, unit: str, chip_of: Any) -> list[Replica]:  # noqa: ANN401 - a function
    """The replicas measured by their owner."""
    found: list[Replica] = []
    for place, given in enumerate(asked["measured"]):
        with at(f"/measured/{place}", beside=("/demand",)):
            found.append(measured(given, asked, unit, chip_of(given["sku"]).id))
    return found


def measured(given: Fields, asked: Fields, unit: str, sku: str) -> Replica:
    """A replica by its owner's measurement."""
    by_tokens = given["output_tokens_per_s"] is not None
    scale = 1.0 / asked["output_tokens"] if by_tokens else 1.0
    value = given["output_tokens_per_s"] if by_tokens else given["max_request_rate"]
    if value is None:
        raise InvalidQuantity(f"measured {sku}: give max_request_rate or output_tokens_per_s.",
                              pointer="/max_request_rate")
    if unit != RATE:
        raise MissingFact("A measured rate cannot carry requests in flight without the time of a request.",
                          fact="request_rate", hint="State the demand as request_rate, or users with "
                          "requests_per_user_hour.", pointer="/demand")
    rate = value * scale
    return Replica(sku=sku, layout=f"{given['gpus']} GPU", gpus=given["gpus"], weights=given["weights"], load=rate,
                   low=None if given["low"] is None else given["low"] * scale,
                   high=None if given["high"] is None else given["high"] * scale, rate=rate, in_flight=float("nan"),
                   seconds_per_request=float("nan"), ttft_s=float("nan"), tpot_s=float("nan"), prefill_gpu_s=0.0,
                   decode_gpu_s=given["gpus"] / rate, limit="measured")
