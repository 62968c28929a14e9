"""A workspace goes out as one document and comes back whole, or not at all."""

import pytest

from api_tests.test_resources import FORMS, create


def lines(client):
    return client.get("/v1/workspace/export").json()["entries"]


def test_an_export_comes_back_in_an_empty_workspace(client):
    create(client, "skus")
    for plural in FORMS:
        if plural != "skus":
            create(client, plural, **({"sku": "my-chip"} if plural == "prices" else {}))
    export = client.get("/v1/workspace/export").json()
    assert {line["kind"] for line in export["entries"]} == {plural.removesuffix("s") for plural in FORMS}
    for plural, form in FORMS.items():
        client.delete(f"/v1/{plural}/{form['id'].lower()}", headers={"If-Match": "*"})
    assert lines(client) == []
    export["entries"].reverse()
    loaded = client.post("/v1/workspace/import", json=export)
    assert (loaded.status_code, len(loaded.json()["created"])) == (200, 5)
    again = {line["id"]: line["document"] for line in lines(client)}
    assert again == {line["id"]: line["document"] for line in export["entries"]}
    assert client.get("/v1/prices/my-price").json()["sku"] == "my-chip"


def test_an_import_says_what_it_did_with_ids_that_exist(client):
    create(client, "skus")
    export = client.get("/v1/workspace/export").json()
    same = client.post("/v1/workspace/import", json=export)
    assert same.json() == {"created": [], "replaced": [], "skipped": ["sku my-chip"]}
    export["entries"][0]["document"]["power_w"] = 5.0
    refused = client.post("/v1/workspace/import", json=export)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    skipped = client.post("/v1/workspace/import?mode=skip", json=export)
    assert skipped.json()["skipped"] == ["sku my-chip"]
    replaced = client.post("/v1/workspace/import?mode=replace", json=export)
    assert replaced.json()["replaced"] == ["sku my-chip"]
    assert client.get("/v1/skus/my-chip").json()["power_w"] == 5.0


@pytest.mark.parametrize(("line", "pointer", "status"), [
    ({"kind": "sku", "id": "x", "document": {}}, "/entries/1/document/name", 422),
    ({"kind": "sku", "id": "h100-sxm-80gb", "document": FORMS["skus"]}, "/entries/1/document", 409),
    ({"kind": "price", "id": "x", "document": {"sku": "nothing-like-it", "usd_per_gpu_hour": 1.0}},
     "/entries/1/document/sku", 422),
    ({"kind": "thing", "id": "x", "document": {}}, "/entries/1/kind", 422),
])
def test_one_bad_line_refuses_the_whole_import(client, line, pointer, status):
    good = {"kind": "sku", "id": "good", "document": FORMS["skus"] | {"id": "good"}}
    answer = client.post("/v1/workspace/import", json={"format": "planner-workspace-1", "entries": [good, line]})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (status, pointer)
    assert lines(client) == []
