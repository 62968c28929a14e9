"""The block allocator: hand-worked cuts of hybrid models, inverses, grids, and the engines' eras."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.catalog.models import built_in_models
from planner.core.architecture.model import ModelCard
from planner.core.errors import UnsupportedFormat
from planner.core.memory.allocator import paged_pool
from planner.core.memory.era import era_of
from planner.core.memory.needs import LayerNeed, layer_needs
from planner.core.parallelism import Layout
from planner.core.precision import cache_format

FULL, WINDOW = LayerNeed(kind="full", token_bytes=100.0), LayerNeed(kind="window", token_bytes=100.0, window=1024.0)
GEMMA_27B = paged_pool(((10, FULL), (52, WINDOW)), block_tokens=16, batched_tokens=8192.0)
"""google/gemma-3-27b-it: 52 window layers are grouped by 10 and padded to 60 (llm-d-planner pull request 205)."""


def test_the_other_kind_is_padded_to_the_rarer_one():
    assert [(g.kind, g.copies) for g in GEMMA_27B.groups] == [("full", 1), ("window", 6)]
    assert GEMMA_27B.padded_layers == 70
    assert GEMMA_27B.blocks(8192.0) == 512 + 6 * 513
    assert 15_997 / GEMMA_27B.blocks(8192.0) == pytest.approx(4.456, abs=5e-4)


def test_a_window_keeps_its_span_and_one_step():
    assert GEMMA_27B.blocks(131072.0) == 8192 + 6 * (-(-(1023 + 8192) // 16) + 1)


def test_nearly_equal_kinds_are_padded_upwards():
    cut = paged_pool(((20, FULL), (22, WINDOW)), block_tokens=16, batched_tokens=0.0)
    assert [g.copies for g in cut.groups] == [1, 1]
    assert cut.block_bytes == 22 * 1600


def test_smaller_heads_put_more_tokens_into_a_block():
    wide = LayerNeed(kind="window", token_bytes=400.0, window=512.0)
    cut = paged_pool(((10, FULL), (10, wide)), block_tokens=16, batched_tokens=0.0)
    assert {g.kind: g.block_tokens for g in cut.groups} == {"full": 64.0, "window": 16.0}
    assert cut.block_bytes == 10 * 400 * 16


def test_attention_blocks_grow_until_a_state_fits():
    state = LayerNeed(kind="state", token_bytes=1_603_584.0)
    attention = LayerNeed(kind="full", token_bytes=2048.0)
    cut = paged_pool(((16, attention), (48, state)), block_tokens=16, batched_tokens=0.0, state_blocks=2)
    assert {g.kind: (g.block_tokens, g.copies) for g in cut.groups} == {"full": (784.0, 1), "state": (1.0, 3)}
    assert cut.blocks(131072.0) == -(-131072 // 784) + 6


def test_states_alone_need_no_tokens():
    cut = paged_pool(((24, LayerNeed(kind="state", token_bytes=1e6)),), block_tokens=16, batched_tokens=0.0)
    assert cut.blocks(10.0) == cut.blocks(1e9) == 1
    assert cut.longest(24e6) == 2**40
    assert cut.longest(23e6) == 0


def test_caches_of_one_layer_share_its_block():
    index = LayerNeed(kind="full", token_bytes=132.0)
    latent = LayerNeed(kind="full", token_bytes=656.0)
    cut = paged_pool(((61, latent), (61, index)), block_tokens=64, batched_tokens=0.0)
    assert cut.block_bytes == 61 * (656 + 132) * 64
    assert cut.capacity_tokens(1_462_784 * 61 * 788.0, 4096.0) == 1_462_784


pools = st.floats(1e4, 1e9)


@given(pool=pools, full=st.integers(1, 40), window=st.integers(0, 60), batched=st.integers(0, 9000))
def test_the_longest_sequence_is_the_last_that_fits(pool, full, window, batched):
    needs = ((full, FULL),) + (((window, WINDOW),) if window else ())
    cut = paged_pool(needs, block_tokens=16, batched_tokens=float(batched))
    longest = cut.longest(pool)
    blocks = cut.pool_blocks(pool)
    if longest:
        assert cut.blocks(longest) <= blocks
    assert cut.blocks(longest + 1) > blocks


@given(pool=pools, tokens=st.floats(1, 1e6))
def test_more_memory_never_holds_less_and_longer_requests_never_more(pool, tokens):
    assert GEMMA_27B.sequences(2 * pool, tokens) >= GEMMA_27B.sequences(pool, tokens)
    assert GEMMA_27B.sequences(pool, tokens + 100) <= GEMMA_27B.sequences(pool, tokens)


def test_arrays_equal_numbers():
    tokens, pool = np.array([1.0, 17.0, 9000.0, 1e5]), np.array([1e6, 1e7, 1e8, 1e9])
    for name in ("blocks", "bytes_per_sequence"):
        assert getattr(GEMMA_27B, name)(tokens).tolist() == [getattr(GEMMA_27B, name)(float(t)) for t in tokens]
    assert GEMMA_27B.longest(pool).tolist() == [GEMMA_27B.longest(float(p)) for p in pool]
    for name in ("sequences", "capacity_tokens"):
        assert getattr(GEMMA_27B, name)(pool, tokens).tolist() == [
            getattr(GEMMA_27B, name)(float(p), float(t)) for p, t in zip(pool, tokens, strict=True)]


def test_needs_of_a_card_and_of_ranks():
    card = ModelCard(id="a/b", params=8e9, layers=32, kv_heads=8, head_dim=128, vocabulary=128256)
    [(layers, need)] = layer_needs(card, Layout(tensor=4, pipeline=3), cache_format("bf16"))
    assert (layers, need.token_bytes) == (11, 2 * 2 * 128 * 2)
    [(layers, need)] = layer_needs(card, Layout(tensor=16), cache_format("fp8"))
    assert (layers, need.token_bytes, need.window) == (32, 1 * 2 * 128, inf)  # one head each, repeated twice
    latent = layer_needs(built_in_models().model("deepseek-ai/deepseek-v3"), Layout(tensor=8), cache_format("bf16"))
    assert latent == ((61, LayerNeed(kind="full", token_bytes=1152.0)),)


@pytest.mark.parametrize(("version", "budget", "graphs", "prints"), [
    ("0.19.0", 14.2, False, True), ("0.21.0", 14.2, True, False), ("0.27.x", 14.2, True, False),
    ("0.16.1", 37.0, False, True), ("0.10.1.1", 0.0, False, True), ("0.6.x (V0)", 0.0, False, True),
    ("0.5.3", 0.0, False, True), ("0.9-0.11 V0 ROCm", 0.0, False, True), ("0.2x (2026-07)", 14.2, True, False),
    (None, 14.2, True, False), ("0.1.dev20073", 14.2, True, False), ("2026-08", 14.2, True, False)])
def test_eras_of_vllm(version, budget, graphs, prints):
    era = era_of("vllm", version)
    assert (era.logits_bytes, era.graphs_inside, era.prints_groups) == (budget, graphs, prints)


def test_other_engines():
    assert era_of("sglang", "0.5").budget == "static"
    assert era_of("trtllm").budget == "free"
    with pytest.raises(UnsupportedFormat, match="tgi"):
        era_of("tgi")


@given(full=st.integers(1, 40), window=st.integers(0, 60), states=st.integers(0, 40),
       tokens=st.floats(1.0, 300_000.0))
def test_the_mean_footprint_is_the_cut_within_a_block_of_each_group(full, window, states, tokens):
    needs = ((full, FULL), *(((window, WINDOW),) if window else ()),
             *(((states, LayerNeed(kind="state", token_bytes=80_000.0)),) if states else ()))
    cut = paged_pool(needs, block_tokens=16, batched_tokens=8192.0, state_blocks=2)
    decoding, mean = cut.decoding(), cut.footprint(16.0)
    counted = 8.0 * mean.bytes_per_token  # the scheduler's own half block
    wasted = sum(g.copies for g in cut.groups if g.kind != "state") * cut.block_bytes
    exact = decoding.bytes_per_sequence(tokens)
    assert abs(mean.bytes_per_sequence(tokens) + counted - exact) <= wasted / 2 * (1 + 1e-9)
    assert exact <= cut.bytes_per_sequence(tokens)
    assert cut.footprint(8.0).state_bytes >= mean.state_bytes
