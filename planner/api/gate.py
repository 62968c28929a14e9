"""What every request passes first, as plain ASGI: the Host header and the size of the body."""

from __future__ import annotations

import re
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planner.api.problems import TooLarge, WrongHost, answer

MEGABYTE = 1_000_000
DEFAULT_LIMIT = MEGABYTE
"""A question is a few hundred bytes; nothing legitimate is near this."""
LIMITS = (("/v1/import/", 64 * MEGABYTE), ("/v1/validate", 64 * MEGABYTE), ("/v1/fit", 64 * MEGABYTE),
          ("/v1/workspace", 64 * MEGABYTE), ("/v1/sweep", 16 * MEGABYTE), ("/v1/calibrations", 16 * MEGABYTE))
"""Longer bodies are read where files are sent; longest prefix wins."""
_HOST_HINT = "Use http://127.0.0.1 or http://localhost, or name the host in PLANNER_ALLOWED_HOSTS."
_PORT = re.compile(rb":\d{1,5}$")


class Gate:
    """Refuses foreign hosts (DNS rebinding) and bodies past their limit, before anything is read."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._any = "*" in hosts
        self._hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        host, length = b"", None
        for name, value in scope["headers"]:
            if name == b"host":
                host = _PORT.sub(b"", value.lower())
            elif name == b"content-length":
                length = int(value) if value.isdigit() else None
        if not self._any and host not in self._hosts:
            shown = host.decode("latin-1") or "no host"
            refusal = WrongHost(f"This service does not answer to the host {shown!r}.", hint=_HOST_HINT)
            await answer(scope["path"], refusal)(scope, receive, send)
            return
        limit = limit_of(scope["path"])
        if length is not None and length > limit:
            await answer(scope["path"], too_large(limit, scope["path"]))(scope, receive, send)
            return
        await self._app(scope, receive if length is not None else _counted(receive, limit, scope["path"]), send)


def limit_of(path: str) -> int:
    """Return how many bytes of body an address reads."""
    return next((limit for prefix, limit in LIMITS if path.startswith(prefix)), DEFAULT_LIMIT)


def too_large(limit: int, path: str) -> TooLarge:
    """Return the refusal of a body past its limit."""
    return TooLarge(f"The body is larger than the {limit:,} bytes that {path} reads.",
                    hint="Send only the fields of the question.")


def _counted(receive: Receive, limit: int, path: str) -> Receive:
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > limit:
                raise too_large(limit, path)
        return message

    return counting
