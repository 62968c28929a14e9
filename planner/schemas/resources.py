"""Creation forms and answers of the stored resources."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from planner.schemas.base import Answer, Name, Positive, Question, Rate, Slug
from planner.schemas.kept import unknown_field
from planner.schemas.scenario import Date

Notes = Annotated[str, Field(max_length=10_000)]
Aliases = Annotated[list[Name], Field(max_length=50)]
Rates = Annotated[dict[str, Rate], Field(max_length=32)]
PIPES = ("fp64", "fp64_tensor", "fp32", "fp32_no_fma", "special_function", "tf32", "bf16", "fp16", "fp8", "fp6", "int8",
         "int4", "fp4")
"""Names of peaks, as the reference page lists them; the hardware core refuses any other."""
_CARD = ("params", "layers", "kv_heads", "head_dim", "vocab")


class ModelForm(Question):
    """A model: its config.json, or the five-field card (params, layers, kv_heads, head_dim, vocab)."""

    id: Slug
    name: Name | None = None
    config: dict[str, Any] | None = Field(None, description="The Hugging Face config.json, as it is.")
    params: Annotated[float, Field(ge=1, le=1e15)] | None = Field(None, description="Parameters in all [1].")
    layers: Annotated[int, Field(ge=1, le=10_000)] | None = None
    kv_heads: Annotated[int, Field(ge=1, le=100_000)] | None = None
    head_dim: Annotated[int, Field(ge=1, le=100_000)] | None = None
    vocab: Annotated[int, Field(ge=1, le=10**9)] | None = None
    active_params: Annotated[float, Field(ge=1, le=1e15)] | None = Field(None, description="Per token, if fewer [1].")
    aliases: Aliases = Field(default=[])
    notes: Notes | None = None

    model_config = Question.model_config | {"json_schema_extra": {
        "anyOf": [{"required": ["config"]}, {"required": list(_CARD)}]}}

    @model_validator(mode="after")
    def _one_form(self) -> ModelForm:
        given = [name for name in _CARD if getattr(self, name) is not None]
        if self.config is not None and (given or self.active_params is not None):
            raise ValueError("give either config or the five-field card, not both")
        if self.config is None and len(given) < len(_CARD):
            absent = [name for name in _CARD if name not in given]
            raise ValueError(f"give config, or all five of the card; missing: {', '.join(absent)}")
        if self.active_params is not None and self.params is not None and self.active_params > self.params:
            raise ValueError("active_params must not exceed params")
        return self


class SkuForm(Question):
    """A SKU: dense peaks, unidirectional link, memory as the runtime reports it."""

    id: Slug
    name: Name
    vendor: Name
    architecture: Name | None = Field(None, description="Family that efficiency profiles inherit by, such as hopper.")
    memory_bytes: Rate
    bandwidth_bytes_per_s: Rate
    peak_flop_per_s: Annotated[Rates, Field(min_length=1)] = Field(
        description="Dense peak by pipe: bf16, fp8 …", examples=[{"bf16": 989.4e12, "fp8": 1978.9e12}],
        json_schema_extra={"propertyNames": {"enum": list(PIPES)}})
    link_bytes_per_s: Rate | None = Field(None, description="To its peers, one direction.")
    host_bytes_per_s: Rate | None = None
    network_bytes_per_s: Rate | None = None
    power_w: Positive | None = None
    multiprocessors: Annotated[int, Field(ge=1, le=100_000)] | None = None
    clock_hz: Positive | None = None
    l2_bytes: Positive | None = None
    shared_memory_bytes: Positive | None = None
    boundaries_bytes_per_s: Rates | None = None
    gpus_per_node: Annotated[int, Field(ge=1, le=100_000)] | None = None
    aliases: Aliases = Field(default=[])
    notes: Notes | None = None


class PriceForm(Question):
    """What a GPU-hour of a SKU costs, where and since when."""

    id: Slug | None = None
    name: Name | None = None
    sku: Name
    usd_per_gpu_hour: Annotated[float, Field(gt=0, le=1e6)]
    kind: Literal["on_demand", "reserved", "spot", "owned"] = "on_demand"
    provider: Name | None = None
    region: Name | None = None
    basis: Notes | None = None
    source: Notes | None = None
    date: Date | None = None
    notes: Notes | None = None


class ScenarioForm(Question):
    """A question kept to be asked again."""

    id: Slug | None = None
    name: Name
    question: Literal["plan", "compare", "sweep", "frontier", "size", "whatif", "fleet", "simulation"]
    request: dict[str, Any] = Field(description="The body of that endpoint.")
    notes: Notes | None = None

    @field_validator("request")
    @classmethod
    def _known_fields(cls, request: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        unknown = unknown_field(info.data["question"], request) if "question" in info.data else None
        if unknown is not None:
            raise ValueError(unknown)
        return request


class CalibrationForm(Question):
    """Measured ceilings or fitted efficiencies of one SKU and engine; they apply to plans that name them."""

    id: Slug | None = None
    name: Name | None = None
    sku: Name
    engine: Literal["vllm", "sglang", "trtllm", "generic"] = "generic"
    measured_on: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}")] | None = None
    record: dict[str, Any] = Field(description="What `planner calibrate --save` or `planner fit` wrote.")
    notes: Notes | None = None


class Stored(Answer):
    """An entry: its document, where it stands, and what follows from it."""

    id: str
    built_in: bool
    version: int = Field(description="0 for built-in entries.")
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str | None = None


class ListLine(Answer):
    """One line of a list."""

    id: str
    name: str
    built_in: bool
    version: int
    updated_at: datetime | None


class Page(Answer):
    """A page of a list; next_cursor is null on the last one."""

    items: list[ListLine]
    next_cursor: str | None


class ChangeLine(Answer):
    """One change: who, when, before, after."""

    sequence: int
    version: int
    action: Literal["created", "updated", "deleted"]
    changed_by: str
    changed_at: datetime
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class History(Answer):
    """A page of changes, newest first."""

    items: list[ChangeLine]
    next_cursor: str | None
