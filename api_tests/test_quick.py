"""The short way past the framework answers as the long one does, and leaves every refusal to it."""

import pytest

LONG = {"Content-Type": "application/json; charset=utf-8"}  # only the plain media type takes the short way
PLAN = {"model": "llama-3.1-8b", "sku": "h100-sxm-80gb", "workload": {"concurrency": 9}}
QUESTIONS = [
    ("/v1/plan", PLAN),
    ("/v1/plan", {**PLAN, "deployment": {"tensor_parallel": 2, "weights": "fp8"}, "slo": {"ttft_s": 1},
                  "price": {"usd_per_gpu_hour": 2}, "calibration": "ideal"}),
    ("/v1/roofline", {"sku": "h100-sxm-80gb", "dtype": "bf16", "intensity_flop_per_byte": 100}),
    ("/v1/compare", {"plans": [PLAN, {**PLAN, "sku": "nothing-like-it"}]}),
]
REFUSED = [
    ("/v1/plan", {"model": "llama-3.1-8b"}, 422),
    ("/v1/plan", {**PLAN, "model": "nothing-like-it"}, 404),
    ("/v1/plan", {**PLAN, "sku": "a100-sxm-80gb", "deployment": {"weights": "fp8"}}, 422),
    ("/v1/plan", {**PLAN, "unknown": 1}, 422),
]


@pytest.mark.parametrize(("path", "body"), QUESTIONS)
def test_both_ways_answer_alike(client, path, body):
    short, long = client.post(path, json=body), client.post(path, json=body, headers=LONG)
    assert short.status_code == long.status_code == 200, short.text
    assert short.content == long.content
    assert short.headers == long.headers


@pytest.mark.parametrize(("path", "body", "status"), REFUSED)
def test_both_ways_refuse_alike(client, path, body, status):
    short, long = client.post(path, json=body), client.post(path, json=body, headers=LONG)
    assert short.status_code == long.status_code == status
    assert short.json() == long.json()


def test_what_is_no_plain_question_takes_the_long_way(client):
    assert client.post("/v1/plan?unknown=1", json=PLAN).status_code == 422
    assert client.post("/v1/plan", content=b"[" * 100, headers={"Content-Type": "application/json"}).status_code == 422
    pieces = client.post("/v1/plan", content=iter([b'{"model": "llama-3.1-8b", ', b'"sku": "h100-sxm-80gb"}']),
                         headers={"Content-Type": "application/json"})
    assert pieces.status_code == 200


def test_the_short_way_is_counted_under_its_route(client):
    client.post("/v1/plan", json=PLAN)
    assert 'planner_http_requests_total{method="POST",route="/v1/plan",status="200"} 1.0' in client.get("/metrics").text
