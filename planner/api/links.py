"""OpenAPI links: which operation takes what an answer gives, for readers and for tools that follow them."""

from __future__ import annotations

from typing import Any

Responses = dict[int | str, dict[str, Any]]
_ID = {"id": "$response.body#/id"}
_CHANGE = {**_ID, "If-Match": "$response.header.ETag"}


def entry_links(kind: str) -> dict[str, Any]:
    """Return what may be asked about an entry that an answer shows: read it, its history, change it, delete it."""
    reads = {f"{name}_{kind}": {"operationId": f"{name}_{kind}", "parameters": _ID} for name in ("get", "history_of")}
    changes = {f"{name}_{kind}": {"operationId": f"{name}_{kind}", "parameters": _CHANGE}
               for name in ("replace", "change", "delete")}
    return reads | changes


def entry_response(kind: str, status: int) -> Responses:
    """Return the OpenAPI entry of an answer that shows an entry under its ETag."""
    tag = {"description": "The entry's version, for If-Match.", "schema": {"type": "string"}, "required": True}
    return {status: {"headers": {"ETag": tag}, "links": entry_links(kind)}}


JOB_LINKS: dict[str, Any] = {name: {"operationId": name, "parameters": _ID}
                             for name in ("get_job", "get_job_result", "cancel_job")}
"""What may be asked about a job that an answer shows."""
