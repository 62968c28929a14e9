"""Reserves: engines' three ways to share a GPU, weights that are not matrices, refusals said in words."""

import numpy as np
import pytest

from planner.catalog.models import built_in_models
from planner.core.architecture.model import ModelCard
from planner.core.memory.allocator import paged_pool
from planner.core.memory.budget import (
    ACTIVATION_MINIMUM,
    CONTEXT_STATIC,
    GRAPHS_FIXED,
    GRAPHS_PER_LAYER,
    NON_TORCH_GROUP,
    NON_TORCH_SINGLE,
    STATE_SHARE,
    WORKSPACE_FREE,
    Reservation,
    graph_bytes,
    reservation,
)
from planner.core.memory.cache import cache_footprint
from planner.core.memory.era import era_of
from planner.core.memory.fit import cache_room
from planner.core.memory.needs import layer_needs
from planner.core.memory.weights import draft_bytes_on_rank, tower_bytes, weight_bytes_on_rank
from planner.core.operators.card import lower_card
from planner.core.operators.lower import scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import cache_format, weight_format
from planner.core.quantities.units import GIB

CARD = ModelCard(id="a/b", params=8e9, layers=32, kv_heads=8, head_dim=128, vocabulary=128256)
LLAMA = built_in_models().model("meta-llama/llama-3.1-8b")


def reserve(engine, version=None, *, model=LLAMA, layout=None, **how):
    settings = {"family": "hopper", "max_num_seqs": 1024.0, "batched_tokens": 8192.0, **how}
    return reservation(era_of(engine, version), layout or Layout(), model=model, **settings)


def test_the_three_budgets():
    requested = Reservation(activation_bytes=2.0, other_bytes=1.0)
    assert requested.usable(100.0, 0.9, 40.0) == 90.0
    free = Reservation(activation_bytes=2.0, other_bytes=1.0, budget="free")
    assert free.usable(100.0, 0.5, 40.0) == 43.0 + 0.5 * 57.0  # half of what is free after load
    assert free.usable(30.0, 0.5, 40.0) == 43.0  # nothing is free
    static = Reservation(activation_bytes=0.0, other_bytes=0.0, budget="static")
    assert static.usable(100 * GIB, 0.8, 40.0) == pytest.approx(0.8 * (100 * GIB - CONTEXT_STATIC))
    assert requested.usable(np.array([100.0, 200.0]), 0.9, 40.0).tolist() == [90.0, 180.0]


def test_logits_of_the_profiling_run_dominate_large_vocabularies():
    # Llama-3.1-8B on vLLM 0.19, 1,024 sequences: 1.89 GiB logged; phi-2 (51,200 entries): 0.79
    assert reserve("vllm", "0.19.0").activation_bytes == pytest.approx(1.89 * GIB, rel=0.03)
    phi = built_in_models().model("microsoft/phi-2")
    assert reserve("vllm", "0.19.0", model=phi).activation_bytes == pytest.approx(0.79 * GIB, rel=0.12)
    assert reserve("vllm", "0.19.0", max_num_seqs=8.0, batched_tokens=64.0).activation_bytes == ACTIVATION_MINIMUM


def test_expert_workspace_is_added():
    # Qwen1.5-MoE-A2.7B: 2.47 GiB logged; without the workspace it would be 2.2
    moe = built_in_models().model("qwen/qwen1.5-moe-a2.7b")
    assert reserve("vllm", "0.19.0", model=moe).activation_bytes == pytest.approx(2.47 * GIB, rel=0.05)


def test_libraries_and_communicators():
    assert reserve("vllm", "0.19.0").other_bytes == NON_TORCH_SINGLE
    assert reserve("vllm", "0.19.0", layout=Layout(tensor=2), family="ampere").other_bytes == NON_TORCH_GROUP
    assert reserve("vllm", "0.10.1", layout=Layout(tensor=2)).other_bytes == NON_TORCH_GROUP
    assert graph_bytes(CARD, Layout(pipeline=2)) == GRAPHS_FIXED + 16 * GRAPHS_PER_LAYER


def test_other_engines():
    assert reserve("sglang").activation_bytes == 0
    assert reserve("sglang").token_share == 1
    hybrid = built_in_models().model("qwen/qwen3.5-9b")
    assert reserve("sglang", model=hybrid).token_share == pytest.approx(1 / (1 + STATE_SHARE))
    assert reserve("trtllm").other_bytes == WORKSPACE_FREE
    assert reserve("trtllm").activation_bytes > 0
    assert reserve("generic", model=CARD).activation_bytes >= ACTIVATION_MINIMUM


