"""The labs over HTTP: every golden of the texts, and one clear sentence for every bad question."""

import httpx
import pytest

from api_tests.conftest import Loopback
from planner.api.app import create_app
from planner.bootstrap import Planner
from planner.config import settings

INLINE = {"name": "H100 of the texts", "memory_bytes": 80e9, "bandwidth_bytes_per_s": 3.35e12,
          "peak_flop_per_s": {"bf16": 989e12, "fp8": 1979e12, "fp32": 66.9e12}, "link_bytes_per_s": 450e9,
          "power_w": 700, "multiprocessors": 132}
GEMM = {"sku": "h100", "dtype": "bf16", "m": 4096, "n": 4096, "k": 4096, "tile": [256, 128]}
FUSION = {"sku": "h100", "dtype": "bf16", "elements": 8192 * 8192, "operations": [
    {"name": "rmsnorm", "flop": 5, "reads": ["x"], "writes": ["h"]},
    {"name": "silu", "flop": 4, "reads": ["h"], "writes": ["s"]},
    {"name": "mul", "flop": 1, "reads": ["s", "g"], "writes": ["t"]},
    {"name": "add", "flop": 1, "reads": ["t", "x"], "writes": ["y"]}], "boundaries": [False, False, False]}
ATTENTION = {"sku": "h100", "dtype": "bf16", "seq": 8192, "heads": 64, "kv_heads": 8, "head_dim": 128, "mode": "decode"}
LAYER = {"sku": "h100", "dtype": "bf16", "d_model": 8192, "seq": 8192, "batch": 4, "kv_heads": 8, "regime": "decode",
         "flash": True}
OPTIMIZER = {"sku": "h100", "params": 7e9, "optimizer": "adam", "shards": 1}
HEAD = {"sku": "h100", "dtype": "bf16", "tokens": 8192, "d_model": 4096, "vocabulary": 100_000}
ROOFLINE = {"sku": "h100", "dtype": "bf16", "flop": 1e12, "bytes": 1e9}
DIAGNOSE = {"sku": "h100", "dtype": "bf16", "flop": 2e7, "bytes": 1.6e8, "time_s": 1.6e-4, "kernels": 20}
EVERY = {"/v1/roofline": ROOFLINE, "/v1/diagnose": DIAGNOSE, "/v1/labs/gemm": GEMM, "/v1/labs/fusion": FUSION,
         "/v1/labs/attention": ATTENTION, "/v1/labs/layer": LAYER, "/v1/labs/optimizer": OPTIMIZER,
         "/v1/labs/head": HEAD}


@pytest.fixture(scope="module")
def labs(tmp_path_factory):
    """A service without a database: the labs need none."""
    path = tmp_path_factory.mktemp("labs") / "none.sqlite3"
    app = create_app(Planner(settings({"PLANNER_DATABASE_URL": f"sqlite:///{path}", "PLANNER_EMBEDDED_WORKER": "0"})))
    with httpx.Client(transport=Loopback(app), base_url="http://localhost") as client:
        yield client


def ask(labs, path, body, **changes):
    answer = labs.post(path, json=body | changes)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("path", EVERY)
def test_every_lab_answers_its_example_in_numbers(labs, path):
    answer = ask(labs, path, EVERY[path])
    assert answer["sku"] == "h100-sxm-80gb"
    assert isinstance(answer["warnings"], list)


@pytest.mark.parametrize("path", EVERY)
def test_every_lab_refuses_nonsense_in_one_sentence(labs, path):
    for change, status, pointer in (({"sku": "no-such-gpu"}, 404, "/sku"), ({"colour": 1}, 422, "/colour"),
                                    ({"sku": "v100"}, 409, "/sku"), ({"sku": {"memory_bytes": -1}}, 422, None)):
        answer = labs.post(path, json=EVERY[path] | change)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["detail"].count("\n") == 0
        if pointer:
            assert problem["errors"][0]["pointer"] == pointer
    assert labs.post(path, content=b"x=1", headers={"content-type": "text/plain"}).status_code == 415


