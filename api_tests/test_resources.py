"""Create, read, change and delete, with versions, on both databases."""

import pytest

SKU = {"id": "My-Chip", "name": "Mine", "vendor": "acme", "memory_bytes": 80e9, "bandwidth_bytes_per_s": 2e12,
       "peak_flop_per_s": {"bf16": 1e15}, "aliases": ["mine-80"]}
FORMS = {
    "models": {"id": "acme/tiny", "params": 1e9, "layers": 10, "kv_heads": 4, "head_dim": 64, "vocab": 32000},
    "skus": SKU,
    "prices": {"id": "my-price", "sku": "h100", "usd_per_gpu_hour": 2.5, "provider": "acme"},
    "scenarios": {"id": "my-scenario", "name": "base", "question": "plan",
                  "request": {"model": "llama-3.1-70b", "sku": "h100"}},
    "calibrations": {"id": "my-calibration", "sku": "h100", "engine": "vllm", "record": {"gemm": {"efficiency": 0.7}}},
}
EVERY = pytest.mark.parametrize("plural", FORMS)


def create(client, plural, **changes):
    answer = client.post(f"/v1/{plural}", json=FORMS[plural] | changes)
    assert answer.status_code == 201, answer.text
    return answer


@EVERY
def test_life_of_an_entry(client, plural):
    made = create(client, plural)
    entry_id = made.json()["id"]
    assert made.headers["location"] == f"/v1/{plural}/{entry_id}"
    assert (made.headers["etag"], made.json()["version"], made.json()["built_in"]) == ('"v1"', 1, False)
    got = client.get(f"/v1/{plural}/{entry_id}")
    assert got.json() == made.json()
    assert got.headers["etag"] == made.headers["etag"]
    read = {"If-Match": got.headers["etag"]}
    changed = client.patch(f"/v1/{plural}/{entry_id}", json={"notes": "seen"}, headers=read)
    assert (changed.status_code, changed.json()["notes"], changed.headers["etag"]) == (200, "seen", '"v2"')
    put = client.put(f"/v1/{plural}/{entry_id}", json=FORMS[plural], headers={"If-Match": '"v2"'})
    assert (put.status_code, put.json()["version"]) == (200, 3)
    assert "notes" not in put.json()
    assert client.delete(f"/v1/{plural}/{entry_id}", headers={"If-Match": '"v3"'}).status_code == 204
    assert client.get(f"/v1/{plural}/{entry_id}").status_code == 404
    history = client.get(f"/v1/{plural}/{entry_id}/history").json()
    assert [line["action"] for line in history["items"]] == ["deleted", "updated", "updated", "created"]
    first, last = history["items"][-1], history["items"][0]
    assert (first["before"], last["after"], first["changed_by"]) == (None, None, "local")
    assert first["after"]["id"] == last["before"]["id"] == entry_id
    assert create(client, plural).json()["version"] == 5


@EVERY
@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_changes_need_the_current_etag(client, plural, method):
    entry_id = create(client, plural).json()["id"]
    body = {} if method == "delete" else {"json": FORMS[plural] if method == "put" else {"notes": "x"}}
    call = getattr(client, method)
    missing = call(f"/v1/{plural}/{entry_id}", **body)
    assert (missing.status_code, missing.json()["code"]) == (428, "precondition_required")
    stale = call(f"/v1/{plural}/{entry_id}", headers={"If-Match": '"v7"'}, **body)
    assert (stale.status_code, stale.json()["code"]) == (412, "stale")
    weak = call(f"/v1/{plural}/{entry_id}", headers={"If-Match": 'W/"v1"'}, **body)
    assert weak.status_code == 412
    broken = call(f"/v1/{plural}/{entry_id}", headers={"If-Match": "v1"}, **body)
    assert (broken.status_code, broken.json()["errors"][0]["pointer"]) == (422, "/header/If-Match")
    assert call(f"/v1/{plural}/{entry_id}", headers={"If-Match": '"other", "v1"'}, **body).status_code in {200, 204}


def test_if_match_star_means_any_version(client):
    create(client, "skus")
    assert client.patch("/v1/skus/my-chip", json={"power_w": 300}, headers={"If-Match": "*"}).json()["power_w"] == 300
    removed = client.patch("/v1/skus/my-chip", json={"power_w": None}, headers={"If-Match": "*"})
    assert "power_w" not in removed.json()


@pytest.mark.parametrize(("plural", "taken"), [
    ("models", "llama-3.1-70b"), ("models", "mixtral-8x7b"), ("skus", "a100")])
def test_a_name_that_means_a_built_in_entry_cannot_be_taken(client, plural, taken):
    got = client.get(f"/v1/{plural}/{taken}")
    made = client.post(f"/v1/{plural}", json=FORMS[plural] | {"id": taken})
    if got.status_code == 200:
        assert (made.status_code, made.json()["code"]) == (409, "built_in"), got.json()["id"]
    assert client.get(f"/v1/{plural}/{taken}").json() == got.json()


def test_built_in_entries_are_read_only(client):
    same = SKU | {"id": "h100-sxm-80gb"}
    for call in (client.put("/v1/skus/h100", json=same), client.patch("/v1/skus/h100", json={}),
                 client.delete("/v1/skus/h100"), client.post("/v1/skus", json=same)):
        assert (call.status_code, call.json()["code"]) == (409, "built_in")
        assert "POST" in call.json()["hint"]
    assert client.get("/v1/skus/h100").json()["built_in"] is True


