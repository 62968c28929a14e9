"""Long questions: wait for them, follow them over broken connections, cancel them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from planner.client.errors import checked
from planner.schemas.jobs import JobAnswer

OVER = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One step of a job's life."""

    sequence: int
    kind: str
    data: dict[str, Any]


class Jobs:
    """The workspace's jobs."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def get(self, job_id: str) -> JobAnswer:
        """Return where a job stands and, once it has succeeded, its result."""
        return JobAnswer.model_validate_json(checked(self._http.get(f"/v1/jobs/{job_id}")).content)

    def result(self, job_id: str) -> bytes:
        """Return a job's result as it was stored."""
        return checked(self._http.get(f"/v1/jobs/{job_id}/result")).content

    def cancel(self, job_id: str) -> JobAnswer:
        """Cancel a job."""
        return JobAnswer.model_validate_json(checked(self._http.delete(f"/v1/jobs/{job_id}")).content)

    def wait(self, job_id: str, timeout_s: float = 3600.0, every_s: float = 0.5) -> JobAnswer:
        """Return the job once it is over; TimeoutError when it takes longer."""
        end = time.monotonic() + timeout_s
        while (job := self.get(job_id)).state not in OVER:
            if time.monotonic() > end:
                raise TimeoutError(f"job {job_id} is still {job.state}")
            time.sleep(every_s)
        return job

    def follow(self, job_id: str, after: int = 0, reconnect_s: float = 1.0) -> Iterator[Event]:
        """Yield the job's events until it is over, resuming after a broken connection where it broke."""
        last = after
        while True:
            try:
                for event in self._stream(job_id, last):
                    last = event.sequence
                    yield event
                    if event.kind in OVER:
                        return
            except httpx.TransportError:
                time.sleep(reconnect_s)

    def _stream(self, job_id: str, last: int) -> Iterator[Event]:
        with self._http.stream("GET", f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": str(last)},
                               timeout=httpx.Timeout(30.0)) as answer:
            if not answer.is_success:
                answer.read()
            fields: dict[str, str] = {}
            for line in checked(answer).iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                elif "id" in fields:
                    yield Event(sequence=int(fields["id"]), kind=fields["event"], data=json.loads(fields["data"]))
                    fields = {}
