"""Prometheus metrics: requests by route, method and status, and how long they took."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper edges of the duration histogram [s]; a plan takes about a millisecond."""


class Metrics:
    """Plain ASGI around the application; one registry each, so that two applications do not collide."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry) -> None:
        self._app = app
        self._requests = Counter("planner_http_requests_total", "Requests answered.", ["method", "route", "status"],
                                 registry=registry)
        self._seconds = Histogram("planner_http_request_seconds", "Time to answer [s].", ["route"], buckets=BUCKETS,
                                  registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start = 500, time.perf_counter()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            self._requests.labels(scope["method"], route, status).inc()
            self._seconds.labels(route).observe(time.perf_counter() - start)
