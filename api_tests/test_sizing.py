"""Sizings, frontiers, what-ifs and simulations over HTTP and on the command line."""

from __future__ import annotations

import json

import pytest

from planner.cli.main import main
from planner.services.worker import Worker

SIZE = {"model": "llama-3.1-8b", "skus": ["h100", "l40s-48gb"],
        "demand": {"request_rate": 10, "input_tokens": 1000, "output_tokens": 200},
        "slo": {"ttft_s": 0.6, "tpot_s": 0.03}, "verification": "closed_form"}
PLAN = {"model": "llama-3.1-8b", "sku": "h100", "deployment": {"tensor_parallel": 1},
        "workload": {"input_tokens": 500, "output_tokens": 100, "request_rate": 8}}
OPTION = {"sku", "deployment", "replicas", "gpus", "max_rate_per_replica", "ttft_s", "tpot_s", "utilization", "limit",
          "usd_per_hour", "usd_per_million_output_tokens", "power_w"}


def test_a_sizing_has_every_field_of_the_contract(client):
    answer = client.post("/v1/size", json=SIZE).json()
    assert set(answer["options"][0]) >= OPTION
    assert {"sku", "deployment", "reason"} <= set(answer["rejected"][0]) if answer["rejected"] else True
    assert {"cheapest", "fewest_gpus", "lowest_latency"} == set(answer["picks"])


def test_picks_are_verified_when_asked(client):
    answer = client.post("/v1/size", json={**SIZE, "skus": ["h100"], "verification": "simulated"}).json()
    assert all(answer["options"][i]["verified"] for i in answer["picks"].values())


@pytest.mark.parametrize(("change", "status"), [
    ({"model": "nothing"}, 404), ({"skus": []}, 422), ({"skus": ["nothing"]}, 404),
    ({"demand": {"request_rate": -1, "input_tokens": 1, "output_tokens": 1}}, 422),
    ({"slo": {"percentile": 0.2}}, 422), ({"surprise": 1}, 422), ({"constraints": {"engines": ["other"]}}, 422)])
def test_bad_sizings_are_refused(client, change, status):
    refused = client.post("/v1/size", json={**SIZE, **change})
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"


def test_a_sizing_and_a_simulation_can_be_jobs(client, planner):
    worker = Worker(planner.queue, planner.handlers, "here")
    sized = client.post("/v1/size", json=SIZE, headers={"Prefer": "respond-async"})
    played = client.post("/v1/simulations", json={"plan": PLAN, "requests": 500})
    assert (sized.status_code, played.status_code) == (202, 202)
    assert worker.run_once()
    assert worker.run_once()
    result = client.get(f"/v1/jobs/{played.json()['id']}").json()
    assert result["state"] == "succeeded"
    assert result["result"]["requests"] == 500
    assert client.get(f"/v1/jobs/{sized.json()['id']}").json()["result"]["options"]


def test_a_bad_trace_fails_its_job_in_one_sentence(client, planner):
    body = {"plan": PLAN, "mode": "trace", "trace": "time,input,output\n5,10,10\n1,10,10\n"}
    job = client.post("/v1/simulations", json=body).json()
    assert Worker(planner.queue, planner.handlers, "here").run_once()
    failed = client.get(f"/v1/jobs/{job['id']}").json()
    assert failed["state"] == "failed"
    assert "not sorted" in failed["error"]["detail"]


def test_a_frontier_marks_its_pareto_set(client):
    answer = client.post("/v1/frontier", json={"model": "llama-3.1-8b", "skus": ["h100"], "concurrency": [1, 16, 64]})
    points = answer.json()["points"]
    assert {"sku", "deployment", "concurrency", "tokens_per_s_per_user", "output_tokens_per_s_per_gpu",
            "usd_per_million_output_tokens", "pareto"} <= set(points[0])
    assert any(p["pareto"] for p in points)
    assert not all(p["pareto"] for p in points)


def test_what_ifs(client):
    pools = client.post("/v1/disaggregation", json={"base": PLAN, "request_rate": 20, "gpus": 4}).json()
    assert {r["stable"] for r in pools["ratios"]} <= {True, False}
    assert len(pools["ratios"]) == 3
    draft = client.post("/v1/speculation", json={"base": PLAN, "acceptance": 0.7, "draft_tokens": 3}).json()
    assert draft["speed_up"][0] > 1
    hits = client.post("/v1/prefix", json={"base": PLAN, "hits": [0.5]}).json()
    assert hits["rows"][0]["ttft_after"] < hits["rows"][0]["ttft_before"]
    assert client.post("/v1/speculation", json={"base": PLAN}).status_code == 422


def test_the_command_line_sizes_draws_and_plays(capsys, tmp_path):
    load = ["--in", "1000", "--out", "200"]
    assert main(["size", "llama-3.1-8b", "h100", "--rate", "10", *load, "--ttft", "0.6", "--closed-form"]) == 0
    assert "h100-sxm" in capsys.readouterr().out
    assert main(["size", "llama-3.1-8b", "h100", "--rate", "10", "--closed-form", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["options"]
    assert main(["frontier", "llama-3.1-8b", "h100", *load]) == 0
    assert main(["frontier", "llama-3.1-8b", "h100", "--json", "--plot", str(tmp_path / "f.svg")]) == 0
    capsys.readouterr()
    play = ["simulate", "llama-3.1-8b", "h100", "--tp", "1", *load, "--requests", "300"]
    assert main([*play, "--rate", "4", "--plot", str(tmp_path / "s.png")]) == 0
    assert "Stable" in capsys.readouterr().out
    assert main([*play, "--concurrency", "8", "--benchmark", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["finished"] == 300
    trace = tmp_path / "t.csv"
    trace.write_text("time,input,output\n0,10,5\n1,20,5\n", encoding="utf-8")
    assert main([*play, "--trace", str(trace)]) == 0
    assert (tmp_path / "f.svg").stat().st_size > 1000
    assert (tmp_path / "s.png").stat().st_size > 1000
    trace.write_text("time,input,output\n1,10,5\n0,20,5\n", encoding="utf-8")
    assert main([*play, "--trace", str(trace)]) == 2
    assert main(["size", "llama-3.1-8b", "h100", "--rate", "-1"]) == 2


def test_a_sku_named_twice_is_sized_once(client):
    question = {"model": "llama-3.1-8b", "demand": {"request_rate": 2, "input_tokens": 500, "output_tokens": 100}}
    once = client.post("/v1/size", json=question | {"skus": ["h100"]}).json()
    twice = client.post("/v1/size", json=question | {"skus": ["h100", "H100-SXM-80GB"]}).json()
    assert (twice["options"], twice["rejected"]) == (once["options"], once["rejected"])
    drawn = {"model": "llama-3.1-8b", "workload": {"input_tokens": 500, "output_tokens": 100}, "concurrency": [1, 8]}
    points = [client.post("/v1/frontier", json=drawn | {"skus": skus}).json()["points"]
              for skus in (["h100"], ["h100", "h100"])]
    assert points[0] == points[1]
