"""R5 of the reference systems: decode, B*, KV crossover, batch table. Values are append-only."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.architecture.parameters import count_parameters
from planner.core.execution.bound import bind
from planner.core.execution.crossover import batch_critical, crossings
from planner.core.execution.step import decode_step
from planner.core.memory.cache import cache_footprint
from planner.core.operators.card import lower_card
from planner.core.parallelism import Layout
from planner.core.precision import cache_format, weight_format
from planner.tests.build import CARD_8B, H100, H200, LLAMA_70B, bound


def test_llama_70b_has_its_published_parameters() -> None:
    assert count_parameters(LLAMA_70B).total == 70_553_706_496


def test_llama_70b_keeps_327680_bytes_per_token() -> None:
    kept = cache_footprint(LLAMA_70B, Layout(), cache_format("bf16"))
    assert kept.bytes_per_token == 327_680
    assert kept.bytes_per_sequence(8192) == pytest.approx(2.68e9, rel=2e-3)


@pytest.mark.parametrize(("chip", "weights", "expected"), [
    (H100, "bf16", 295), (H200, "bf16", 206), (H100, "fp8", 295), (H100, "w8a16", 148)])
def test_batch_critical(chip, weights, expected) -> None:
    assert round(batch_critical(bound(LLAMA_70B, chip=chip, weights=weights))) == expected


def test_weight_only_halves_batch_critical_and_fp8_keeps_it() -> None:
    plain = batch_critical(bound(LLAMA_70B))
    assert batch_critical(bound(LLAMA_70B, weights="w8a16")) == pytest.approx(plain / 2, rel=1e-12)
    assert batch_critical(bound(LLAMA_70B, weights="fp8")) == pytest.approx(plain, rel=1e-3)


def test_crossover_at_8k_without_the_embedding_table() -> None:
    assert crossings(bound(LLAMA_70B)).crossover(8192.0) == pytest.approx(51.8, abs=0.05)


def test_fp8_weights_halve_the_crossover_over_bf16_cache() -> None:
    plain, halved = (crossings(bound(LLAMA_70B, weights=w)).crossover(8192.0) for w in ("bf16", "fp8"))
    assert plain is not None
    assert halved == pytest.approx(plain / 2, rel=0.02)


def test_no_batch_makes_a_long_context_step_compute_bound() -> None:
    assert crossings(bound(LLAMA_70B)).critical_step(8192.0) is None
    assert crossings(bound(LLAMA_70B)).critical_step(64.0) is not None


def card_step(batch: float) -> tuple[float, float, float]:
    table = lower_card(CARD_8B, layout=Layout(), weights=weight_format("bf16"), cache=cache_format("bf16"))
    cost = decode_step(bind(table, H100), np.asarray(batch), np.asarray(0.0))
    rows = [i for i, n in enumerate(cost.names) if n == "weights"]
    time = float((cost.count * cost.time)[rows].sum())
    return time, float((cost.count * cost.work)[rows].sum()), float((cost.count * cost.weights)[rows].sum())


@pytest.mark.parametrize(("batch", "rate"), [(1, 209), (4, 838), (16, 3350), (64, 13400), (256, 53600), (1024, 61812)])
def test_batch_table_of_an_8b_model(batch: int, rate: int) -> None:
    time, work, traffic = card_step(batch)
    assert work / traffic == pytest.approx(batch)
    assert batch / time == pytest.approx(rate, rel=3e-3)


def test_batch_table_step_times() -> None:
    assert card_step(1)[0] == pytest.approx(4.776e-3, rel=1e-3)
    assert card_step(295)[0] == pytest.approx(4.776e-3, rel=1e-3)
    assert card_step(296)[0] > card_step(295)[0]
    assert card_step(1024)[0] == pytest.approx(16.57e-3, rel=1e-3)


def test_70b_bf16_reads_its_weights_in_42_ms_on_one_h100() -> None:
    assert 140e9 / H100.bandwidth == pytest.approx(41.8e-3, rel=1e-3)
    step = float(decode_step(bound(LLAMA_70B), np.asarray(1.0), np.asarray(1.0)).step_time)
    assert step == pytest.approx(41.8e-3, rel=0.01)
