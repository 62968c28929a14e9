"""The procurement question: workloads and demand, candidates, sites, prices, limits; also the form of scenario files.

Units are in the names; a price is in its own or the scenario's currency, which must be said; answers are in USD. Months
are 365.25/12 days.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from planner.schemas.base import Name, Question

Share = Annotated[float, Field(ge=0, le=1)]
Money = Annotated[float, Field(ge=0, le=1e12)]
Count = Annotated[int, Field(ge=0, le=10_000_000)]
Tokens = Annotated[float, Field(ge=1, le=1e8, description="[token]")]
Load = Annotated[float, Field(ge=1e-9, le=1e9)]
Size = Annotated[int, Field(ge=1, le=1024)]
Months = Annotated[int, Field(ge=1, le=240)]


def _real_date(text: str) -> str:
    """Refuse a day, month or year that no calendar has."""
    try:
        date.fromisoformat(text + ("-01-01", "-01", "")[text.count("-")])
    except ValueError:
        raise ValueError(f"{text} is not a date") from None
    return text


Date = Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$", examples=["2026-11-29"]),
                 AfterValidator(_real_date)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$", examples=["USD"])]
HourLoad = Annotated[float, Field(ge=0, le=1e9)]
DEMANDS = ("request_rate", "in_flight", "users", "tokens_per_month", "hourly")
NEEDED = {"on_demand": ("price_per_gpu_hour",), "spot": ("price_per_gpu_hour",), "owned": ("units",),
          "reserved": ("price_per_gpu_hour", "term_months"), "purchase": ("card_price", "life_months")}
MOST_HOURS = 175_680
"""[1] Twenty leap years of hours."""


class DemandQuestion(Question):
    """How much is asked, in total: exactly one of request_rate, in_flight, users, tokens_per_month or hourly."""

    request_rate: Load | None = Field(None, description="Requests per second at the busiest hour, total [1/s].")
    in_flight: Load | None = Field(None, description="Requests in flight at the busiest moment, total [1].")
    users: Load | None = Field(None, description="People who may use it [1]; not requests in flight.")
    in_flight_share: Share | None = Field(None, description="Share of users in flight at the busiest moment [1].")
    requests_per_user_hour: Load | None = Field(None, description="Requests each user sends in the busiest hour.")
    tokens_per_month: Annotated[float, Field(gt=0, le=1e18)] | None = Field(
        None, description="Input and output tokens together, total [token/month].")
    hourly: Annotated[list[HourLoad], Field(min_length=1, max_length=MOST_HOURS)] | None = Field(
        None, description="Requests per second hour by hour, total; a typical stretch, or the whole horizon.")
    covers_horizon: bool = Field(default=False, description="hourly runs from the first day to the last.")
    growth_per_month: Annotated[float, Field(gt=-1, le=1)] = 0.0
    peak_to_mean: Annotated[float, Field(ge=1, le=2)] | None = Field(None, description="Of a cosine day [1].")
    daily_shape: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=24, max_length=24)] | None = None
    weekly_shape: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=7, max_length=7)] | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        given = [name for name in DEMANDS if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(DEMANDS)}; given: {', '.join(given) or 'none'}")
        if self.users is None and (self.in_flight_share is not None or self.requests_per_user_hour is not None):
            raise ValueError("in_flight_share and requests_per_user_hour belong to users")
        if self.in_flight_share is not None and self.requests_per_user_hour is not None:
            raise ValueError("give in_flight_share or requests_per_user_hour, not both")
        if self.peak_to_mean is not None and self.daily_shape is not None:
            raise ValueError("give peak_to_mean or daily_shape, not both")
        return self


class ServiceObjective(Question):
    """What a user must feel at most, at the percentile."""

    ttft_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    tpot_s: Annotated[float, Field(gt=0, le=1e6)] | None = None
    percentile: Annotated[float, Field(ge=0.5, le=0.999)] = 0.95


class MeasuredReplica(Question):
    """A replica measured by its owner, used in place of a prediction."""

    sku: Name
    gpus: Annotated[int, Field(ge=1, le=4096)]
    weights: Name = "as measured"
    max_request_rate: Load | None = Field(None, description="Per replica, within the objective [1/s].")
    output_tokens_per_s: Load | None = Field(None, description="Per replica [token/s].")
    low: Load | None = Field(None, description="5th percentile, in the unit given.")
    high: Load | None = Field(None, description="95th percentile, in the unit given.")


class WorkloadQuestion(Question):
    """One model's traffic."""

    id: Name = "main"
    model: Name | dict[str, Any] | None = Field(None, description="Left out: answered for a range of sizes.")
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    input_cv: Annotated[float, Field(ge=0, le=10)] = 0.0
    output_cv: Annotated[float, Field(ge=0, le=10)] = 0.0
    prefix_cache_hit: Share = 0.0
    slo: ServiceObjective = ServiceObjective()
    demand: DemandQuestion
    headroom: Annotated[float, Field(ge=0, le=10)] = 0.2
    spare_replicas: Annotated[int, Field(ge=0, le=1000)] = 0
    sites: list[Name] | None = None
    max_spot_share: Share = 1.0
    measured: list[MeasuredReplica] = Field(default_factory=list)


class CandidateQuestion(Question):
    """What may serve the workloads; every layout and format that fits when left out."""

    skus: list[Name] | None = Field(None, description="Left out: every SKU with a price.")
    weights: list[Name] = Field(default_factory=list, description="Left out: as published, fp8 and fp4 where native.")
    kv_cache: Name = "auto"
    tensor_parallel: list[Size] = Field(default_factory=list, description="Left out: every size inside a domain.")
    engine: Literal["vllm", "sglang", "trtllm", "generic"] = "vllm"
    calibration: Name = "auto"
    max_num_seqs: Annotated[int, Field(ge=1, le=1_000_000)] = 256


