"""What layers list about themselves: hand-worked numbers per mixer, and laws over the whole catalogue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.catalog.models import built_in_models
from planner.core.architecture.attention import Attention
from planner.core.architecture.block_sparse import BlockSparseAttention
from planner.core.architecture.cache import (
    bytes_per_token,
    cache_bytes,
    elements_per_token,
    expanded_elements_per_token,
    first_bytes_per_token,
    state_bytes,
    states,
    stored_caches,
)
from planner.core.architecture.compressed import CompressedAttention
from planner.core.architecture.delta import GatedDelta, KimiDelta, Lightning
from planner.core.architecture.feedforward import DenseFeedForward, MixtureOfExperts
from planner.core.architecture.latent import Indexer, LatentAttention
from planner.core.architecture.layer import Layer, Mixer
from planner.core.architecture.mamba import Mamba, Mamba2
from planner.core.architecture.model import Model, Tower, WeightScheme
from planner.core.architecture.parallel import ParallelMixers
from planner.core.architecture.parameters import count_parameters, layer_parameters
from planner.core.architecture.parts import KvCache, Matrix, Module, Shard

_IDS = built_in_models().ids()
_ATTENTION = Attention(hidden=64, heads=8, kv_heads=2, head_dim=16)
_LATENT = LatentAttention(hidden=64, heads=4, q_lora_rank=24, kv_lora_rank=32, nope_head_dim=16, rope_head_dim=8,
                          value_head_dim=12)
_INDEXER = Indexer(heads=2, head_dim=16, top_k=64)
_COMPRESSED = CompressedAttention(hidden=64, heads=4, head_dim=32, rope_head_dim=8, q_lora_rank=16, output_groups=2,
                                  output_rank=8, window=128, ratio=4, indexer=_INDEXER)
_MAMBA2 = Mamba2(hidden=64, heads=8, head_dim=16, state_size=32, groups=2, kernel=4)
_MIXERS: tuple[Mixer, ...] = (
    _ATTENTION, replace(_ATTENTION, window=32, chunked=True, qkv_bias=True, out_bias=True, sinks=True),
    replace(_ATTENTION, reuses_cache=True, output_gate=True), replace(_ATTENTION, value_from_key=True, head_gate=True),
    replace(_ATTENTION, value_head_dim=8, outputs=32), _LATENT,
    replace(_LATENT, q_lora_rank=None, indexer=_INDEXER, qkv_bias=True, output_gate=True),
    replace(_LATENT, indexer=replace(_INDEXER, pool=4)), replace(_LATENT, indexer=replace(_INDEXER, shared=True)),
    _COMPRESSED, replace(_COMPRESSED, ratio=128, indexer=None), replace(_COMPRESSED, ratio=0, indexer=None),
    BlockSparseAttention(attention=_ATTENTION, index_heads=2, index_head_dim=16, block=16, blocks=4),
    Mamba(hidden=64, inner=128, state_size=16, kernel=4, time_rank=4),
    Mamba(hidden=64, inner=128, state_size=16, kernel=4, time_rank=4, projection_bias=True, fp32_state=True),
    _MAMBA2, replace(_MAMBA2, projection_bias=True, out_bias=True, conv_bias=False, norm=False, fp32_state=True),
    GatedDelta(hidden=64, key_heads=2, value_heads=4, key_dim=16, value_dim=16, kernel=4),
    KimiDelta(hidden=64, heads=4, head_dim=16, kernel=4, full_rank_gate=True),
    KimiDelta(hidden=64, heads=4, head_dim=16, kernel=4, fp32_state=False),
    Lightning(hidden=64, heads=4, head_dim=16), ParallelMixers(mixers=(_ATTENTION, _MAMBA2)),
)


@pytest.mark.parametrize("mixer", _MIXERS, ids=lambda mixer: mixer.label)
def test_a_mixer_describes_itself_whole(mixer: Mixer) -> None:
    caches, state = mixer.caches(), mixer.state()
    assert mixer.label
    assert mixer.vectors() >= 0
    for core in mixer.cores():
        assert core.heads > 0
        assert core.cache is None or core.cache in caches
        assert core.state is None or core.state == state
        assert core.decode_flop > 0 or core.token_flop > 0
    assert len({hash(matrix) for matrix in mixer.matrices()}) == len(mixer.matrices())


@pytest.mark.parametrize("model_id", _IDS)
def test_matrices_can_be_cut(model_id: str) -> None:
    for _, layer in built_in_models().model(model_id).layers:
        for matrix in layer.matrices():
            cut = {Shard.COLUMN: matrix.outputs, Shard.ROW: matrix.inputs, Shard.REPLICATED: 1}[matrix.shard]
            assert matrix.inputs > 0
            assert matrix.outputs > 0
            assert cut % matrix.units == 0, matrix
            assert matrix.kernel


@pytest.mark.parametrize("model_id", _IDS)
def test_nearly_every_active_parameter_is_in_a_matrix(model_id: str) -> None:
    # So operators lowered from matrices cost two FLOP per active parameter.
    model = built_in_models().model(model_id)
    counts = count_parameters(model)
    elements = sum(matrix.elements for matrix in model.extra_matrices)
    for count, layer in model.layers:
        elements += count * sum(matrix.elements for matrix in layer.matrices())
        elements += sum(count * part.experts_per_token * part.expert_elements for part in layer.mixtures)
    width = model.hidden if model.embedding_width is None else model.embedding_width
    body = counts.active - counts.modules[Module.EMBEDDING] - counts.head - model.head_biases
    unused = sum(count * layer.unused_parameters for count, layer in model.layers)
    assert width > 0
    assert elements <= body - unused <= elements * 1.02 + 10_000 * model.layer_count


@pytest.mark.parametrize("model_id", _IDS)
def test_cache_grows_with_context_and_never_shrinks(model_id: str) -> None:
    model = built_in_models().model(model_id)
    sizes = [cache_bytes(model, tokens, 2.0) for tokens in (0, 1, 100, 10_000, 1_000_000)]
    assert sizes == sorted(sizes)
    slope = (cache_bytes(model, 3e6, 2.0) - cache_bytes(model, 2e6, 2.0)) / 1e6
    assert slope == pytest.approx(bytes_per_token(model, 2.0), rel=1e-9)
    assert first_bytes_per_token(model, 2.0) >= bytes_per_token(model, 2.0)
    assert expanded_elements_per_token(model) >= 0


def test_grouped_query_attention_by_hand() -> None:
    names = {matrix.name: (matrix.inputs, matrix.outputs) for matrix in _ATTENTION.matrices()}
    assert names == {"q": (64, 128), "k": (64, 32), "v": (64, 32), "o": (128, 64)}
    (cache,) = _ATTENTION.caches()
    assert (cache.heads, cache.elements_per_head) == (2, 32)
    (core,) = _ATTENTION.cores()
    assert core.decode_flop == 4 * 16
    assert _ATTENTION.label == "GQA"
    assert replace(_ATTENTION, kv_heads=1).label == "MQA"
    assert replace(_ATTENTION, kv_heads=8, window=32).label == "MHA, window 32"
    assert replace(_ATTENTION, window=32, chunked=True).label == "GQA, chunk 32"


def test_values_taken_from_keys_need_no_matrix_but_are_cached() -> None:
    shared = replace(_ATTENTION, value_from_key=True)
    assert [matrix.name for matrix in shared.matrices()] == ["q", "k", "o"]
    assert shared.caches()[0].elements_per_head == 32


def test_a_reusing_layer_stores_nothing_and_still_reads() -> None:
    reusing = replace(_ATTENTION, reuses_cache=True)
    layer = Layer(mixer=reusing)
    model = Model(id="x", hidden=64, vocabulary=10, layers=((3, layer),), tied_embeddings=True)
    assert elements_per_token(model) == 0
    assert not list(stored_caches(model))
    assert reusing.cores()[0].cache is not None


def test_latent_attention_by_hand() -> None:
    (cache,) = _LATENT.caches()
    assert (cache.heads, cache.elements_per_head, cache.fp8_bytes_per_entry) == (1, 40, None)
    (core,) = _LATENT.cores()
    assert core.decode_flop == 2 * (2 * 32 + 8)
    assert core.prefill_flop == 2 * (16 + 8 + 12)
    assert _LATENT.expanded_elements == 4 * (16 + 8 + 12)
    assert _LATENT.label == "MLA"


def test_packed_sparse_latent_is_656_bytes() -> None:
    # 512 fp8 elements, four fp32 scales, 64 rotary elements in 16 bit (vLLM's packed sparse cache).
    model = built_in_models().model("deepseek-ai/deepseek-v3.2")
    assert bytes_per_token(model, 1.0) == 61 * (656 + 132)
    assert bytes_per_token(model, 2.0) == 61 * (1152 + 132)


def test_shared_indexers_keep_no_keys() -> None:
    own, shared = built_in_models().model("zai-org/glm-5.1"), built_in_models().model("zai-org/glm-5.2")
    assert bytes_per_token(own, 2.0) == 78 * (1152 + 132)
    assert bytes_per_token(shared, 2.0) == 78 * 1152 + 21 * 132


def test_pooled_index_keys_are_fewer() -> None:
    pooled = replace(_LATENT, indexer=replace(_INDEXER, pool=4))
    assert pooled.caches()[1].stride == 4
    assert pooled.vectors() - replace(_LATENT, indexer=_INDEXER).vectors() == 4 * 16


def test_compressed_attention_by_hand() -> None:
    window, pooled, keys = _COMPRESSED.caches()
    assert (window.window, pooled.stride, keys.stride) == (128, 4, 4)
    assert window.elements_per_head == pooled.elements_per_head == 32
    assert keys.fixed_bytes_per_token == 16 + 4
    # Full-size entries pack 448 fp8 elements, 64 in 16 bit, seven scales and a pad into 584 bytes.
    flash = built_in_models().model("deepseek-ai/deepseek-v4-flash")
    assert bytes_per_token(flash, 1.0) == 21 * (584 + 132) / 4 + 20 * 584 / 128
    state = _COMPRESSED.state()
    assert state is not None
    assert state.touched == 0.25
    assert replace(_COMPRESSED, ratio=0, indexer=None).state() is None


def test_block_sparse_reads_only_its_blocks() -> None:
    sparse = BlockSparseAttention(attention=_ATTENTION, index_heads=2, index_head_dim=16, block=16, blocks=4)
    main, index = sparse.cores()
    assert main.attends == 64
    assert index.attends is None
    assert sparse.caches()[1].entry_bytes(1.0) == 32


def test_states_by_hand() -> None:
    assert _MAMBA2.state() is not None
    assert _MAMBA2.state().model_elements == 8 * 16 * 32 + (128 + 2 * 2 * 32) * 3  # type: ignore[union-attr] # it has one
    delta = GatedDelta(hidden=64, key_heads=2, value_heads=4, key_dim=16, value_dim=16, kernel=4)
    assert (delta.state().fp32_elements, delta.state().model_elements) == (4 * 256, (64 + 64) * 3)
    light = Lightning(hidden=64, heads=4, head_dim=16, fp32_state=False)
    assert (light.state().fp32_elements, light.state().model_elements) == (0, 4 * 256)
    plain_delta = replace(delta, fp32_state=False).state()
    assert (plain_delta.fp32_elements, plain_delta.model_elements) == (0, 4 * 256 + 128 * 3)
    model = built_in_models().model("qwen/qwen3-next-80b-a3b-instruct")
    assert state_bytes(model, 2.0) == 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)
    assert sum(count for count, _ in states(model)) == 36


def test_entry_bytes_follow_the_format() -> None:
    cache = KvCache(heads=1, elements_per_head=10, fixed_bytes_per_token=3, fp8_bytes_per_entry=13)
    assert cache.entry_bytes(2.0) == 23
    assert cache.entry_bytes(1.0) == 16
    assert replace(cache, fp8_bytes_per_entry=None).entry_bytes(1.0) == 13


def test_mixture_counts_by_hand() -> None:
    expert = DenseFeedForward(hidden=64, intermediate=32, module=Module.EXPERTS, inputs=16, bias=True)
    shared = DenseFeedForward(hidden=64, intermediate=48, gated=False, module=Module.SHARED_EXPERTS)
    mixture = MixtureOfExperts(hidden=64, experts=8, experts_per_token=2, expert=expert, shared=shared,
                               shared_gate=True, router_biases=8, latent=16, extra_parameters=5, router_elements=600)
    assert mixture.expert_elements == 3 * 16 * 32 + 32 + 32 + 16
    layer = Layer(mixer=None, feedforwards=(mixture,), norm_parameters=64)
    matrices = 64 * 8 + 8 + 2 * 64 * 16 + 2 * 64 * 48 + 64
    extra = 5 + (600 - 64 * 8) + 64
    assert layer_parameters(layer) == matrices + extra + 8 * mixture.expert_elements
    model = Model(id="x", hidden=64, vocabulary=100, layers=((2, layer),), tied_embeddings=False, head_biases=100,
                  position_parameters=640, extra_parameters=64, embedding_width=32, extra_embedding_parameters=7,
                  extra_matrices=(Matrix(name="in", module=Module.OTHER, inputs=32, outputs=64,
                                         shard=Shard.REPLICATED),),
                  towers=(Tower(name="vision", kind="vision", parameters=9),))
    counts = count_parameters(model)
    assert counts.total == 2 * layer_parameters(layer) + 2 * 3200 + 100 + 640 + 64 + 7 + 32 * 64
    assert counts.active == counts.total - 2 * 6 * mixture.expert_elements
    assert counts.active_without_embedding == counts.active - 3200 - 640
    assert counts.active_without_embedding_and_head == counts.active - 6400 - 640 - 100
    assert counts.towers == {"vision": 9}


def test_scheme_falls_back_to_its_default() -> None:
    scheme = WeightScheme(default="bf16", overrides={Module.MLP: "fp8"})
    assert (scheme.of(Module.MLP), scheme.of(Module.HEAD)) == ("fp8", "bf16")
