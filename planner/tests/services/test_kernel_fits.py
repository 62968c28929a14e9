"""Kernel files to profiles: recognised by columns, merged over files, laid out by inheritance level."""

from __future__ import annotations

import numpy as np
import pytest

from planner.catalog.chips import built_in_chips
from planner.core.errors import InvalidQuantity
from planner.core.fitting.efficiency import CurveFit
from planner.core.fitting.forms import FORMS
from planner.core.fitting.measurement import KernelTable
from planner.services.fitting import errors_by, fit_kernels, profile_key, profiles_of
from planner.services.kernel_tables import kernel_tables, merged
from planner.tests.services.kernel_rows import GEMMS, ROWS, gemm

CHIPS = built_in_chips()


def chip(name: str):
    return CHIPS.chip(
        {"h100_sxm": "h100-sxm-80gb", "a100_sxm": "a100-sxm-80gb", "gb300": "gb300-288gb"}.get(name, name)
    )


def test_files_are_recognised_and_merged() -> None:
    first, second = kernel_tables(GEMMS[:12], chip), kernel_tables(GEMMS[12:], chip)
    (table,) = merged([*first.tables, *second.tables], chip)
    assert table.time.size == 24
    assert (table.operator, table.key, table.chip) == ("gemm", "fp8", "h100-sxm-80gb")
    assert table.time.max() < 1
    with pytest.raises(InvalidQuantity):
        kernel_tables([{"gpu": "h100_sxm", "x": "1"}], chip)


def test_gated_and_refused_rows_are_counted() -> None:
    rows = [*GEMMS, gemm(1, 1024, 2048, gate="host_floor"), gemm(1, 1024, 2048, gpu="a100_sxm")]
    found = kernel_tables(rows, chip)
    assert found.tables[0].gated["host_floor"] == 1
    assert [(r.reason, r.count) for r in found.refused] == [("missing peak_flop_per_s.fp8", 1)]


def test_one_files_cached_rows_gate_the_other_file_too() -> None:
    cached = [gemm(m, 4096, 2048, latency_us="2.2") for m in (1, 32)]  # 8.4 MB in less than H100 needs: from cache
    labelled = gemm(1, 1024, 2048, gate="host_floor")
    first, second = kernel_tables([*GEMMS, *cached, labelled], chip), kernel_tables([gemm(64, 4096, 4096)], chip)
    (table,) = merged([*first.tables, *second.tables], chip)
    assert (table.gated["faster_than_roofline"], table.gated["host_floor"]) == (2, 1)
    assert table.features["traffic"].min() >= 52_428_800  # L2 of H100, chips/nvidia/h100-sxm-80gb.toml
    assert table.gated["fits_in_l2"] + table.time.size == len(GEMMS) + 1


def test_masked_pairs_are_those_of_tokens_that_reach_the_rank() -> None:
    even = {**ROWS["moe"], "topk": "4", "experts": "128", "ep": "16", "num_tokens": "64", "pairs": "16"}
    (table,) = kernel_tables([even], chip).tables
    pair = 6 * 2880 * 2880
    assert table.features["masked_work"].tolist() == [(16 * 4 - 16) * pair]  # 16 of 64 tokens have an expert here
    assert table.features["row_work"].tolist() == [60 * pair]
    skewed = {**even, "distribution": "power_law_1.01", "pairs": "64"}  # a quarter of the pairs
    (table,) = kernel_tables([skewed], chip).tables
    assert table.features["masked_work"].tolist() == pytest.approx([(64 * (1 - 0.75**4) * 4 - 64) * pair])
    (table,) = kernel_tables([{**even, "ep": "1"}], chip).tables
    assert table.features["masked_work"].tolist() == table.features["gathered_traffic"].tolist() == [0]


def all_reduce(version: str, ranks: int, size: int, source: str = "TRTLLM", gpu: str = "h100_sxm") -> dict[str, str]:
    return {
        "gpu": gpu,
        "backend": "trtllm",
        "version": version,
        "kernel_source": source,
        "allreduce_dtype": "half",
        "num_gpus": str(ranks),
        "message_elems": "1",
        "bytes": str(size),
        "latency_us": f"{5 + size / 1e5:.3f}",
    }


def test_newest_kernels_inside_a_node() -> None:
    rows = [all_reduce(v, p, 2**s) for v in ("1.0.0", "1.3.0") for p in (2, 4, 8) for s in range(10, 20)]
    (table,) = kernel_tables(rows, chip).tables
    assert table.gated == {"superseded_version": 30}
    assert table.link_rate == 4.5e11
    beyond = kernel_tables([all_reduce("1.0.0", 8, 1024, gpu="gb300")], chip)
    assert beyond.tables == ()
    assert beyond.refused[0].count == 1


@pytest.mark.parametrize("operator", ROWS)
def test_every_kind_of_file_gives_its_forms_features(operator: str) -> None:
    (table,) = kernel_tables([ROWS[operator]], chip).tables
    assert table.operator == operator
    usual = {p.name: p.usual for p in FORMS[operator].parameters}
    assert FORMS[operator].predict(usual, table).shape == (1,)