class SiteQuestion(Question):
    """A place to run owned hardware, or a cloud region."""

    id: Name
    power_price_per_kwh: Money = 0.0
    pue: Annotated[float, Field(ge=1, le=5)] = 1.0
    carbon_kg_per_kwh: Annotated[float, Field(ge=0, le=10)] | None = None
    colocation_price_per_kw_month: Money = 0.0
    power_cap_kw: Annotated[float, Field(gt=0, le=1e9)] | None = None
    racks: Count | None = None


class PriceQuestion(Question):
    """What units of a SKU cost on some terms, dated and sourced."""

    sku: Name
    kind: Literal["on_demand", "spot", "reserved", "purchase", "owned"]
    id: Name | None = None
    site: Name = "cloud"
    date: Date | None = None
    source: Name | None = None
    currency: Currency | None = Field(None, description="Left out: the scenario's.")
    unit_gpus: Annotated[int, Field(ge=1, le=4096)] | None = Field(None, description="GPUs had at once; else a node.")
    join_units: Annotated[int, Field(ge=1, le=4096)] | None = Field(None, description="Units one replica may span.")
    price_per_gpu_hour: Money | None = None
    interruption: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, description="Share of time a spot unit is away [1].")
    term_months: Months | None = None
    upfront_price_per_gpu: Money = 0.0
    card_price: Money | None = None
    server_price: Money = 0.0
    network_price_per_gpu: Money = 0.0
    life_months: Months | None = None
    residual_fraction: Share = 0.0
    support_fraction_per_year: Share = 0.0
    staff_price_per_gpu_month: Money = 0.0
    server_power_w: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    units_per_rack: Annotated[int, Field(ge=1, le=1000)] | None = None
    units: Count | None = Field(None, description="Units owned, or the most there can be at once.")
    units_per_period: Count | None = Field(None, description="Units that can start per period.")
    lead_time_months: Annotated[int, Field(ge=0, le=240)] = 0

    @model_validator(mode="after")
    def _complete(self) -> Self:
        lacking = [name for name in NEEDED[self.kind] if getattr(self, name) is None]
        if lacking:
            raise ValueError(f"a price of kind {self.kind} needs {', '.join(lacking)}")
        return self


class ApiQuestion(Question):
    """A hosted API priced per token."""

    id: Name
    workload: Name = "main"
    price_per_million_input: Money
    price_per_million_output: Money
    date: Date | None = None
    source: Name | None = None
    currency: Currency | None = None


class LimitQuestion(Question):
    """Caps over the whole fleet."""

    budget: Money | None = None
    capital: Money | None = None
    max_gpus: Count | None = None


class RateQuestion(Question):
    """An exchange rate: what one unit of the currency is worth."""

    usd: Annotated[float, Field(gt=0, le=1e9)]
    date: Date
    source: Name


class DoubtQuestion(Question):
    """Spread of demand, and how often it is drawn; performance brings its own 90 % interval."""

    demand_cv: Annotated[float, Field(ge=0, le=5)] = 0.2
    growth_sd: Annotated[float, Field(ge=0, le=0.5)] = 0.01
    draws: Annotated[int, Field(ge=1, le=100_000)] = 500
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1


class FixedFleet(Question):
    """So many GPUs of a SKU, to be judged as they are."""

    sku: Name
    gpus: Annotated[int, Field(ge=1, le=100_000)]
    weights: Name | None = None


class ScenarioQuestion(Question):
    """A procurement scenario."""

    name: Name = "scenario"
    currency: Currency = Field(description="Currency of every price that names no other.")
    as_of: Date | None = Field(None, description="The day the answer is for; prices are aged against it.")
    horizon_months: Months = 36
    months_per_period: Annotated[int, Field(ge=1, le=12)] = 1
    blocks_per_period: Annotated[int, Field(ge=1, le=24)] = Field(1, description="Load blocks rented units may follow.")
    cost_of_capital: Annotated[float, Field(ge=0, le=1, description="[1/year]")] = 0.0
    power_fraction: Share = Field(1.0, description="Mean draw over the power limit [1]; 1 bounds from above.")
    max_price_age_days: Annotated[int, Field(ge=0, le=36500)] = 365
    rent_by: Literal["node", "gpu"] = Field("node", description="How linked GPUs are rented unless unit_gpus says.")
    catalog_prices: bool = Field(default=True, description="Also offer the catalogue's own prices.")
    workloads: list[WorkloadQuestion] = Field(min_length=1, max_length=32)
    candidates: CandidateQuestion = CandidateQuestion()
    sites: list[SiteQuestion] = Field(default_factory=list, max_length=64)
    prices: list[PriceQuestion] = Field(default_factory=list, max_length=256)
    apis: list[ApiQuestion] = Field(default_factory=list, max_length=64)
    limits: LimitQuestion = LimitQuestion()
    exchange: dict[Currency, RateQuestion] = Field(default_factory=dict)
    uncertainty: DoubtQuestion = DoubtQuestion()
    ranges: dict[Name, Annotated[list[Annotated[float, Field(ge=-1, le=100)]], Field(min_length=2, max_length=2)]] = (
        Field(default_factory=dict, description="Low and high end of an assumption, in place of the planning range."))
    notes: list[Annotated[str, Field(max_length=500)]] = Field(default_factory=list, max_length=64)
    fleets: list[FixedFleet] = Field(default_factory=list, max_length=64, description="Fixed fleets to judge.")
