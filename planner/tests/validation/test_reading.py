"""Measured-run files: labels, repaired topologies, what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from planner.core.errors import InvalidQuantity, UnsupportedFormat
from planner.core.fitting.measured import Load
from planner.services.validation.labels import cache_of, engine_of, sku_of, unstated_cache, weights_of
from planner.services.validation.reading import read_rows

DATA = Path(__file__).parents[1] / "data"
SILICON = {
    "model": "m",
    "gpu": "B200",
    "engine": "trtllm",
    "engine_version": "",
    "mode": "agg",
    "weight_dtype": "fp8",
    "moe_dtype": "fp8",
    "isl": "1024",
    "osl": "1024",
    "concurrency": "4",
    "tp": "4",
    "pp": "1",
    "dp": "1",
    "moe_tp": "1",
    "ep": "1",
    "measured": "",
    "image": "",
    "ttft_ms": "100.5",
    "tpot_ms": "10.25",
}


def records(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def one(**changes: str):
    return read_rows([{**SILICON, **changes}])


@pytest.mark.parametrize(
    ("labels", "gpus", "tensor", "data", "expert"),
    [
        ({"tp": "16", "moe_tp": "4", "ep": "4", "measured": "2026-01-01"}, 4, 4, 1, 4),
        ({"tp": "64", "moe_tp": "8", "ep": "8", "measured": "2026-01-01"}, 8, 8, 1, 8),
        ({"tp": "1", "dp": "16", "moe_tp": "4", "ep": "4", "measured": "2026-01-01"}, 4, 1, 4, 4),
        ({"tp": "4", "dp": "4", "ep": "16", "measured": "2026-01-01"}, 4, 1, 4, 4),
        ({"tp": "2", "dp": "2", "ep": "4", "measured": "2026-01-01"}, 2, 1, 2, 2),
        ({"tp": "8", "moe_tp": "8", "measured": "2026-01-01"}, 8, 8, 1, 1),
        ({"tp": "4", "ep": "4", "measured": "2026-01-01"}, 4, 4, 1, 4),
        ({"tp": "4", "moe_tp": "2", "ep": "2"}, 4, 4, 1, 2),
        ({"tp": "2", "n_gpus": "8", "dp": "4"}, 8, 2, 4, 1),
    ],
)
def test_products_in_labels_are_undone(labels: dict[str, str], gpus: int, tensor: int, data: int, expert: int) -> None:
    row = one(**labels).rows[0]
    assert (row.gpus, row.tensor, row.data, row.expert) == (gpus, tensor, data, expert)


def test_silicon_rows_in_si_units() -> None:
    row = one().rows[0]
    assert (row.tpot, row.ttft) == (pytest.approx(0.01025), pytest.approx(0.1005))
    assert row.fixed_lengths
    assert not one(measured="2026-01-01").rows[0].fixed_lengths
    assert row.group == "m|B200|trtllm"


def test_what_gives_no_replica_says_so() -> None:
    assert "labelled 0" in one(ep="0").rows[0].problem
    assert "no replica" in one(tp="12").rows[0].problem
    assert one(mode="disagg").unread[0][1].startswith("disaggregated")
    assert one(isl="many").unread


def test_unknown_headers_are_refused() -> None:
    with pytest.raises(InvalidQuantity):
        read_rows([{"a": "1"}])
    assert read_rows([]).rows == ()


def test_published_rows_read() -> None:
    found = read_rows(records("validation_serving.csv"))
    assert found.header == "serving"
    assert {row.load for row in found.rows} == set(Load)
    assert any(row.speculative for row in found.rows)
    assert any(row.concurrency == 0 for row in found.rows if row.load is Load.OFFLINE)
    assert all(row.concurrency > 0 for row in found.rows if row.load is not Load.OFFLINE)
    assert any(row.engine_call for row in found.rows)
    assert {reason.split(" ")[0] for _, reason in found.unread} >= {"prompt"}


@pytest.mark.parametrize(
    ("label", "engine"),
    [
        ("vllm 0.22.0", "vllm"),
        ("tensorrt-llm (IFB)", "trtllm"),
        ("trt", "trtllm"),
        ("sglang 0.5", "sglang"),
        ("llama.cpp", "generic"),
    ],
)
def test_engines(label: str, engine: str) -> None:
    assert engine_of(label) == engine


@pytest.mark.parametrize(
    ("label", "engine", "weights"),
    [
        ("", "vllm", "bf16"),
        ("int4_wo", "vllm", "w4a16"),
        ("awq-int4-g128", "x", "w4a16"),
        ("gptq-int8", "x", "w8a16"),
        ("gguf-Q4_K_M", "llama.cpp", "gguf:q4_k_m"),
        ("int8", "gpt-fast", "w8a16"),
        ("int8", "vllm", "int8"),
        ("fp8 (assumed)", "x", "fp8"),
        ("int4-g32", "gpt-fast", "w4a16"),
    ],
)
def test_weight_labels(label: str, engine: str, weights: str) -> None:
    assert weights_of(label, engine) == weights


def test_formats_that_are_not_modelled_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedFormat, match="exl2"):
        weights_of("exl2-4.0bpw", "exllamav2")


def test_cache_labels() -> None:
    assert cache_of("fp8 (checkpoint default)") == "fp8"
    assert cache_of("auto (fp8 in most recipes)") == "fp8"
    assert cache_of("") == cache_of("auto") == "auto"
    assert cache_of("fp16") == "fp16"


def test_unstated_caches_follow_the_engine() -> None:
    assert unstated_cache(engine="trtllm", weights="nvfp4", tuned=False, native_fp4=False) == "fp8"
    assert unstated_cache(engine="vllm", weights="fp8", tuned=True, native_fp4=True) == "fp8"
    assert unstated_cache(engine="vllm", weights="fp8", tuned=True, native_fp4=False) == "auto"
    assert unstated_cache(engine="trtllm", weights="bf16", tuned=True, native_fp4=True) == "auto"


def test_accelerator_labels() -> None:
    assert sku_of("RTXPRO6000-BSE") == "rtx-pro-6000-server-96gb"
    assert sku_of(" H200-SXM ") == "H200-SXM"