def test_sparse_indexers_score_every_position():
    # GLM-5.1 on eight cards, 8,192 tokens a step, 202,752 positions: 6.2 GiB of scores
    glm = built_in_models().model("zai-org/glm-5.1")
    short, long = (reserve("vllm", "0.20.2", model=glm, longest=n).activation_bytes for n in (1.0, 202_752.0))
    assert long - short == pytest.approx(6.19 * GIB, rel=0.01)
    assert reserve("vllm", "0.20.2", model=glm).activation_bytes > short  # the trained context where none is given


def test_weights_beside_matrices():
    gemma = built_in_models().model("google/gemma-3-4b-it")
    vision = sum(t.parameters for t in gemma.towers if t.kind == "vision")
    assert tower_bytes(gemma) == 2.0 * vision > 0
    deepseek = built_in_models().model("deepseek-ai/deepseek-v3")
    drafts = sum(t.parameters for t in deepseek.towers if t.kind == "mtp")
    assert draft_bytes_on_rank(deepseek, scheme_for(deepseek, "bf16"), Layout(tensor=8)) == 2.0 * drafts / 8 > 0
    table = lower_card(CARD, layout=Layout(pipeline=4), weights=weight_format("bf16"), cache=cache_format("bf16"))
    assert weight_bytes_on_rank(table, CARD, scheme_for(LLAMA, "bf16")) == pytest.approx(2 * 8e9 / 4, rel=0.1)


def fitted(capacity, *, paged=True, request=2000.0, reserved=None):
    layout, cache = Layout(), cache_format("bf16")
    cut = paged_pool(layer_needs(LLAMA, layout, cache), block_tokens=16, batched_tokens=8192.0) if paged else None
    room = cache_room(cache_footprint(LLAMA, layout, cache), layout, capacity=capacity, utilization=0.9, weights=16e9,
                      reserved=reserved or Reservation(activation_bytes=1e9, other_bytes=1e9), longest=None, paged=cut)
    return room.fit(request)


def test_reasons_in_words():
    assert fitted(80e9).reason.startswith("Weights, reserves and at least one request fit")
    assert "Weights need" in fitted(16e9).reason
    assert "leave nothing" in fitted(19e9).reason
    tight = fitted(20.2e9)
    assert not tight.fits
    assert "cannot hold one request of 2,000 tokens" in tight.reason
    assert tight.shortfall_bytes == pytest.approx(2000 * 131072 - (0.9 * 20.2e9 - 18e9))


def test_blocks_round_down_and_bytes_do_not():
    whole, exact = fitted(80e9), fitted(80e9, paged=False)
    assert whole.kv_capacity_tokens % 16 == 0
    assert 0 <= exact.kv_capacity_tokens - whole.kv_capacity_tokens < 16
    assert fitted(80e9, request=2001.0).max_concurrency == (0.9 * 80e9 - 18e9) // (16 * 131072) // 126
    assert fitted(80e9, request=2001.0).need_bytes == 126 * 16 * 131072


def test_footprints_of_cards_hybrids_and_shared_caches():
    card = cache_footprint(CARD, Layout(tensor=2), cache_format("bf16"))
    assert card.bytes_per_token == 32 * 2 * 4 * 128 * 2
    hybrid = built_in_models().model("qwen/qwen3.5-27b")
    kept = cache_footprint(hybrid, Layout(), cache_format("bf16"))
    assert kept.bytes_per_token == 16 * 2 * 4 * 256 * 2
    assert kept.bytes_per_sequence(0.0) == kept.state_bytes > 48 * 48 * 128 * 128 * 4
    sharing = built_in_models().model("google/gemma-3n-e4b-it")
    layers = sum(count for count, _ in layer_needs(sharing, Layout(), cache_format("bf16")))
    assert layers < sharing.layer_count  # layers that read another layer's cache keep none


def test_states_in_a_pool_of_their_own_bound_sequences_and_not_tokens():
    # SGLang gives states 0.9 for each 1 of tokens; Qwen3.5-9B on two cards logged 327,310 tokens in 5.0 GiB
    model, layout = built_in_models().model("qwen/qwen3.5-9b"), Layout(tensor=2)
    kept = cache_footprint(model, layout, cache_format("bf16"))
    reserved = Reservation(activation_bytes=0.0, other_bytes=0.0, budget="requested", token_share=1 / 1.9)
    room = cache_room(kept, layout, capacity=9.5 * GIB, utilization=1.0, weights=0.0, reserved=reserved, longest=None)
    found = room.fit(64.0)
    assert found.kv_pool_bytes == pytest.approx(5.0 * GIB)
    assert found.kv_capacity_tokens == pytest.approx(327_310, rel=0.01)
    assert found.max_concurrency == 4.5 * GIB // kept.state_bytes
    assert room.fit(30_000.0).max_concurrency == room.max_concurrency(30_000.0) == 10  # tokens bind
    assert room.fits(64.0)
    assert not room.fits(1e9)
