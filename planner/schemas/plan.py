"""The plan question and, for the reference page and the client, the outline of its answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from planner.schemas.base import Answer, Question

Count = Annotated[int, Field(ge=1, le=4096)]
Tokens = Annotated[float, Field(ge=1, le=1e8, description="[token]")]
Share = Annotated[float, Field(ge=0, le=1)]
Spread = Annotated[float, Field(ge=0, le=10, description="Coefficient of variation [1]")]
Seconds = Annotated[float, Field(ge=1e-9, le=1e6, description="[s]")]
FormatName = Annotated[str, Field(min_length=1, max_length=40)]
SubjectName = Annotated[str, Field(min_length=1, max_length=200)]
EngineName = Literal["vllm", "sglang", "trtllm", "generic"]


class DeploymentQuestion(Question):
    """How one replica runs; tensor_parallel null picks the smallest that fits."""

    engine: EngineName = "vllm"
    engine_version: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    tensor_parallel: Count | None = None
    pipeline_parallel: Count = 1
    data_parallel: Count = 1
    expert_parallel: Count = 1
    weights: FormatName = "auto"
    kv_cache: FormatName = "auto"
    memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    max_num_seqs: Annotated[int, Field(ge=1, le=1_000_000)] = 256
    max_num_batched_tokens: Annotated[int, Field(ge=1, le=100_000_000)] = 8192
    max_model_len: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None


class WorkloadQuestion(Question):
    """Lengths and load of one replica: concurrency (closed loop) or request_rate (open loop, per second)."""

    input_tokens: Tokens = 1000.0
    output_tokens: Tokens = 1000.0
    concurrency: Annotated[float, Field(ge=1e-9, le=1e7)] | None = None
    request_rate: Annotated[float, Field(ge=1e-9, le=1e7, description="[1/s]")] | None = None
    context_tokens: Annotated[float, Field(gt=0, le=1e9, description="[token]")] | None = None
    batch: Annotated[float, Field(ge=1, le=1e9, description="Sequences a decode step advances, in place of the one the "
                                                            "load implies [1]")] | None = None
    prefix_cache_hit: Share = 0.0
    input_cv: Spread = 0.0
    output_cv: Spread = 0.0
    arrival_cv: Spread = 1.0


class ObjectiveQuestion(Question):
    """What a user must feel at most, at the 95th percentile."""

    ttft_s: Seconds | None = None
    tpot_s: Seconds | None = None


class PriceQuestion(Question):
    """What a GPU costs."""

    usd_per_gpu_hour: Annotated[float, Field(ge=0, le=1e6)] | None = None


class PlanRequest(Question):
    """One replica of a model on a SKU: does it fit, how fast is it, what limits it, what would help."""

    model: SubjectName | dict[str, Any] = Field(
        description="A catalogue name, or an inline model in the creation form.", examples=["llama-3.1-70b"])
    sku: SubjectName | dict[str, Any] = Field(
        description="A catalogue name, or an inline SKU in the creation form.", examples=["h100-sxm-80gb"])
    deployment: DeploymentQuestion = DeploymentQuestion()
    workload: WorkloadQuestion = WorkloadQuestion()
    slo: ObjectiveQuestion = ObjectiveQuestion()
    price: PriceQuestion = PriceQuestion()
    calibration: SubjectName = Field("auto", description="auto | ideal | the id of a calibration")

    def document(self) -> dict[str, Any]:
        """Return the question as plain objects, as `model_dump` does at three times the price."""
        return {name: vars(value) if isinstance(value, Question) else value for name, value in vars(self).items()}

    model_config = Question.model_config | {"json_schema_extra": {"examples": [{
        "model": "llama-3.1-70b", "sku": "h100-sxm-80gb", "deployment": {"tensor_parallel": 4},
        "workload": {"input_tokens": 7000, "output_tokens": 1000, "concurrency": 64},
        "price": {"usd_per_gpu_hour": 2.5}}]}}


class CompareRequest(Question):
    """Several plans side by side."""

    plans: Annotated[list[PlanRequest], Field(min_length=1, max_length=64)]


class Fit(Answer):
    """Memory of a replica; bytes per busiest GPU."""

    fits: bool
    reason: str
    shortfall_bytes: float
    capacity_bytes: float
    usable_bytes: float
    weights_bytes: float
    activation_bytes: float
    other_bytes: float
    kv_pool_bytes: float
    kv_bytes_per_token: float
    kv_capacity_tokens: float
    max_concurrency: float
    max_context_tokens: float


class Traffic(Answer):
    """Bytes a step moves on the busiest GPU; the total is without links."""

    weights_bytes: float
    kv_bytes: float
    activation_bytes: float
    link_bytes: float
    total_bytes: float


class OperatorLine(Answer):
    """One operator over all its executions in a step."""

    name: str
    count: float
    flop: float
    traffic_bytes: float
    intensity_flop_per_byte: float | None
    time_s: float
    bound: str
    window_tokens: float | None = Field(default=None, description="Context an attention row sees at most; null is all.")


class Decode(Answer):
    """One decode step."""

    batch: float
    context_tokens: float
    step_time_s: float
    tokens_per_s_per_user: float
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    flop: float
    traffic: Traffic
    intensity_flop_per_byte: float
    ridge_flop_per_byte: float
    bound: str
    fraction_of_peak: float
    bandwidth_fraction: float
    kv_fraction: float
    batch_critical: float
    batch_critical_effective: float
    batch_critical_step: float | None
    batch_crossover: float | None
    batch_crossover_simple: float | None
    operators: list[OperatorLine]


class Prefill(Answer):
    """One prompt on an idle replica."""

    tokens: float
    time_s: float
    tokens_per_s: float
    flop: float
    traffic: Traffic
    intensity_flop_per_byte: float
    bound: str
    operators: list[OperatorLine]


class PlanAnswer(Answer):
    """A plan."""

    model: str
    sku: str
    deployment: dict[str, Any]
    fit: Fit
    decode: Decode
    prefill: Prefill
    precision: list[dict[str, Any]]
    serving: dict[str, Any] | None
    cost: dict[str, Any] | None
    levers: list[dict[str, Any]]
    intervals: dict[str, list[float]]
    assumptions: list[str]
    assumption_keys: list[str] = Field(
        description="What each of the assumptions is about, in their order: replica, formats, requests, load, …")
    warnings: list[str]
    provenance: dict[str, Any]
    calibration: dict[str, Any]
    explanation: str


class CompareAnswer(Answer):
    """Plans in the order asked; a refused one carries its reason instead."""

    plans: list[dict[str, Any]] = Field(description="A refused plan is {model, sku, refused: {code, detail, hint, "
                                                    "errors: [{pointer, message}]}}; pointers are of this request.")
