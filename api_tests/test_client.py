"""The Python client against the service."""

import httpx
import pytest

from api_tests.conftest import Loopback
from api_tests.job_worker import HANDLERS
from planner.client import Client, Refused
from planner.schemas.jobs import JobAnswer
from planner.schemas.plan import PlanRequest
from planner.schemas.resources import SkuForm
from planner.services.ports import Caller
from planner.services.worker import Worker

FORM = SkuForm(id="my-chip", name="Mine", vendor="acme", memory_bytes=80e9, bandwidth_bytes_per_s=2e12,
               peak_flop_per_s={"bf16": 1e15})
WHO = Caller()


class Flaky(httpx.BaseTransport):
    """Answers, but loses the answer every other time."""

    def __init__(self, inner) -> None:
        self.inner, self.calls = inner, 0

    def handle_request(self, request):
        answer = self.inner.handle_request(request)
        self.calls += 1
        if self.calls % 2:
            raise httpx.ReadError("lost", request=request)
        return answer

    def close(self):
        self.inner.close()


@pytest.fixture
def api(app):
    with Client("http://localhost", transport=Loopback(app)) as client:
        yield client


def test_plans(api):
    answer = api.plan(model="llama-3.1-8b", sku="h100")
    assert answer.fit.fits
    question = PlanRequest(model="llama-3.1-8b", sku="h100")
    assert api.plan(question).decode.step_time_s == answer.decode.step_time_s
    both = api.compare([{"model": "llama-3.1-8b", "sku": "h100"}, {"model": "llama-3.1-8b", "sku": "h200"}])
    assert len(both.plans) == 2


def test_a_refusal_carries_its_problem(api):
    with pytest.raises(Refused, match="is catalogued under") as refusal:
        api.plan(model="llama-3.1-8b", sku="h1000")
    assert (refusal.value.code, refusal.value.status) == ("not_found", 404)
    assert refusal.value.problem.candidates


def test_sweeps(api):
    base = {"model": "llama-3.1-8b", "sku": "h100-sxm-80gb"}
    columns = api.sweep(base, {"workload.concurrency": [1, 2, 4]}, ["decode.step_time_s"])
    assert len(columns.metrics["decode.step_time_s"]) == 3
    large = api.sweep(base, {"workload.concurrency": range(1, 502), "workload.context_tokens": range(100, 300)},
                      ["decode.step_time_s"])
    assert isinstance(large, JobAnswer)
    assert api.jobs.cancel(large.id).state == "cancelled"


def test_entries(api):
    made = api.skus.create(FORM)
    assert (made.id, made["power_w"] if "power_w" in made.stored.model_dump() else None) == ("my-chip", None)
    changed = api.skus.change(api.skus.get("my-chip"), power_w=700.0)
    assert changed["power_w"] == 700.0
    with pytest.raises(Refused) as stale:
        api.skus.change(made, power_w=1.0)
    assert stale.value.code == "stale"
    replaced = api.skus.replace(changed, FORM)
    assert [line.id for line in api.skus.list(q="my-chip", page_size=1)] == ["my-chip"]
    assert len(list(api.skus.list(page_size=7))) == len(list(api.skus.list()))
    assert [line.action for line in api.skus.history("my-chip")] == ["updated", "updated", "created"]
    api.skus.delete(replaced)
    with pytest.raises(Refused):
        api.skus.get("my-chip")


def test_a_lost_answer_makes_no_second_entry(app):
    with Client("http://localhost", transport=Flaky(Loopback(app))) as client:
        client.prices.create({"sku": "h100", "usd_per_gpu_hour": 2.0})
    with Client("http://localhost", transport=Loopback(app)) as client:
        assert len([line for line in client.prices.list() if not line.built_in]) == 1


def test_a_connection_that_stays_broken_is_told():
    def broken(request):
        raise httpx.ConnectError("refused", request=request)

    with Client(transport=httpx.MockTransport(broken)) as client, pytest.raises(httpx.ConnectError):
        client.prices.create({"sku": "h100", "usd_per_gpu_hour": 2.0})


def test_an_answer_that_is_no_problem_is_an_http_error():
    with (Client(transport=httpx.MockTransport(lambda _: httpx.Response(502, text="bad gateway"))) as client,
          pytest.raises(httpx.HTTPStatusError)):
        client.plan(model="x", sku="y")


def test_jobs(api, planner, app):
    job = planner.jobs.submit("count", {"to": 3}, WHO)
    with pytest.raises(TimeoutError):
        api.jobs.wait(job.id, timeout_s=0.1, every_s=0.05)
    Worker(planner.queue, HANDLERS, "here").run_once()
    assert api.jobs.wait(job.id).result == {"counted": 3, "for": "local"}
    assert b"counted" in api.jobs.result(job.id)
    with Client("http://localhost", transport=Flaky(Loopback(app))) as flaky:
        kinds = [event.kind for event in flaky.jobs.follow(job.id, reconnect_s=0.0)]
    assert (kinds[0], kinds[-1]) == ("queued", "succeeded")
    with pytest.raises(Refused):
        list(api.jobs.follow("none"))
