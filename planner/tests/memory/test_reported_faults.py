"""Memory answers that public reports caught other tools getting wrong: the right value, with the thread it is from.

PULL_205 is https://github.com/llm-d-incubation/llm-d-planner/pull/205.
"""

import json
from functools import cache

import pytest

from planner.bootstrap import Planner
from planner.catalog.chips import built_in_chips
from planner.catalog.models import built_in_models
from planner.config import settings
from planner.core.memory.allocator import PagedPool, paged_pool
from planner.core.memory.budget import CONTEXT_STATIC, Reservation, graph_bytes, reservation
from planner.core.memory.era import era_of
from planner.core.memory.needs import LayerNeed, layer_needs
from planner.core.memory.weights import weight_bytes_on_rank
from planner.core.operators.lower import lower, scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import cache_format
from planner.core.quantities.units import GIB
from planner.schemas.plan import PlanRequest
from planner.services.plan.reading import question_of


def model(name):
    return built_in_models().model(name)


def pool(name, *, tp=1, kv="bf16", block=16, batched=8192.0, states=1) -> PagedPool:
    needs = layer_needs(model(name), Layout(tensor=tp), cache_format(kv))
    return paged_pool(needs, block_tokens=block, batched_tokens=batched, state_blocks=states)


def reserve(name, version, *, tp=1, pp=1, seqs=1024.0, batched=8192.0, longest=None, family="hopper") -> Reservation:
    return reservation(era_of("vllm", version), Layout(tensor=tp, pipeline=pp), model=model(name), family=family,
                       max_num_seqs=seqs, batched_tokens=batched, longest=longest)


def weights(name, fmt, **layout):
    chosen = model(name)
    scheme = scheme_for(chosen, fmt)
    table = lower(chosen, layout=Layout(**layout), scheme=scheme, cache=cache_format("bf16"))
    return weight_bytes_on_rank(table, chosen, scheme)


@cache
def fit(question):
    planner = Planner(settings())
    body = PlanRequest.model_validate(json.loads(question))
    return planner.plans.answer(question_of(body.model_dump(), "default"))["fit"]


def asked(model_name, sku, **deployment):
    return fit(json.dumps({"model": model_name, "sku": sku, "deployment": deployment}))


def test_a_decode_context_group_multiplies_a_replicated_latent():
    # https://github.com/vllm-project/recipes/pull/115: 46.80 GiB on each of 8 ranks
    cut = pool("moonshotai/kimi-k2-instruct", tp=8)
    tokens = cut.capacity_tokens(46.80 * GIB, 8192.0)
    assert tokens == pytest.approx(715_072, rel=0.01)
    assert 8 * tokens == pytest.approx(5_721_088, rel=0.01)


def test_index_keys_of_sparse_attention_take_their_share():
    # https://github.com/sgl-project/sglang/pull/11309: 1,462,784 tokens, packed latents and 132 bytes of index key
    each = pool("deepseek-ai/deepseek-v3.2", tp=8, kv="fp8", block=64).block_bytes / 64
    assert each * 1_462_784 == pytest.approx(65.48 * GIB, rel=0.01)


def test_window_layers_are_padded_in_groups():
    # PULL_205: gemma-3-27b, 19.53 GiB at 8,192 tokens: 4.46 requests, not 4.97
    assert pool("google/gemma-3-27b-it").sequences(19.53 * GIB, 8192.0) == pytest.approx(4.46, rel=0.01)


def test_the_engine_version_changes_what_is_printed():
    # https://github.com/vllm-project/vllm/issues/43308: gemma-4-31b, about 50 GiB: 55k on 0.20, 525k on 0.21
    cut = pool("google/gemma-4-31b")
    assert era_of("vllm", "0.20.0").prints_groups
    assert cut.printed_tokens(50 * GIB) == pytest.approx(55_000, rel=0.2)
    assert not era_of("vllm", "0.21.0").prints_groups
    assert cut.capacity_tokens(50 * GIB, 262_144.0) == pytest.approx(525_000, rel=0.2)


