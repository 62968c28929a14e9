"""The one shape of every refusal (RFC 9457)."""

from __future__ import annotations

from pydantic import Field

from planner.schemas.base import Answer


class FieldError(Answer):
    """One field at fault."""

    pointer: str = Field(description="JSON pointer into the body; /query/… and /header/… for parameters.")
    message: str = Field(description="One sentence naming the field and what would do.")


class Problem(Answer):
    """Why a request was refused."""

    type: str = Field(description="Address of the problem's description.", examples=["/v1/problems/not_found"])
    title: str
    status: int
    detail: str = Field(description="One plain sentence.")
    instance: str = Field(description="The path that was asked.")
    code: str = Field(description="Stable and machine-readable.", examples=["missing_fact"])
    hint: str | None = Field(None, description="What to do instead.")
    errors: list[FieldError] = Field(default=[], description="Every field at fault.")
    candidates: list[str] = Field(default=[], description="Closest known names.")
    fact: str | None = Field(None, description="The missing fact, when code is missing_fact.")
