"""Answers kept by the exact bytes of their question, as plain ASGI in front of the framework.

A plan is a pure function of the question and the catalogue, so an answer holds until the catalogue's generation moves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CACHED = frozenset({"/v1/plan", "/v1/compare", "/v1/roofline", "/v1/frontier"})
LARGEST_QUESTION = 64_000
LARGEST_ANSWER = 512_000
"""Longer ones are not kept [byte]."""
Headers = list[tuple[bytes, bytes]]
Key = tuple[int, str, bytes, bytes, bytes]


class AnswerCache:
    """Least recently used answers; `Cache-Control: no-cache` asks afresh."""

    def __init__(self, app: ASGIApp, entries: int, generation: Callable[[], int]) -> None:
        self._app = app
        self._entries = entries
        self._generation = generation
        self._kept: OrderedDict[Key, tuple[Headers, bytes]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request."""
        if scope["type"] != "http" or scope["path"] not in CACHED or scope["method"] not in {"GET", "POST"}:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        body, rest = await whole_body(receive)
        if body is None or len(body) > LARGEST_QUESTION or b"no-cache" in headers.get(b"cache-control", b""):
            await self._app(scope, rest, send)
            return
        key = (self._generation(), scope["method"] + scope["path"], scope["query_string"],
               headers.get(b"content-type", b""), body)
        kept = self._kept.get(key)
        if kept is None:
            await self._app(scope, rest, _Recorder(send, lambda answer: self._keep(key, answer)))
            return
        self._kept.move_to_end(key)
        await send({"type": "http.response.start", "status": 200, "headers": kept[0]})
        await send({"type": "http.response.body", "body": kept[1]})

    def _keep(self, key: Key, answer: tuple[Headers, bytes]) -> None:
        self._kept[key] = answer
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)


async def whole_body(receive: Receive) -> tuple[bytes | None, Receive]:
    """Return the body when it came in one piece, and a receive that gives it again."""
    first = await receive()
    pending = [first]

    async def again() -> Message:
        return pending.pop() if pending else await receive()

    whole = first["type"] == "http.request" and not first.get("more_body", False)
    return (first.get("body", b"") if whole else None), again


class _Recorder:
    """A send that passes everything on and keeps a complete, short 200 answer."""

    def __init__(self, send: Send, keep: Callable[[tuple[Headers, bytes]], None]) -> None:
        self._send = send
        self._keep = keep
        self._headers: Headers | None = None

    async def __call__(self, message: Message) -> None:
        """Pass one message of the answer."""
        if message["type"] == "http.response.start" and message["status"] == 200:
            self._headers = list(message["headers"])
        elif message["type"] == "http.response.body" and self._headers is not None:
            body = message.get("body", b"")
            if not message.get("more_body", False) and len(body) <= LARGEST_ANSWER:
                self._keep((self._headers, body))
            self._headers = None
        await self._send(message)