def test_names_reach_own_entries_too(client):
    create(client, "skus")
    for name in ("my-chip", "My-Chip", "MINE-80", "mine"):
        assert client.get(f"/v1/skus/{name}").json()["id"] == "my-chip"
    unknown = client.get("/v1/skus/my-chop")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    assert "my-chip" in unknown.json()["candidates"]
    for owner in ("acme", "other"):
        create(client, "skus", id=f"{owner}/twin", aliases=[], name=f"Twin of {owner}")
    ambiguous = client.get("/v1/skus/twin")
    assert (ambiguous.status_code, ambiguous.json()["candidates"]) == (409, ["acme/twin", "other/twin"])


def test_an_idempotency_key_makes_one_entry(client):
    key = {"Idempotency-Key": "once"}
    first = client.post("/v1/prices", json={"sku": "h100", "usd_per_gpu_hour": 2.0}, headers=key)
    second = client.post("/v1/prices", json={"sku": "h100", "usd_per_gpu_hour": 2.0}, headers=key)
    assert first.json()["id"] == second.json()["id"]
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    other = client.post("/v1/prices", json={"sku": "h100", "usd_per_gpu_hour": 3.0}, headers=key)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    elsewhere = client.post("/v1/scenarios", json=FORMS["scenarios"], headers=key)
    assert elsewhere.status_code == 409
    assert client.get("/v1/prices", params={"q": first.json()["id"]}).json()["items"][0]["id"] == first.json()["id"]


def test_pages_cover_built_in_and_own_entries_once(client):
    for number in range(7):
        create(client, "skus", id=f"h200-own-{number}", name=f"Own {number}", aliases=[])
    seen, cursor = [], None
    while True:
        page = client.get("/v1/skus", params={"limit": 5} | ({"cursor": cursor} if cursor else {})).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == sorted(seen)
    assert len(seen) == len(set(seen))
    whole = client.get("/v1/skus", params={"limit": 500}).json()
    assert [item["id"] for item in whole["items"]] == seen
    assert whole["next_cursor"] is None
    own = client.get("/v1/skus", params={"q": "OWN", "limit": 3}).json()
    assert [item["id"] for item in own["items"]] == ["h200-own-0", "h200-own-1", "h200-own-2"]
    assert client.get("/v1/skus", params={"q": "100%_"}).json()["items"] == []


@pytest.mark.parametrize("cursor", ["", "!", "AA", "4oKs4", "a" * 401])
def test_a_cursor_of_nobody_is_refused(client, cursor):
    for address in ("/v1/skus", "/v1/skus/h100/history"):
        answer = client.get(address, params={"cursor": cursor})
        assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/query/cursor")


def test_history_pages(client):
    create(client, "skus")
    for power in range(1, 6):
        client.patch("/v1/skus/my-chip", json={"power_w": power}, headers={"If-Match": "*"})
    first = client.get("/v1/skus/my-chip/history", params={"limit": 4}).json()
    second = client.get("/v1/skus/my-chip/history", params={"limit": 4, "cursor": first["next_cursor"]}).json()
    assert [line["version"] for line in first["items"] + second["items"]] == [6, 5, 4, 3, 2, 1]
    assert second["next_cursor"] is None
    assert client.get("/v1/skus/h100/history").json()["items"] == []
    assert client.get("/v1/skus/nothing-like-it/history").status_code == 404


def test_an_id_cannot_be_changed(client):
    create(client, "skus")
    answer = client.put("/v1/skus/my-chip", json=SKU | {"id": "other"}, headers={"If-Match": "*"})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/id")


@pytest.mark.parametrize("entry_id", ["a/b/c", "../x", "-x", "a b", "x/history", "", "x" * 201])
def test_ids_are_slugs(client, entry_id):
    answer = client.post("/v1/skus", json=SKU | {"id": entry_id})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/id")


def test_a_taken_id_is_a_conflict(client):
    create(client, "skus")
    answer = client.post("/v1/skus", json=SKU)
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_a_price_needs_a_known_sku(client):
    answer = client.post("/v1/prices", json={"sku": "h1000", "usd_per_gpu_hour": 2.0})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (404, "/sku")
    assert create(client, "prices").json()["sku"] == "h100-sxm-80gb"


@pytest.mark.parametrize(("question", "request_body", "field", "meant"), [
    ("plan", {"model": "llama-3.1-8b", "sku": "h100", "deployment": {"tensor_paralel": 4}},
     "deployment.tensor_paralel", "tensor_parallel"),
    ("size", {"model": "llama-3.1-8b", "demands": {}}, "demands", "demand"),
    ("whatif", {"scenario": {"currency": "USD", "colour": 1}}, "scenario.colour", None),
    ("compare", {"plans": [{"model": "llama-3.1-8b", "sku": "h100", "skus": []}]}, "plans.0.skus", "sku")])
def test_a_kept_question_has_no_field_that_its_endpoint_would_refuse(client, question, request_body, field, meant):
    refused = client.post("/v1/scenarios", json={"name": "n", "question": question, "request": request_body})
    assert refused.status_code == 422, refused.text
    [error] = refused.json()["errors"]
    assert error["pointer"] == "/request"
    assert f"{field} is not a field of a {question} question" in error["message"]
    assert meant is None or f"did you mean {meant}" in error["message"]
