"""Procurement over HTTP: what-ifs and fleets, stored scenarios, and one clear refusal for every bad question."""

import copy

import pytest

SCENARIO = {
    "name": "assistant", "currency": "USD", "as_of": "2026-11-29", "horizon_months": 36, "cost_of_capital": 0.08,
    "workloads": [{"id": "chat", "model": "llama-3.3-70b", "input_tokens": 3000, "output_tokens": 500,
                   "slo": {"ttft_s": 2.0, "tpot_s": 0.05}, "spare_replicas": 1,
                   "demand": {"request_rate": 8, "growth_per_month": 0.03, "peak_to_mean": 1.5}}],
    "candidates": {"skus": ["h100", "h200"]},
    "sites": [{"id": "own", "power_price_per_kwh": 0.1, "pue": 1.3, "carbon_kg_per_kwh": 0.3, "power_cap_kw": 300}],
    "prices": [{"sku": "h200", "kind": "purchase", "site": "own", "card_price": 31000, "server_price": 60000,
                "life_months": 60, "residual_fraction": 0.1, "date": "2026-11", "source": "planning figure"}],
}


def changed(**parts):
    return copy.deepcopy(SCENARIO) | parts


def test_a_whatif_says_everything(client):
    answer = client.post("/v1/whatif", json={"scenario": SCENARIO}).json()
    plan = answer["plan"]
    assert answer["best"] == answer["options"][0]["id"]
    assert [o["works"] for o in answer["options"]] == sorted((o["works"] for o in answer["options"]), reverse=True)
    costs = [o["npv_usd"] for o in answer["options"] if o["works"]]
    assert costs == sorted(costs)
    assert round(sum(plan["parts_usd"].values()), 2) == plan["total_usd"]
    assert plan["workloads"][0]["unit"] == "request/s"
    assert plan["workloads"][0]["scope"] == "total, all replicas"
    assert plan["power"]["carbon_kg"] is None or plan["power"]["carbon_kg"] > 0
    assert plan["unit_prices"][0]["usd_per_million_input_tokens"] < plan["unit_prices"][0][
        "usd_per_million_output_tokens"]
    assert all(p["currency"] and p["date"] and p["source"] for p in answer["prices"])
    swings = [b["swing_usd"] for b in answer["sensitivity"]["tornado"]]
    assert swings == sorted(swings, reverse=True)
    assert answer["uncertainty"]["npv_p90_usd"] >= answer["uncertainty"]["npv_p50_usd"]
    assert all(o["why"] for o in answer["options"])
    assert plan["margins"][0]["factor"] >= 1
    assert answer["break_even"]["rent_or_buy"]


def test_crossovers_are_exact(client):
    first = client.post("/v1/whatif", json={"scenario": SCENARIO}).json()
    found = next(c for c in first["sensitivity"]["crossovers"] if c["offer"] == "h100-sxm-80gb on_demand")
    assert found["unit"] == "USD per GPU-hour"
    prices = [*SCENARIO["prices"], {"sku": "h100", "kind": "on_demand", "price_per_gpu_hour": found["equal_at"],
                                    "date": "2026-11", "source": "crossover"}]
    again = client.post("/v1/whatif", json={"scenario": changed(prices=prices)}).json()
    costs = {o["id"]: o["npv_usd"] for o in again["options"]}
    assert costs["h100-sxm-80gb on_demand"] == pytest.approx(costs[first["best"]], rel=2e-3)


def test_a_fleet_is_never_dearer_than_a_plain_way(client):
    answer = client.post("/v1/fleet", json={"scenario": SCENARIO, "gap": 0.01}).json()
    assert answer["lower_bound_usd"] <= answer["npv_usd"]
    assert answer["npv_usd"] <= min(w["npv_usd"] for w in answer["plain_ways"] if w["works"]) * 1.01
    assert answer["plan"]["fleet"]
    assert answer["conflict"] == []


def test_limits_that_cannot_be_kept_are_an_answer(client):
    answer = client.post("/v1/fleet", json={"scenario": changed(limits={"max_gpus": 4})})
    assert answer.status_code == 200
    assert answer.json()["status"] == "infeasible"
    assert "max_gpus" in answer.json()["conflict"]
    assert answer.json()["plan"] is None
    nothing = client.post("/v1/whatif", json={"scenario": changed(limits={"max_gpus": 4})}).json()
    assert nothing["best"] is None
    assert all("max_gpus" in o["broken"] for o in nothing["options"] if o["npv_usd"] is not None)


def test_an_objective_out_of_reach_says_why(client):
    impossible = changed()
    impossible["workloads"][0]["slo"] = {"tpot_s": 0.0001}
    answer = client.post("/v1/whatif", json={"scenario": impossible}).json()
    assert answer["best"] is None
    assert "0.0001 s are asked" in answer["explanation"]
    assert answer["rejected"]


