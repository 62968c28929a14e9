"""The calibration record as a document: what `planner calibrate --save` writes and `/v1/calibrations` stores."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Rate = Annotated[float, Field(gt=0, lt=1e20, allow_inf_nan=False)]
Error = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Text = Annotated[str, Field(max_length=500)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DeviceFacts(_Part):
    """What was measured on, as its own driver names it."""

    spec: Text
    name: Text
    driver: Text | None
    torch: Text
    memory_bytes: Rate
    free_bytes: Rate
    cache_bytes: Rate
    clock_hz: Rate | None
    memory_clock_hz: Rate | None
    power_w: Rate | None
    power_limit_w: Rate | None
    temperature_c: float | None
    capability: tuple[int, int] | None
    count: int
    threads: int | None
    other_processes: int


class Noise(_Part):
    """How quiet the machine was."""

    noisy: bool
    reason: Text | None
    others_share: float | None = Field(description="Share of the processors that other processes used [1].")
    disturbed_share: float
    median_spread: float


class Reached(_Part):
    """Ceilings the device really has."""

    bandwidth_bytes_per_s: Rate
    streams_bytes_per_s: dict[str, Rate]
    gemv_bytes_per_s: dict[str, Rate]
    peak_flop_per_s: dict[str, Rate]
    launch_s: Rate | None
    gemv_share_of_stream: dict[str, Rate]


class Curve(_Part):
    """A fitted curve of one kernel class and dtype; shares are of the ceilings beside it."""

    kernel: Text
    dtype: Text
    bandwidth_bytes_per_s: Rate
    peak_flop_per_s: Rate
    parameters: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
    intervals_90: dict[str, tuple[float, float]]
    ramp: list[tuple[Rate, Rate]] = Field(description="(tokens, compute share) nodes where the share follows tokens.")
    points: Annotated[int, Field(ge=1)]
    median_error: Error
    left_out_error: Error | None
    left_out_p90: Error | None


class CeilingShare(BaseModel):
    """One ceiling: what was measured, what the datasheet says, and their ratio."""

    ceiling: str
    measured: float
    datasheet: float
    share: float = Field(description="Measured over datasheet [1].")
    unit: str


class DatasheetAnswer(BaseModel):
    """A calibration beside the datasheet of its SKU, and how far to trust it."""

    id: str
    sku: str
    measured_on: str | None
    partial: str | None
    noisy: bool | None
    reason: str | None
    ceilings: list[CeilingShare]


class CalibrationRecord(_Part):
    """One calibration run: device, ceilings, curves, rows, residuals, and how far to trust it."""

    version: Literal[1]
    measured_on: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T")]
    quick: bool
    partial: Text | None = Field(description="Why the run stopped early; null when it is complete.")
    elapsed_s: Error
    device: DeviceFacts
    noise: Noise
    ceilings: Reached
    implementations: dict[str, Text]
    curves: Annotated[list[Curve], Field(max_length=200)]
    left_out_median_error: Error | None
    rows: Annotated[list[dict[str, Any]], Field(max_length=20_000)]
    skipped: Annotated[list[dict[str, Text]], Field(max_length=20_000)]
    verify: dict[str, Any] | None = None