@pytest.mark.parametrize(
    ("operator", "changes"),
    [
        ("prompt", {"attn_dtype": "fp8"}),
        ("mla_decode", {"op": "wideep_block_decode"}),
        ("mla_prompt_block", {"attn_dtype": "fp8"}),
        ("recurrent_decode", {"op": "mamba2"}),
        ("gather", {"op": "alltoall"}),
        ("all_to_all", {"n_nodes": "2"}),
        ("all_to_all", {"sms": "8"}),
    ],
)
def test_other_kernel_classes_are_left_out(operator: str, changes: dict[str, str]) -> None:
    assert kernel_tables([{**ROWS[operator], **changes}], chip).tables == ()


def fit(
    operator: str, key: str, sku: str, engine: str, kernel: str, values: dict[str, float], **rest: float
) -> CurveFit:
    table = KernelTable(
        operator=operator,
        key=key,
        chip=sku,
        engine=engine,
        kernel=kernel,
        features={},
        peak=1.0,
        bandwidth=1.0,
        time=np.ones(10),
        shapes=("x",) * 10,
    )
    return CurveFit(
        table=table, values=values, spread=0.05, error=rest.get("error", 0.05), bias=0.0, rows=int(rest.get("rows", 10))
    )


def test_profiles_by_level() -> None:
    fits = [
        fit("gemm", "bf16", "h100-sxm-80gb", "vllm", "", {"launch": 2e-6, "memory": 0.8}),
        fit("gemm", "bf16", "h200-sxm-141gb", "vllm", "", {"launch": 4e-6, "memory": 0.9}),
        fit("gemm", "bf16", "h100-sxm-80gb", "trtllm", "", {"launch": 12e-6, "memory": 0.7}),
        fit("moe", "nvfp4", "h100-sxm-80gb", "vllm", "fi_trtllm_x", {"launch": 1e-5, "memory": 0.8}),
        fit("moe", "nvfp4", "h100-sxm-80gb", "trtllm", "cutlass", {"launch": 9e-5, "memory": 0.8}),
        fit("moe", "bf16", "h100-sxm-80gb", "sglang", "other", {"launch": 1e-5, "memory": 0.8}, rows=99),
        fit("moe", "bf16", "h100-sxm-80gb", "sglang", "triton", {"launch": 5e-5, "memory": 0.8, "masked": 1.0}),
        fit("all_reduce", "all_reduce", "h100-sxm-80gb", "vllm", "k", {"one_shot": 4e-6, "eight": 9.0}),
        fit("all_reduce", "all_reduce", "h100-sxm-80gb", "nccl", "NCCL", {"one_shot": 9e-6, "eight": 1.0}),
        fit("gather", "gather", "h100-sxm-80gb", "nccl", "", {"launch": 3e-6}),
        fit("gemm", "fp8", "h100-sxm-80gb", "vllm", "", {"launch": 1e-6}, error=0.9),
    ]
    levels = profiles_of(fits, {"h100-sxm-80gb": "hopper", "h200-sxm-141gb": "hopper"})
    own = levels["h100-sxm-80gb", "vllm"]
    assert own["gemm.bf16"] == {"launch_s": 2e-6, "memory": pytest.approx(0.76)}
    assert "gemm.fp8" not in own
    assert own["all_reduce"]["eight"] == 4.0
    assert levels["hopper", "vllm"]["gemm.bf16"]["launch_s"] == pytest.approx(3e-6)
    assert levels["h100-sxm-80gb", "trtllm"]["gemm.bf16"]["launch_s"] == 2e-6  # the host's floor, not the chip's
    assert levels["h100-sxm-80gb", "trtllm"]["moe.nvfp4"]["launch_s"] == 1e-5  # the kernels it really serves with
    assert levels["h100-sxm-80gb", "sglang"]["moe.bf16"]["launch_s"] == 5e-5  # its default kernel
    assert levels["h100-sxm-80gb", "sglang"]["moe.bf16"]["masked"] == 1
    assert levels["hopper", "sglang"]["moe.bf16"]["masked"] == 1
    assert "masked" not in levels["hopper", "generic"]["moe.bf16"]  # an engine's way to batch is no chip's
    assert levels["hopper", "generic"]["gather"]["launch_s"] == 3e-6
    assert ("h100-sxm-80gb", "nccl") not in levels
    assert ("default", "generic") not in levels  # one family says nothing about the others
    assert errors_by(fits)["gemm", "h100-sxm-80gb", "vllm"][1] == 20


def test_keys() -> None:
    (block,) = kernel_tables([ROWS["mla_block"]], chip).tables
    assert profile_key(block) == "decode.mla:fp8"
    (spread,) = kernel_tables([ROWS["moe"]], chip).tables
    assert profile_key(spread) == "moe.mxfp4_w4a16:ep"
    (linear,) = kernel_tables([ROWS["recurrent_prompt"]], chip).tables
    assert profile_key(linear) == "recurrent.linear"


def test_whole_pipeline() -> None:
    found = fit_kernels([GEMMS, [ROWS["decode"]]], chip)
    assert len(found.fits) == 1
    assert found.fits[0].error < 0.1  # the rows add their arms, the form rounds the knee
    assert found.too_small[0].operator == "decode"