def test_a_windowed_layer_stops_at_its_window():
    # https://github.com/tenstorrent/tt-xla/issues/5727
    cut = pool("google/gemma-4-31b", batched=0.0)
    window = next(g for g in cut.groups if g.kind == "window")
    assert window.window == 1024
    growth = (cut.blocks(66_000.0) - cut.blocks(2_000.0)) / 64_000
    full = next(g for g in cut.groups if g.kind == "full")
    assert growth == pytest.approx(full.copies / full.block_tokens, rel=0.01)


def test_equal_pools_hold_more_tokens_in_longer_requests_where_a_request_has_a_fixed_cost():
    # https://github.com/tonyd2wild/DeepSeek-v4-Flash-Vision-Exp-DSpark-1M-NVFP4-KV-2x-DGX-Spark/issues/57 and
    # https://github.com/vllm-project/vllm/issues/44376: bytes are an intercept and a slope, not a rate
    cut = pool("deepseek-ai/deepseek-v4-flash", tp=2, block=256)
    short, long = (cut.capacity_tokens(24.5 * GIB, length) for length in (50_000.0, 500_000.0))
    assert long > short
    assert cut.sequences(24.5 * GIB, 500_000.0) < cut.sequences(24.5 * GIB, 50_000.0)


def test_attention_blocks_grow_to_hold_a_state():
    # https://github.com/vllm-project/vllm/issues/54458
    cut = pool("qwen/qwen3.5-27b", tp=2)
    assert next(g for g in cut.groups if g.kind == "full").block_tokens > 16


def test_an_fp8_cache_does_not_double_a_hybrid():
    # https://github.com/vllm-project/vllm/issues/55196: 1.00 at short context, less than 2 at 32k
    gains = {}
    for length in (64.0, 32_768.0):
        wide, narrow = (pool("qwen/qwen3.5-27b", kv=kv).sequences(10 * GIB, length) for kv in ("bf16", "fp8"))
        gains[length] = narrow / wide
    assert gains[64.0] == pytest.approx(1.0)
    assert 1.5 < gains[32_768.0] < 2.0


def test_a_reservation_is_not_a_need():
    # https://github.com/gpustack/gpustack/issues/2462: 0.9 of a 24 GB card whatever the model; 21.85 GB
    found = asked("qwen/qwen3-0.6b", "rtx-3090-24gb", tensor_parallel=1)
    assert found["usable_bytes"] == pytest.approx(0.9 * found["capacity_bytes"])
    assert found["usable_bytes"] == pytest.approx(21.85e9, rel=0.06)
    assert found["weights_bytes"] + found["kv_pool_bytes"] > 0.9 * found["usable_bytes"]


def test_communicators_cost_two_gibibytes_on_a_switched_group_and_little_on_stages():
    # PULL_205: Qwen2.5-7B on H100, vLLM 0.19: 2.06 GiB at TP2, 2.13 at TP4, 0.07 at PP2 and PP4
    for tp, right in ((2, 2.06), (4, 2.13)):
        assert reserve("qwen/qwen2.5-7b-instruct", "0.19.0", tp=tp).other_bytes == pytest.approx(right * GIB, rel=0.1)
    assert reserve("qwen/qwen2.5-7b-instruct", "0.19.0", pp=2).other_bytes == pytest.approx(0.07 * GIB, rel=0.1)


def test_the_end_stage_of_a_pipeline_carries_the_head():
    # PULL_205: Llama-3.1-8B, PP4: 4.26 GiB on the worst stage, not 3.74
    assert weights("meta-llama/llama-3.1-8b", "bf16", pipeline=4) == pytest.approx(4.26 * GIB, rel=0.03)