def test_roofline_of_an_inline_chip_meets_the_texts(labs):
    answer = ask(labs, "/v1/roofline", {"sku": INLINE, "dtype": "bf16", "intensity_flop_per_byte": 64.0})
    assert answer["ridge_flop_per_byte"] == pytest.approx(295.2, abs=0.1)
    assert answer["attainable_flop_per_s"] == pytest.approx(214e12, rel=2e-3)
    assert (answer["bound"], answer["time_s"]) == ("memory", None)
    serial = ask(labs, "/v1/roofline", ROOFLINE, sku=INLINE, flop=989e9, bytes=3.35e9, overlap="none")
    assert serial["time_s"] == pytest.approx(2e-3)
    link = ask(labs, "/v1/roofline", ROOFLINE, boundary="nvlink")
    assert (link["bound"], link["boundary"]) == ("scale_up", "scale_up")
    assert link["ridge_flop_per_byte"] == pytest.approx(2198.7, abs=0.1)


@pytest.mark.parametrize(("body", "pointer"), [
    ({"flop": 1.0}, "/intensity_flop_per_byte"), ({"flop": 1.0, "bytes": 1.0, "intensity_flop_per_byte": 1.0}, "/flop"),
    ({"flop": 1.0, "bytes": 0.0}, "/bytes"), ({"flop": "many", "bytes": 1.0}, "/flop"),
    ({"flop": 1.0, "bytes": 1.0, "boundary": "moon"}, "/boundary"),
    ({"flop": 1.0, "bytes": 1.0, "dtype": "bf17"}, "/dtype"),
    ({"flop": 1.0, "bytes": 1.0, "overlap": "half"}, "/overlap")])
