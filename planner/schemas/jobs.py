"""Jobs as the API shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from planner.schemas.base import Answer

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class JobAnswer(Answer):
    """A job: where it stands and, once it has succeeded, its result."""

    id: str
    kind: str = Field(examples=["simulation", "sweep"])
    state: State
    progress: float = Field(ge=0, le=1)
    message: str | None
    attempts: int
    cancel_requested: bool
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None = Field(description="When the result is dropped.")
    request: dict[str, Any]
    error: dict[str, Any] | None = Field(description="{code, detail, hint, errors: [{pointer, message}]}; pointers are "
                                                     "of the request.")
    result_type: str | None
    result: Any = Field(None, description="The JSON result, up to a megabyte; longer or other ones are at result_url.")
    result_url: str | None = None


class JobPage(Answer):
    """A page of jobs, newest first."""

    items: list[JobAnswer]
    next_cursor: str | None
