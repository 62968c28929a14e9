"""A calibration record stored through the API changes the plans that name it, and only those."""

import pytest

CURVE = {"kernel": "gemm", "dtype": "bf16", "bandwidth_bytes_per_s": 3.0e12, "peak_flop_per_s": 8e14, "ramp": [],
         "parameters": {"launch_s": 5e-6, "serial_s": 6e-7, "memory": 0.5, "compute": 0.4}}
RECORD = {"measured_on": "2026-03-01T10:00:00+00:00", "device": {"name": "NVIDIA H100"}, "curves": [CURVE],
          "ceilings": {"bandwidth_bytes_per_s": 3e12, "peak_flop_per_s": {"bf16": 8e14}}}
QUESTION = {"model": "llama-3.1-8b", "sku": "h100"}


def plan(client, **changes):
    return client.post("/v1/plan", json=QUESTION | changes)


def test_a_slow_calibration_slows_the_plans_that_name_it(client):
    before = plan(client).json()
    made = client.post("/v1/calibrations", json={"id": "slow-memory", "sku": "H100", "record": RECORD})
    assert made.status_code == 201, made.text
    slow = plan(client, calibration="slow-memory")
    assert slow.status_code == 200, slow.text
    assert slow.json()["calibration"]["id"] == "slow-memory"
    assert slow.json()["decode"]["step_time_s"] > 1.3 * before["decode"]["step_time_s"]
    assert plan(client).json()["decode"]["step_time_s"] == pytest.approx(before["decode"]["step_time_s"])


def test_an_unknown_calibration_is_not_found(client):
    answer = plan(client, calibration="nobody-measured-this")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_a_calibration_of_another_sku_is_refused(client):
    client.post("/v1/calibrations", json={"id": "h100-only", "sku": "h100", "record": RECORD})
    answer = plan(client, sku="h200", calibration="h100-only")
    assert (answer.status_code, answer.json()["code"]) == (422, "missing_fact")
    assert "h100-sxm-80gb" in answer.json()["detail"]


def test_a_calibration_is_compared_with_the_datasheet(client):
    client.post("/v1/calibrations", json={"id": "measured", "sku": "h100", "record": RECORD})
    answer = client.get("/v1/calibrations/measured/datasheet")
    assert answer.status_code == 200, answer.text
    lines = {line["ceiling"]: line for line in answer.json()["ceilings"]}
    assert lines["memory bandwidth"]["share"] == pytest.approx(3.0 / 3.35, rel=0.01)
    assert 0.7 < lines["bf16 peak"]["share"] < 0.9
    assert client.get("/v1/calibrations/nobody/datasheet").status_code == 404
    client.post("/v1/calibrations", json={"id": "empty", "sku": "h100", "record": {"curves": []}})
    assert client.get("/v1/calibrations/empty/datasheet").json()["code"] == "missing_fact"
