"""ETags of entries and the preconditions of changes (RFC 9110 §13)."""

from __future__ import annotations

import re

from planner.api.problems import Malformed, MissingPrecondition
from planner.core.errors import Stale
from planner.services.ports import Entry

_TAG = re.compile(r'\s*(W/)?"([\x21\x23-\x7e]*)"\s*')


def etag(version: int) -> str:
    """Return the strong entity tag of a version."""
    return f'"v{version}"'


def require_match(if_match: str | None, current: Entry) -> None:
    """Return when the change was made against the current version; 428 without If-Match, 412 when stale."""
    if if_match is None:
        raise MissingPrecondition(f"A change of {current.id} needs the header If-Match.",
                                  hint="GET the entry and send the ETag it came with.")
    if if_match.strip() == "*":
        return
    tags = if_match.split(",")
    parsed = [_TAG.fullmatch(tag) for tag in tags]
    if not all(parsed):
        raise Malformed("If-Match must be quoted entity tags or *.", pointer="/header/If-Match",
                        hint=f"For example If-Match: {etag(current.version)}.")
    if not any(tag and not tag[1] and f'"{tag[2]}"' == etag(current.version) for tag in parsed):
        raise Stale(f"{current.id} is at {etag(current.version)}, not at {if_match.strip()}.",
                    pointer="/header/If-Match", hint="GET it again, redo the change and send its new ETag in If-Match.")
