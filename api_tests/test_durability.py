"""Two writers at once, and a power cut in the middle: nothing acknowledged is lost, nothing is done twice."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from api_tests.postgres import Postgres
from api_tests.server import Server

SKU = {"id": "raced", "name": "Raced", "vendor": "acme", "memory_bytes": 80e9, "bandwidth_bytes_per_s": 2e12,
       "peak_flop_per_s": {"bf16": 1e15}}
WRITES = 300


@pytest.fixture
def server(environment):
    running = Server(environment)
    yield running
    running.stop()


def at_once(*calls):
    """Start the calls on one signal and return their answers."""
    gate = threading.Barrier(len(calls))

    def call(one):
        gate.wait()
        return one()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def test_two_writers_one_entry_one_wins(server):
    with server.client() as client:
        tag = client.post("/v1/skus", json=SKU).headers["etag"]
        for round_number in range(1, 6):
            def write(power, tag=tag):
                return client.patch("/v1/skus/raced", json={"power_w": power}, headers={"If-Match": tag})

            answers = at_once(lambda: write(1.0), lambda: write(2.0), lambda: write(3.0))
            assert Counter(answer.status_code for answer in answers) == {200: 1, 412: 2}
            won = next(answer for answer in answers if answer.status_code == 200)
            now = client.get("/v1/skus/raced")
            assert now.json()["power_w"] == won.json()["power_w"]
            assert now.json()["version"] == round_number + 1
            tag = now.headers["etag"]
        assert len(client.get("/v1/skus/raced/history").json()["items"]) == 6


def test_the_same_post_at_once_makes_one_entry(server):
    with server.client() as client:
        for number in range(5):
            def post(number=number):
                return client.post("/v1/prices", json={"sku": "h100", "usd_per_gpu_hour": 1.0 + number},
                                   headers={"Idempotency-Key": f"key-{number}"})

            answers = at_once(*[post] * 4)
            assert {answer.status_code for answer in answers} == {201}
            assert len({answer.json()["id"] for answer in answers}) == 1
        own = [item for item in client.get("/v1/prices?limit=500").json()["items"] if not item["built_in"]]
        assert len(own) == 5


def write_until_dead(url, acknowledged):
    with httpx.Client(base_url=url, timeout=60) as client:
        for number in range(WRITES):
            try:
                answer = client.post("/v1/prices", json={"id": f"write-{number}", "sku": "h100",
                                                         "usd_per_gpu_hour": 1.0 + number})
            except httpx.TransportError:
                return
            if answer.status_code == 201:
                acknowledged.append(answer.json()["id"])


def kept(server):
    with server.client() as client:
        items = client.get("/v1/prices", params={"q": "write-", "limit": 500}).json()["items"]
        for item in items:
            assert len(client.get(f"/v1/prices/{item['id']}/history").json()["items"]) == 1
    return {item["id"] for item in items}


def cut(server, kill):
    """Write, and cut the power once a third has been acknowledged."""
    acknowledged = []
    writer = threading.Thread(target=write_until_dead, args=(server.url, acknowledged))
    writer.start()
    while len(acknowledged) < WRITES // 3 and writer.is_alive():
        time.sleep(0.005)
    kill()
    writer.join()
    assert WRITES // 3 <= len(acknowledged) < WRITES
    return acknowledged


def test_a_killed_service_loses_nothing_it_acknowledged(environment):
    server = Server(environment)
    acknowledged = cut(server, server.kill)
    server.start()
    try:
        assert set(acknowledged) <= kept(server)
    finally:
        server.stop()


@pytest.mark.slow
def test_a_killed_postgresql_loses_nothing_it_acknowledged():
    postgres = Postgres(durable=True)
    server = Server({"PLANNER_DATABASE_URL": postgres.url("postgres"), "PLANNER_EMBEDDED_WORKER": "0"})
    try:
        acknowledged = cut(server, postgres.kill)
        postgres.start()
        assert set(acknowledged) <= kept(server)
    finally:
        server.stop()
        postgres.stop()