def test_the_cache_format_is_read():
    # PULL_205: Qwen2.5-7B with an fp8 cache in 58.53 GiB: 2,192,000 tokens, 267.58 requests of 8,192
    cut = pool("qwen/qwen2.5-7b-instruct", kv="fp8")
    assert cut.capacity_tokens(58.53 * GIB, 8192.0) == pytest.approx(2_192_000, rel=0.01)
    assert cut.sequences(58.53 * GIB, 8192.0) == pytest.approx(267.58, rel=0.01)


def test_a_request_that_outgrows_the_pool_does_not_fit():
    # https://github.com/eugr/spark-vllm-docker/issues/396: 22.5 GiB < 23.25 GiB for 196,608 tokens
    cut = pool("minimaxai/minimax-m2.7", tp=2)
    assert cut.bytes_per_sequence(196_608.0) == pytest.approx(23.25 * GIB, rel=0.01)
    assert cut.longest(22.5 * GIB) < 196_608 <= cut.longest(23.26 * GIB)


def test_graphs_come_out_of_the_budget_once_and_only_in_newer_versions():
    # as above (0.80 acts as 0.758 from 0.21 on) and https://github.com/vllm-project/vllm/issues/57936
    old, new = (reserve("meta-llama/llama-3.1-8b", version) for version in ("0.20.0", "0.21.0"))
    assert new.other_bytes - old.other_bytes == graph_bytes(model("meta-llama/llama-3.1-8b"), Layout())
    assert new.activation_bytes == old.activation_bytes


def test_batched_tokens_drive_the_activation():
    # https://github.com/MiaAI-Lab/DeepSeek-v4-Flash-One-DGX-Spark/issues/4: 5.30 GiB at 8,224, 1.39 at 2,048
    peaks = [reserve("deepseek-ai/deepseek-v4-flash", None, seqs=256.0, batched=b, longest=262_144.0).activation_bytes
             for b in (8224.0, 2048.0)]
    assert peaks[0] > 2 * peaks[1]


def test_capacity_need_not_fall_with_length_in_the_first_engine():
    # https://github.com/vllm-project/vllm/issues/10517: RTX 3090 at 0.9: 31,232 tokens at 20k, 23,648 at 29k (refused),
    # and starts again at 35k, where prompts are chunked
    cut, tokens = pool("meta-llama/llama-3.1-8b"), {}
    for length in (20_000.0, 29_000.0, 35_000.0):
        kept = reserve("meta-llama/llama-3.1-8b", "0.6.3", seqs=256.0, longest=length, family="ampere")
        free = kept.usable(23.58 * GIB, 0.9, 0.0) - 14.99 * GIB - kept.activation_bytes - kept.other_bytes
        tokens[length] = cut.capacity_tokens(free, length)
    assert tokens[20_000.0] == pytest.approx(31_232, rel=0.06)
    assert tokens[29_000.0] == pytest.approx(23_648, rel=0.06)
    assert tokens[29_000.0] < 29_000
    assert tokens[35_000.0] > 35_000


def test_sglang_needs_a_fraction_above_its_weights():
    # https://github.com/SemiAnalysisAI/InferenceX/issues/2128: 137.9 GB free before load, 125.65 GB of weights
    kept = reservation(era_of("sglang"), Layout(tensor=8), model=model("deepseek-ai/deepseek-v4-pro"), family="hopper",
                       max_num_seqs=256.0, batched_tokens=8192.0)
    capacity = 137.9e9 + CONTEXT_STATIC
    assert kept.usable(capacity, 0.88, 125.65e9) < 125.65e9
    assert kept.usable(capacity, 0.9113, 125.65e9) == pytest.approx(125.65e9, rel=1e-3)


def test_two_replicas_store_weights_twice():
    # https://github.com/vllm-project/vllm/issues/16011: the cache of TP8 less twice that of TP4 is the weights
    name = "meta-llama/llama-3.1-70b"
    eight, four = (asked(name, "h100", tensor_parallel=tp, weights="bf16") for tp in (8, 4))
    gained = 8 * eight["kv_pool_bytes"] - 2 * 4 * four["kv_pool_bytes"]
    assert gained == pytest.approx(weights(name, "bf16"), rel=0.03)


