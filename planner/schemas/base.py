"""How every question and answer is read: strictly, by known names, finite numbers, never text for a number."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Question(BaseModel):
    """Root of every request body."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Answer(BaseModel):
    """Root of every response body; used for documentation and by the client, never to validate on the way out."""

    model_config = ConfigDict(extra="allow", frozen=True)


Slug = Annotated[str, Field(min_length=1, max_length=200, examples=["my-org/my-model"],
                            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$")]
NO_NUL = r"^[^\x00]*$"
"""Databases store every character but this one."""
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=NO_NUL)]
Positive = Annotated[float, Field(ge=1e-6, lt=1e24)]
Rate = Annotated[float, Field(ge=1e6, lt=1e24, description="In its SI unit: 3.35e12 byte/s, not 3.35 TB/s.")]
"""A capacity or rate of an accelerator; smaller ones are a forgotten prefix."""
