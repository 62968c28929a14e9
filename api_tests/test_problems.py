"""Every refusal: one shape, one sentence that names the field, and what would do."""

import pytest

from planner.api.problems import STATUS, HttpRefusal, catalogue, status_of
from planner.core.errors import PlannerError

SKU = {"id": "my-chip", "name": "Mine", "vendor": "acme", "memory_bytes": 80e9, "bandwidth_bytes_per_s": 2e12,
       "peak_flop_per_s": {"bf16": 1e15}}
JSON = {"Content-Type": "application/json"}


def kinds_of(root):
    yield root
    for kind in root.__subclasses__():
        yield from kinds_of(kind)


def refusal(answer, status, code):
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "instance", "code"} <= set(body)
    assert (answer.status_code, body["status"], body["code"]) == (status, status, code), body
    assert body["instance"] == answer.request.url.path
    return body


def test_every_error_class_has_a_status_and_a_code_of_its_own():
    codes = {}
    for kind in kinds_of(PlannerError):
        if kind in {PlannerError, HttpRefusal}:
            continue
        known = [base for base in kind.__mro__ if base in STATUS]
        assert issubclass(kind, HttpRefusal) or known, kind
        same = codes.setdefault(kind.code, kind)
        assert same.title == kind.title, f"{kind} and {same} share {kind.code}"
        assert kind.title != PlannerError.title
    assert set(codes) <= set(catalogue())


def test_an_error_outside_the_table_is_internal():
    assert status_of(PlannerError("x")) == 500


def test_problem_codes_are_described(client):
    body = refusal(client.get("/v1/nothing"), 404, "not_found")
    assert client.get(body["type"]).json() == {"code": "not_found", "status": 404, "title": "No such entry",
                                               "meaning": "No entry of that name."}
    refusal(client.get("/v1/problems/nonsense"), 404, "not_found")


@pytest.mark.parametrize(("changes", "pointer", "words"), [
    ({"memory_bytes": -1}, "/memory_bytes", "memory_bytes must be at least 1000000"),
    ({"memory_bytes": 80}, "/memory_bytes", "at least 1000000"),
    ({"memory_bytes": 1e30}, "/memory_bytes", "less than"),
    ({"memory_bytes": "80 GB"}, "/memory_bytes", "must be a number, got '80 GB'"),
    ({"memory_bytes": None}, "/memory_bytes", "must be a number, got null"),
    ({"memory_bytes": True}, "/memory_bytes", "must be a number, got true"),
    ({"memory_byte": 1}, "/memory_byte", "did you mean memory_bytes"),
    ({"zzz": 1}, "/zzz", "zzz is not a field here; known fields are"),
    ({"peak_flop_per_s": {"bf16": "fast"}}, "/peak_flop_per_s/bf16", "peak_flop_per_s.bf16 must be a number"),
    ({"peak_flop_per_s": {}}, "/peak_flop_per_s", "at least 1 item,"),
    ({"peak_flop_per_s": {"bf17": 1e12}}, "/peak_flop_per_s/bf17", "not a pipe"),
    ({"peak_flop_per_s": [1]}, "/peak_flop_per_s", "must be an object, got a list"),
    ({"aliases": "x"}, "/aliases", "must be a list"),
    ({"aliases": ["ok", 5]}, "/aliases/1", "aliases.1 must be a text"),
    ({"gpus_per_node": 1.5}, "/gpus_per_node", "must be a whole number"),
    ({"id": "not a slug"}, "/id", "must match"),
    ({"name": ""}, "/name", "at least 1 character,"),
    ({"name": "x" * 300}, "/name", "at most 200 characters"),
])
def test_a_bad_field_is_named(client, changes, pointer, words):
    body = refusal(client.post("/v1/skus", json=SKU | changes), 422,
                   "invalid_quantity" if "not a pipe" in words else "invalid_request")
    assert body["errors"][0]["pointer"] == pointer
    assert words in body["detail"]
    assert body["detail"].count(". ") == 0


def test_every_bad_field_is_listed(client):
    body = refusal(client.post("/v1/skus", json={"id": "x", "vendor": 5}), 422, "invalid_request")
    assert [one["pointer"] for one in body["errors"]] == [
        "/name", "/vendor", "/memory_bytes", "/bandwidth_bytes_per_s", "/peak_flop_per_s"]
    assert body["detail"] == "name is required. (4 more below)"