def test_visible_memory_is_kept_per_card():
    # https://github.com/unslothai/unsloth/pull/6895: a B200 shows 183,359 MiB = 179.1 GiB, not 178.35 GB
    visible = built_in_chips().entry("b200-sxm-180gb").chip.memory_bytes
    assert visible == pytest.approx(183_359 * 2**20, rel=0.01)


def test_a_share_above_one_is_refused():
    # https://github.com/spark-arena/sparkrun/issues/136
    with pytest.raises(ValueError, match="memory_utilization"):
        PlanRequest.model_validate({"model": "x", "sku": "y", "deployment": {"memory_utilization": 112.0}})


@pytest.mark.parametrize(("ranks", "heads"), [(1, 8), (8, 1), (32, 1)])
def test_more_ranks_than_heads_repeat_a_head(ranks, heads):
    # https://github.com/tenstorrent/vllm/pull/50
    [(layers, need)] = layer_needs(model("meta-llama/llama-3.1-70b"), Layout(tensor=ranks), cache_format("bf16"))
    assert (layers, need) == (80, LayerNeed(kind="full", token_bytes=heads * 2 * 128 * 2.0))


def test_tensor_parallelism_divides_the_cache():
    # https://github.com/huggingface/transformers/pull/48566: Qwen3-32B at TP4: 3,258 blocks, not 814
    one, four = (pool("qwen/qwen3-32b", tp=tp, block=256).pool_blocks(51.0 * GIB) for tp in (1, 4))
    assert four / one == pytest.approx(3258 / 814, rel=0.01)


def test_what_does_not_fit_is_said_with_its_shortfall():
    # https://github.com/ai-dynamo/aiconfigurator/pull/509: 405B on one H100 is 811.7 GB of weights
    found = asked("meta-llama/llama-3.1-405b", "h100", tensor_parallel=1, weights="bf16")
    assert not found["fits"]
    assert found["weights_bytes"] == pytest.approx(811.7e9, rel=1e-3)
    assert found["shortfall_bytes"] > 730e9


def test_users_of_long_prompts_need_weights_and_cache():
    # https://www.peakinfer.com/blog/what-changes-when-100-users-hit-your-llm: 131 GiB of weights, 0.62 GiB a request
    found = asked("meta-llama/llama-3.1-70b", "h100", tensor_parallel=1, weights="bf16")
    assert not found["fits"]
    assert 100 * pool("meta-llama/llama-3.1-70b").bytes_per_sequence(2048.0) == pytest.approx(62.5 * GIB, rel=0.02)


def test_the_pool_is_sized_by_memory_not_by_the_number_of_sequences():
    # https://github.com/vllm-project/vllm/issues/19148
    few, many = (asked("qwen/qwen2.5-7b-instruct", "h100", tensor_parallel=1, max_num_seqs=n) for n in (1, 32))
    assert few["kv_pool_bytes"] == pytest.approx(many["kv_pool_bytes"], rel=0.01)
    assert pool("qwen/qwen2.5-7b-instruct").bytes_per_sequence(70_000.0) == pytest.approx(3.74 * GIB, rel=0.02)


def test_memory_tokens_and_bytes_multiply_out():
    # https://github.com/redhat-performance/configiq/issues/112: 64.68 GiB and 626,949 tokens on gemma-4-31b
    cut = pool("google/gemma-4-31b")
    assert cut.capacity_tokens(64.68 * GIB, 262_144.0) == pytest.approx(626_949, rel=0.02)
    found = asked("qwen/qwen3-8b", "h100", tensor_parallel=1)
    assert found["kv_capacity_tokens"] * found["kv_bytes_per_token"] == pytest.approx(found["kv_pool_bytes"], rel=0.02)
