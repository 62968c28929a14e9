"""What the import endpoints take and answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from planner.schemas.base import Answer, Name, Question, Slug

_Text = Annotated[str, Field(min_length=1, max_length=4 * 2**20)]


class EngineLogRequest(Question):
    """A start-up log; what it does not state can be given beside it."""

    text: _Text = Field(description="The engine's output from its start to the first request.")
    model: Name | None = Field(None, description="The catalogued model, where the log names a local path.")
    sku: Name | None = Field(None, description="The GPU it ran on; logs rarely say.")
    weights: Name | None = Field(None, description="The weights' format, where the log only names a method.")
    memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    max_num_seqs: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_num_batched_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    memory_bytes: Annotated[float, Field(gt=0, le=1e15)] | None = Field(
        None, description="Memory of the GPU as the runtime reports it, where the log does not.")
    save_as: Slug | None = Field(None, description="Keep what was learned as a calibration of this id; plans that name "
                                                   "it reserve as much as the log did.")


class LogLine(Answer):
    """One quantity of the log beside its prediction; bytes are per GPU."""

    quantity: str
    observed: float | None
    predicted: float | None
    ratio: float | None = Field(description="Predicted over observed [1].")


class EngineLogAnswer(Answer):
    """A log read: its columns, observed against predicted, and the reserve it teaches."""

    row: dict[str, str]
    lines: list[LogLine]
    learned: dict[str, Any] | None
    warnings: list[str]


class ModelFilesAnswer(Answer):
    """What a model's own files count to."""

    id: str
    parameters: dict[str, Any]


class WeightFilesAnswer(Answer):
    """Exact bytes of a checkpoint."""

    total_bytes: int
    tensors: int
    files: int
    bytes_by_module: dict[str, int]
    bytes_by_dtype: dict[str, int]
    elements_by_dtype: dict[str, int]
