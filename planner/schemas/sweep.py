"""The sweep question and its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from planner.schemas.base import Answer, Question
from planner.schemas.plan import PlanRequest

Values = Annotated[list[str | int | float], Field(min_length=1, max_length=2_000_000)]


MOST_WORDS = 2_000
"""Different words on one axis: each makes a configuration of its own [1]."""


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
            if len({value for value in values if isinstance(value, str)}) > MOST_WORDS:
                raise ValueError(f"axis {path} has more than {MOST_WORDS} different words")
        for path, values in self.axes.items():
            numbers = [v for v in values if not isinstance(v, str)]
            tried: dict[str, Any] = {str(v): v for v in values if isinstance(v, str)}
            tried |= {f"least {path}": min(numbers), f"largest {path}": max(numbers)} if numbers else {}
            for value in tried.values():
                _check(self.base, {**first, path: value}, path, values)
        return self


def _check(base: dict[str, Any], placed: dict[str, Any], axis: str, values: Sequence[Any]) -> None:
    """Refuse what a plan would refuse, at the axis or in the base: wherever it was said."""
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
        at_axis = f"{field}.".startswith(f"{axis}.") or f"{axis}.".startswith(f"{field}.")
        if at_axis and finding["type"] == "extra_forbidden":
            return  # no field of a plan: refused by name, with those that can be axes, where the axes are read
        place = ("axes", axis, values.index(placed[axis])) if at_axis else ("base", *finding["loc"])
        told = InitErrorDetails(type=finding["type"], loc=place, input=finding["input"], ctx=finding.get("ctx", {}))
        raise ValidationError.from_exception_data("SweepRequest", [told]) from None


class SweepAnswer(Answer):
    """Columns flat in C order of the axes."""

    axes: dict[str, list[Any]]
    metrics: dict[str, list[Any]]
    shape: list[int]
    refused: list[dict[str, Any]] = Field(
        description="Configurations whose points are null: {at, code, detail, hint, errors: [{pointer, message}]}; a "
                    "pointer leads to the value of the axis, or to the field of the base.")