def test_more_demand_never_costs_less(client):
    costs = []
    for rate in (2, 8, 9, 30):
        scenario = changed()
        scenario["workloads"][0]["demand"] = {"request_rate": rate}
        costs.append(client.post("/v1/whatif", json={
            "scenario": scenario, "sensitivity": False, "uncertainty": False}).json()["plan"]["npv_usd"])
    assert costs == sorted(costs)


def test_a_question_without_a_model_is_answered_by_a_range(client):
    scenario = changed(prices=[], rent_by="gpu")
    scenario["workloads"][0] |= {"model": None, "demand": {"users": 500}}
    answer = client.post("/v1/whatif", json={"scenario": scenario}).json()
    assert {m["fact"] for m in answer["missing"]} == {"model", "in_flight_share"}
    assert answer["range"]["gpus_low"] < answer["range"]["gpus_high"]
    assert answer["options"] == []


def test_old_and_undated_prices_warn(client):
    prices = [{"sku": "h100", "kind": "on_demand", "price_per_gpu_hour": 2.0, "date": "2024-01", "source": "old list"},
              {"sku": "h200", "kind": "on_demand", "price_per_gpu_hour": 3.0}]
    warned = " ".join(client.post("/v1/whatif", json={"scenario": changed(prices=prices)}).json()["warnings"])
    assert "is from 2024-01" in warned
    assert "has no date or source" in warned


def test_a_sku_without_a_price_is_named_missing(client):
    answer = client.post("/v1/whatif", json={"scenario": changed(candidates={"skus": ["h100", "mi300x"]})}).json()
    assert any(m["fact"] == "price of mi300x-192gb" for m in answer["missing"])


@pytest.mark.parametrize(("change", "status", "code", "part"), [
    ({"currency": "EUR"}, 422, "missing_fact", "exchange"), ({"currency": None}, 422, "invalid_request", "currency"),
    ({"horizon_months": 0}, 422, "invalid_request", "horizon_months"),
    ({"workloads": [SCENARIO["workloads"][0] | {"demand": {"hourly_csv": "x.csv"}}]}, 422, "invalid_request",
     "hourly_csv"),
    ({"colour": 1}, 422, "invalid_request", "colour"), ({"workloads": []}, 422, "invalid_request", "workloads"),
    ({"candidates": {"skus": ["h900"]}}, 404, "not_found", "h900"),
    ({"prices": [{"sku": "h100", "kind": "reserved", "price_per_gpu_hour": 1}]}, 422, "invalid_request", "term_months"),
    ({"prices": [{"sku": "h100", "kind": "on_demand", "price_per_gpu_hour": -1}]}, 422, "invalid_request", "at least"),
    ({"apis": [{"id": "a", "workload": "no", "price_per_million_input": 1, "price_per_million_output": 1}]}, 422,
     "invalid_quantity", "unknown workload"),
])
def test_bad_scenarios_are_refused(client, change, status, code, part):
    for path in ("/v1/whatif", "/v1/fleet"):
        answer = client.post(path, json={"scenario": changed(**change)})
        assert answer.status_code == status, answer.text
        assert answer.json()["code"] == code
        assert part in answer.text


def store(client, name, request, question="whatif"):
    return client.post("/v1/scenarios", json={"id": name, "name": name, "question": question, "request": request})


def test_stored_scenarios_are_asked_by_name_compared_and_kept_with_etags(client):
    made = store(client, "base", {"scenario": SCENARIO})
    assert made.status_code == 201
    assert made.headers["etag"]
    cheaper = changed(name="cheaper", prices=[SCENARIO["prices"][0] | {"card_price": 20_000}])
    assert store(client, "cheaper", {"scenario": cheaper}).status_code == 201
    assert store(client, "alias", {"scenario": "base"}).status_code == 201
    by_name = client.post("/v1/whatif", json={"scenario": "alias", "against": "cheaper"}).json()
    assert by_name["plan"] == client.post("/v1/whatif", json={"scenario": SCENARIO}).json()["plan"]
    assert by_name["against"]["npv_difference_usd"] > 0
    assert by_name["against"]["attribution_usd"]["price"] > 0
    assert client.post("/v1/fleet", json={"scenario": "base", "gap": 0.1}).status_code == 200


def test_stored_scenarios_that_cannot_be_asked(client):
    store(client, "ring-a", {"scenario": "ring-b"})
    store(client, "ring-b", {"scenario": "ring-a"})
    answer = client.post("/v1/whatif", json={"scenario": "ring-a"})
    assert answer.status_code == 422
    assert "circle" in answer.json()["detail"]
    store(client, "planned", {"model": "llama-3.1-8b", "sku": "h100"}, question="plan")
    assert "not a what-if" in client.post("/v1/whatif", json={"scenario": "planned"}).json()["detail"]
    store(client, "broken", {"scenario": {"currency": "USD"}})
    assert "malformed" in client.post("/v1/whatif", json={"scenario": "broken"}).json()["detail"]
    assert client.post("/v1/whatif", json={"scenario": "nowhere"}).status_code == 404
