"""The sweep question and its columns."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator

from planner.schemas.base import Answer, Question
from planner.schemas.plan import PlanRequest

Values = Annotated[list[str | int | float], Field(min_length=1, max_length=2_000_000)]


class SweepRequest(Question):
    """One plan question over the product of axes; dotted field names as in /v1/plan."""

    base: dict[str, Any] = Field(description="A plan request; fields that are axes may be left out.",
                                 examples=[{"model": "llama-3.1-70b", "sku": "h100-sxm-80gb",
                                            "deployment": {"tensor_parallel": 4}}])
    axes: Annotated[dict[str, Values], Field(min_length=1, max_length=24)] = Field(
        examples=[{"workload.concurrency": [1, 8, 64, 256], "deployment.weights": ["bf16", "fp8"]}])
    metrics: Annotated[list[str], Field(min_length=1, max_length=64)] = Field(
        default=["fit.fits", "fit.max_concurrency", "decode.step_time_s", "decode.tokens_per_s", "decode.bound"],
        examples=[["decode.step_time_s", "serving.output_tokens_per_s"]])

    @model_validator(mode="after")
    def _every_value_is_a_plan(self) -> Self:
        """Refuse an axis value that a plan would refuse: each word, and the least and largest number."""
        first = {path: values[0] for path, values in self.axes.items()}
        for path, values in self.axes.items():
            numbers = [v for v in values if not isinstance(v, str)]
            tried: dict[str, Any] = {str(v): v for v in values if isinstance(v, str)}
            tried |= {f"least {path}": min(numbers), f"largest {path}": max(numbers)} if numbers else {}
            for value in tried.values():
                _check(self.base, {**first, path: value}, path)
        return self


def _check(base: dict[str, Any], placed: dict[str, Any], axis: str) -> None:
    document = {name: dict(value) if isinstance(value, dict) else value for name, value in base.items()}
    for path, value in placed.items():
        here, (*outer, last) = document, path.split(".")
        for step in outer:
            here = here.setdefault(step, {})
            if not isinstance(here, dict):
                raise ValueError(f"base.{step} must be an object")  # noqa: TRY004 - pydantic wants a ValueError
        here[last] = value
    try:
        PlanRequest.model_validate(document)
    except ValidationError as error:
        finding = error.errors()[0]
        field = ".".join(str(step) for step in finding["loc"])
        where = f"axis {axis}: " if field == axis else "base: "
        raise ValueError(f"{where}{field}: {finding['msg']}") from None


class SweepAnswer(Answer):
    """Columns flat in C order of the axes."""

    axes: dict[str, list[Any]]
    metrics: dict[str, list[Any]]
    shape: list[int]
    refused: list[dict[str, Any]]
