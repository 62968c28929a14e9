"""The client: plans, sweeps, entries and jobs over one connection pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from planner.client.errors import checked
from planner.client.jobs import Jobs
from planner.client.resources import Resources
from planner.schemas.jobs import JobAnswer
from planner.schemas.plan import CompareAnswer, PlanAnswer, PlanRequest
from planner.schemas.sweep import SweepAnswer

DEFAULT_URL = "http://127.0.0.1:8000"


class Client:
    """A connection to one service; use it in a with block, or close it."""

    def __init__(self, url: str = DEFAULT_URL, *, timeout_s: float = 60.0,
                 transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(base_url=url, timeout=timeout_s, transport=transport)
        self.models = Resources(self._http, "models")
        self.skus = Resources(self._http, "skus")
        self.prices = Resources(self._http, "prices")
        self.scenarios = Resources(self._http, "scenarios")
        self.calibrations = Resources(self._http, "calibrations")
        self.jobs = Jobs(self._http)

    def plan(self, question: PlanRequest | None = None, **fields: Any) -> PlanAnswer:  # noqa: ANN401 - its fields
        """Answer a plan: plan(model="llama-3.1-70b", sku="h100", deployment={"tensor_parallel": 4})."""
        body = question.model_dump(mode="json", exclude_unset=True) if question is not None else fields
        return PlanAnswer.model_validate(self.ask("/v1/plan", body))

    def compare(self, plans: Sequence[Mapping[str, Any]]) -> CompareAnswer:
        """Answer several plans side by side."""
        return CompareAnswer.model_validate(self.ask("/v1/compare", {"plans": [dict(plan) for plan in plans]}))

    def sweep(self, base: Mapping[str, Any], axes: Mapping[str, Sequence[Any]],
              metrics: Sequence[str]) -> SweepAnswer | JobAnswer:
        """Answer a sweep in columns, or the job that a large one became."""
        body = {"base": dict(base), "axes": {path: list(values) for path, values in axes.items()},
                "metrics": list(metrics)}
        answer = checked(self._http.post("/v1/sweep", json=body))
        kind = JobAnswer if answer.status_code == httpx.codes.ACCEPTED else SweepAnswer
        return kind.model_validate_json(answer.content)

    def ask(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """POST a question to any address and return its JSON answer."""
        found: dict[str, Any] = checked(self._http.post(path, json=dict(body))).json()
        return found

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
