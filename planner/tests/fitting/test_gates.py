"""Gates: each reason on rows made for it, first reason wins, and no gate sees a prediction."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.core.errors import InvalidLayout
from planner.core.fitting.gates import gate_rows
from planner.core.fitting.measured import Load, MeasuredRow

BASE = MeasuredRow(
    number=1,
    model="a",
    sku="h100",
    engine="vllm",
    engine_label="vllm",
    weights="bf16",
    expert_weights="bf16",
    kv_cache="auto",
    input_tokens=1024,
    output_tokens=1024,
    concurrency=16,
    load=Load.CLOSED,
    tensor=1,
    data=1,
    expert=1,
    gpus=1,
    tpot=0.0101234,
    ttft=0.1234567,
    group="g",
)


def gated(rows, same=lambda name: name, work=None, fastest=None):
    return gate_rows(rows, same_model=same, prompt_work=work or {}, fastest=fastest or {})


def test_good_rows_pass() -> None:
    assert gated([BASE, replace(BASE, number=2, concurrency=32, tpot=0.02)]) == {}


def test_labels() -> None:
    rows = [replace(BASE, problem="no layout"), replace(BASE, number=2, speculative=True, concurrency=4)]
    assert gated(rows) == {1: "topology_not_reconstructable", 2: "speculative_decoding"}


def test_copies_and_rounded_copies() -> None:
    rows = [BASE, replace(BASE, number=2), replace(BASE, number=3, tpot=0.01012, ttft=0.12346)]
    assert gated(rows) == {2: "duplicate", 3: "rounded_duplicate"}


def test_cold_start_and_overload() -> None:
    cold = replace(BASE, number=2, ttft=5.0, concurrency=4)
    waiting = replace(BASE, number=3, ttft=12.0, concurrency=128)
    late = replace(BASE, number=4, ttft=25.0, concurrency=512, tpot=None)
    offline = replace(BASE, number=5, ttft=90.0, load=Load.OFFLINE)
    assert gated([BASE, cold, waiting, late, offline]) == {2: "cold_start", 3: "queue_limited", 4: "queue_limited"}


def test_faster_than_physics() -> None:
    assert gated([BASE], fastest={1: 0.02}) == {1: "faster_than_physics"}


def test_impossible_prompt_rates_gate_the_group() -> None:
    rows = [replace(BASE, number=n, concurrency=8 * n) for n in range(1, 5)]
    rate = {row.number: 1e-3 for row in rows}  # 1 ms of the peak per prompt token
    assert set(gated(rows, work=rate).values()) == {"impossible_prefill_rate"}
    assert gated(rows, work=dict.fromkeys(rate, 1e-09)) == {}


def test_twins_betray_speculation() -> None:
    slow = [replace(BASE, number=n, model="v3", concurrency=4 * n) for n in range(1, 7)]
    fast = [
        replace(BASE, number=10 + n, model="r1", concurrency=4 * n, tpot=0.006, date="2026-01-01") for n in range(1, 7)
    ]
    fair = [
        replace(BASE, number=20 + n, model="r1", concurrency=4 * n, tpot=0.0102, date="2026-02-01") for n in range(1, 7)
    ]
    found = gated([*slow, *fast, *fair], same=lambda _: "one architecture")
    assert set(found) == set(range(11, 17))
    assert set(found.values()) == {"hidden_speculation"}
    assert gated([*slow, *fast], same=lambda name: name) == {}


def test_a_row_without_a_layout_says_why() -> None:
    assert BASE.layout.gpus == 1
    with pytest.raises(InvalidLayout, match="no layout"):
        _ = replace(BASE, problem="no layout").layout