def test_roofline_refusals_name_the_field(labs, body, pointer):
    answer = labs.post("/v1/roofline", json={"sku": "h100"} | body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_missing_pipe_is_a_missing_fact(labs):
    answer = labs.post("/v1/roofline", json=ROOFLINE | {"sku": "a100", "dtype": "fp8"})
    assert (answer.status_code, answer.json()["code"]) == (422, "missing_fact")


def test_gemm_is_bound_by_l2(labs):
    answer = ask(labs, "/v1/labs/gemm", GEMM)
    assert answer["flop"] == 2.0 * 4096**3
    assert answer["bytes_compulsory"] <= answer["bytes_modelled"] <= answer["bytes_tiled"]
    assert answer["intensity_flop_per_byte"] == pytest.approx(answer["flop"] / answer["bytes_modelled"])
    assert answer["binding"]["bound"] == "l2"
    assert answer["binding"]["fraction_of_peak"] == pytest.approx(0.776, abs=2e-3)
    assert {row["boundary"]: row["intensity_flop_per_byte"] for row in answer["levels"]} == pytest.approx(
        {"shared_memory": 32.0, "l2": 85.33, "memory": 1365.3}, rel=1e-3)
    assert answer["waves"]["tiles"] == 512
    assert len(answer["corridor"]["time_s"]) == 2
    bare = {k: v for k, v in INLINE.items() if k != "multiprocessors"}
    assert ask(labs, "/v1/labs/gemm", GEMM, sku=bare)["waves"] is None


def test_fusion_turns_ten_passes_into_three(labs):
    answer = ask(labs, "/v1/labs/fusion", FUSION)
    assert answer["split"]["bytes"] == pytest.approx(1342e6, rel=1e-3)
    assert answer["split"]["time_s"] == pytest.approx(400.7e-6, rel=1e-3)
    assert answer["bytes"] == pytest.approx(402e6, rel=2e-3)
    assert (answer["kernels"], answer["speedup"]) == (1, pytest.approx(10 / 3))
    wide = [{"name": "sum", "flop": 8, "reads": 12, "writes": 1}]
    pressed = ask(labs, "/v1/labs/fusion", FUSION, operations=wide, boundaries=[])
    assert "registers may spill" in pressed["warnings"][0]
    refused = labs.post("/v1/labs/fusion", json=FUSION | {"boundaries": [True]})
    assert refused.json()["errors"][0]["pointer"] == "/boundaries"


def test_attention_modes(labs):
    assert ask(labs, "/v1/labs/attention", ATTENTION)["intensity_flop_per_byte"] == pytest.approx(8.0)
    naive = ask(labs, "/v1/labs/attention", ATTENTION, mode="naive", heads=32, kv_heads=32)
    assert naive["bytes_scores"] == pytest.approx(17.2e9, rel=2e-3)
    latent = ask(labs, "/v1/labs/attention", ATTENTION, heads=128, kv_heads=None, kv_lora_rank=512, rope_head_dim=64)
    assert latent["intensity_flop_per_byte"] == pytest.approx(241.8, abs=0.1)
    refused = labs.post("/v1/labs/attention", json=ATTENTION | {"kv_lora_rank": 512})
    assert refused.json()["errors"][0]["pointer"] == "/rope_head_dim"


def test_the_layer_budget_sums_up(labs):
    answer = ask(labs, "/v1/labs/layer", LAYER)
    assert answer["memory_bound_share"] == pytest.approx(1.0)
    assert sum(row["share"] for row in answer["rows"]) == pytest.approx(1.0)
    assert sum(row["time_s"] for row in answer["rows"]) == pytest.approx(answer["time_s"])
    calibrated = ask(labs, "/v1/labs/layer", LAYER, calibration="auto")
    assert calibrated["calibration"]
    assert 1.0 < calibrated["time_s"] / answer["time_s"] < 2.0
    for mine, bound in zip(calibrated["rows"], answer["rows"], strict=True):
        assert mine["time_s"] >= bound["time_s"] * (1 - 1e-12)
    refused = labs.post("/v1/labs/layer", json=LAYER | {"calibration": "auto", "regime": "training"})
    assert (refused.status_code, refused.json()["code"]) == (422, "missing_fact")
    prefill = ask(labs, "/v1/labs/layer", LAYER, regime="prefill", flash=False, calibration="auto")
    assert next(row for row in prefill["rows"] if row["name"] == "attention")["bound"] == "memory"


def test_the_layers_rows_are_the_plans_operators(labs):
    plan = labs.post("/v1/plan", json={
        "model": "llama-3.1-70b", "sku": "h100", "calibration": "ideal", "deployment": {"tensor_parallel": 1},
        "workload": {"context_tokens": 8192, "concurrency": 4}}).json()
    operators = {row["name"]: row for row in plan["decode"]["operators"]}
    layer = ask(labs, "/v1/labs/layer", LAYER)
    matched = 0
    for row in layer["rows"]:
        if row["name"] in operators:
            mine = operators[row["name"]]
            assert row["flop"] / row["count"] == pytest.approx(mine["flop"] / mine["count"], rel=1e-12)
            assert row["bytes"] / row["count"] == pytest.approx(mine["traffic_bytes"] / mine["count"], rel=1e-12)
            matched += 1
    assert matched >= 5


def test_the_optimizer_and_the_head(labs):
    adam = ask(labs, "/v1/labs/optimizer", OPTIMIZER)
    assert (adam["bytes"], adam["state_fits"]) == (pytest.approx(210e9), False)
    assert adam["time_s"] == pytest.approx(62.7e-3, rel=1e-3)
    assert ask(labs, "/v1/labs/optimizer", OPTIMIZER, shards=8)["network_bytes"] > 0
    assert ask(labs, "/v1/labs/head", HEAD)["intensity_flop_per_byte"] == pytest.approx(2658, abs=1)
    assert ask(labs, "/v1/labs/head", HEAD, chunk=1024)["loss"]["intensity_flop_per_byte"] is None


def test_a_diagnosis_names_the_cause_and_useless_levers(labs):
    answer = ask(labs, "/v1/diagnose", DIAGNOSE)
    assert (answer["position"], answer["cause"]) == ("below", "launch")
    assert answer["levers"][0]["helps"]
    assert not answer["levers"][-1]["helps"]
    assert [set(question) for question in answer["questions"]] == [{"question", "verdict", "evidence"}] * 6
    refused = labs.post("/v1/diagnose", json=DIAGNOSE | {"time_s": 1e-9})
    assert refused.json()["errors"][0]["pointer"] == "/time_s"


def test_the_labs_are_documented_with_runnable_examples(labs):
    document = labs.get("/openapi.json").json()
    for path in EVERY:
        operation = document["paths"][path]["post"]
        name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
        example = document["components"]["schemas"][name]["examples"][0]
        ask(labs, path, example)
