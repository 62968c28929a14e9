"""Opaque cursors of keyset pages."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from fastapi import Query

from planner.api.problems import Malformed
from planner.schemas.base import NO_NUL

Limit = Annotated[int, Query(ge=1, le=500, description="Items on a page.")]
Cursor = Annotated[str | None, Query(max_length=400, description="next_cursor of the page before.")]
Search = Annotated[str | None, Query(max_length=200, pattern=NO_NUL, description="Text in the id or the name.")]


def encode(key: str) -> str:
    """Return the cursor that continues after a key."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode(cursor: str | None) -> str | None:
    """Return the key of a cursor, or refuse one that this service never gave."""
    if cursor is None:
        return None
    try:
        key = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        key = ""
    if not key.isprintable() or not key:
        raise Malformed("cursor is not one that this service gave.", pointer="/query/cursor",
                        hint="Leave it out for the first page, then send next_cursor.")
    return key


def decode_number(cursor: str | None) -> int | None:
    """Return the number of a cursor over a numbered list."""
    key = decode(cursor)
    if key is None:
        return None
    if not (key.isascii() and key.isdigit() and len(key) < 19):
        raise Malformed("cursor is not one that this service gave.", pointer="/query/cursor",
                        hint="Leave it out for the first page, then send next_cursor.")
    return int(key)