@pytest.mark.parametrize("body", [[], 5, "text", None])
def test_a_body_that_is_no_object(client, body):
    told = refusal(client.post("/v1/skus", json=body), 422, "invalid_request")
    assert "body" in told["detail"]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_only_json_is_read(client, kind):
    refusal(client.post("/v1/skus", content=b"{}", headers={"Content-Type": kind}), 415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "application/x+json"])
def test_json_under_its_other_names(client, kind):
    refusal(client.post("/v1/skus", content=b"{}", headers={"Content-Type": kind}), 422, "invalid_request")


@pytest.mark.parametrize(("content", "words"), [
    (b"{", "not valid JSON"),
    (b'{"memory_bytes": NaN}', "NaN at character 17"),
    (b'{"memory_bytes": -Infinity}', "Infinity"),
    (b'{"memory_bytes": 1e999}', "infinity"),
    (b'{"name": "\xff"}', "not valid JSON"),
    (b'{"name": "\\ud800"}', "not valid JSON"),
    (b"[" * 100 + b"]" * 100, "64 levels"),
    (b'{"a":' * 100 + b"1" + b"}" * 100, "64 levels"),
    (b"[" * 100_000, "64 levels"),
    (b"[" * 100_000 + b"]" * 100_000, "64 levels"),
])
def test_what_is_not_json_is_told_why(client, content, words):
    body = refusal(client.post("/v1/skus", content=content, headers=JSON), 422, "malformed")
    assert words in body["detail"]


def test_long_bodies_are_refused_before_they_are_read(client):
    body = refusal(client.post("/v1/skus", content=b" " * 1_000_001, headers=JSON), 413, "body_too_large")
    assert "1,000,000 bytes" in body["detail"]


def test_long_bodies_of_unknown_length_too(client):
    pieces = (b" " * 100_000 for _ in range(11))
    refusal(client.post("/v1/skus", content=pieces, headers=JSON), 413, "body_too_large")


@pytest.mark.parametrize(("address", "pointer", "words"), [
    ("/v1/skus?limt=5", "/query/limt", "limt is not a parameter"),
    ("/v1/skus?limit=0", "/query/limit", "at least 1"),
    ("/v1/skus?limit=x", "/query/limit", "whole number"),
    ("/v1/skus?q=%00", "/query/q", "must match"),
    ("/healthz?x=1", "/query/x", "x is not a parameter"),
])
def test_bad_parameters(client, address, pointer, words):
    body = client.get(address).json()
    assert body["status"] == 422
    assert (body["errors"][0]["pointer"], words in body["detail"]) == (pointer, True)


def test_a_method_that_is_not_there_tells_those_that_are(client):
    answer = client.post("/v1/skus/h100")
    refusal(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "DELETE, GET, PATCH, PUT"
    assert client.put("/healthz").headers["allow"] == "GET"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_foreign_hosts_are_refused(client, host):
    refusal(client.get("/healthz", headers={"Host": host}), 421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_this_machine_is_answered(client, host):
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


def test_a_bug_does_not_show_its_inside(client, app):
    @app.get("/v1/bug")
    def bug():
        raise RuntimeError("secret")

    body = refusal(client.get("/v1/bug"), 500, "internal_error")
    assert "secret" not in str(body)


@pytest.mark.parametrize("content", [
    b'{"sku": "h100", "model": {"config": {"hidden_size": NaN}}}',
    b'{"sku": "h100", "model": {"config": {"hidden_size": 1e999}}}',
    b'{"sku": "h100", "model": ' + b'{"a":' * 80 + b"1" + b"}" * 80 + b"}",
    b'{"sku": "h100", "model": "llama-3.1-8b", "deployment": {"tensor_parallel": 1e400}}',
])
def test_the_short_way_to_a_plan_refuses_what_the_long_way_refuses(client, content):
    refusal(client.post("/v1/plan", content=content, headers=JSON), 422, "malformed")


def test_long_names_and_many_faults_stay_readable(client):
    long = client.post("/v1/skus", json=SKU | {"x" * 900_000: 1})
    assert len(refusal(long, 422, "invalid_request")["detail"]) < 1000
    many = client.post("/v1/skus", json=SKU | {f"field{number}": 1 for number in range(5000)})
    assert len(refusal(many, 422, "invalid_request")["errors"]) == 50
