"""The Idempotency-Key header: a repeated POST makes nothing new."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header

IdempotencyKey = Annotated[str | None, Header(
    alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{1,200}$",
    description="Any unique text; the same key with the same body returns the first answer for seven days.")]
REPLAYED = {"Idempotency-Replayed": "true"}
