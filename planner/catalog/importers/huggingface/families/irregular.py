"""Models whose layers differ one by one: searched architectures, MiniMax-M3, Step-3.5, MiMo and others."""

from __future__ import annotations

from planner.catalog.importers.huggingface.blocks import (
    Draft,
    Shape,
    bounded,
    draft_modules,
    gated,
    mixture,
    replicated,
    runs,
    shape,
)
from planner.catalog.importers.huggingface.families.dense import Traits, decoder
from planner.catalog.importers.huggingface.families.mixtures import chosen_of, experts_of, sparse_pattern
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.block_sparse import BlockSparseAttention
from planner.core.architecture.cross import CrossAttention
from planner.core.architecture.layer import FeedForward, Layer, Mixer
from planner.core.architecture.model import Tower
from planner.core.architecture.parts import Module
from planner.core.errors import MissingFact

_MLLAMA_TOKENS = 6404  # four tiles of 560 / 14 squared patches and a class token (Llama 3.2 Vision)


def nemotron_nas(f: Fields, model_type: str) -> Draft:
    """Nemotron-Super and other searched Llamas: every block lists its own groups and width, or drops a part."""
    del model_type
    blocks = f.items("block_configs")
    s = shape(f, tied=False)
    if blocks is None or len(blocks) != s.layers:
        raise MissingFact("block_configs must list every layer.", fact="block_configs",
                          pointer="/config/block_configs")
    f.understood("num_key_value_heads", "intermediate_size")
    made: dict[str, Layer] = {}
    layers = []
    for i, block in enumerate(blocks):
        key = repr(block)
        if key not in made:
            made[key] = _nas_block(f, s, block, f"/config/block_configs/{i}")
        layers.append(made[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden)


def _nas_block(f: Fields, s: Shape, block: object, pointer: str) -> Layer:
    if not isinstance(block, dict):
        raise f.wrong("block_configs", "a list of objects", block)
    parts = Fields(block, pointer)
    attention, ffn = parts.child("attention") or Fields({}), parts.child("ffn") or Fields({})
    attention.understood("num_sink_tokens", "unshifted_sink", "use_prefill_window_in_sink_attention", "sparsify")
    ffn.understood("sparsify")
    extra = []
    mixer: Mixer | None = None
    if attention.flag("replace_with_linear"):
        extra.append(replicated("attention_linear", Module.ATTENTION, s.hidden, s.hidden))
    elif not attention.flag("no_op"):
        group = attention.whole("n_heads_in_group")
        mixer = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.heads // group, head_dim=s.head_dim,
                          window=attention.optional("window_length"), qkv_bias=f.flag("attention_bias"),
                          out_bias=f.flag("attention_bias"))
    feedforwards: tuple[FeedForward, ...] = ()
    if ffn.flag("replace_with_linear"):
        extra.append(replicated("mlp_linear", Module.MLP, s.hidden, s.hidden))
    elif not ffn.flag("no_op"):
        feedforwards = (gated(s.hidden, _nas_width(s.hidden, ffn.number("ffn_mult", default=1.0))),)
    norms = (0 if attention.flag("no_op") else 1) + (0 if ffn.flag("no_op") else 1)
    unknown = parts.unknown()
    if unknown:
        raise MissingFact(f"Block field {unknown[0]} is not understood.", fact=unknown[0], pointer=unknown[0])
    return Layer(mixer=mixer, feedforwards=feedforwards, norms=norms, norm_parameters=norms * s.hidden,
                 extra_matrices=tuple(extra))


def _nas_width(hidden: int, multiple: float) -> int:
    """The width of a searched MLP: two thirds of ``multiple`` × hidden, rounded up to a multiple of 256."""
    return -(-int(2 * multiple * hidden / 3) // 256) * 256


def minimax_m3(f: Fields, model_type: str) -> Draft:
    """MiniMax-M3: dense first layers, then experts and block-sparse attention."""
    del model_type
    s = shape(f, tied=False)
    base = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                     output_gate=f.flag("attention_output_gate"), qk_norm_parameters=2 * s.head_dim)
    flags, selective = _m3_sparse(f, s.layers, base)
    mixers: list[Mixer] = [base] if selective is None else [base, selective]
    f.must_be("qk_norm_type", "per_head")
    f.understood("num_mtp_modules", "num_nextn_predict_layers", "use_qk_norm", "moe_intermediate_size")
    experts, width = experts_of(f), f.whole("moe_intermediate_size", "intermediate_size")
    shared = f.whole("n_shared_experts", default=1) * f.whole("shared_intermediate_size", default=width)
    part = mixture(s.hidden, experts, chosen_of(f), width, shared=shared,
                   router_biases=experts if f.flag("use_routing_bias", default=True) else 0)
    dense = gated(s.hidden, f.whole("dense_intermediate_size", "intermediate_size"))
    moe = sparse_pattern(f, s.layers)
    made = {(flag, wide): Layer(mixer=mixers[flag], feedforwards=(part if wide else dense,),
                                norm_parameters=2 * s.hidden) for flag in range(len(mixers)) for wide in (False, True)}
    f.understood("intermediate_size", "first_k_dense_replace")
    layers = runs(made[1 if flags[i] else 0, moe[i]] for i in range(s.layers))
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden)


def _m3_sparse(f: Fields, layers: int, base: Attention) -> tuple[tuple[bool, ...], BlockSparseAttention | None]:
    """Which layers select key blocks, and how: from a nested object or from flat fields."""
    kinds = f.per_layer(layers, "layer_types")
    sparse = f.child("sparse_attention_config")
    if sparse is None or not sparse.flag("use_sparse_attention", default=True):
        sparse = Fields({"sparse_num_index_heads": f.raw("index_n_heads"), "sparse_index_dim": f.raw("index_head_dim"),
                         "sparse_block_size": f.raw("index_block_size"),
                         "sparse_topk_blocks": f.raw("index_topk_blocks"),
                         "sparse_attention_freq": [int(kind != "full_attention") for kind in kinds or ()] or None})
        f.understood("index_local_blocks")
    flags = sparse.per_layer(layers, "sparse_attention_freq") or ()
    if not any(flags):
        return (False,) * layers, None
    without_values = sparse.per_layer(layers, "sparse_disable_index_value") or flags
    if any(flag and not off for flag, off in zip(flags, without_values, strict=True)):
        raise MissingFact("Sparse layers with index values are not modelled.", fact="sparse_disable_index_value",
                          pointer="/config/sparse_attention_config/sparse_disable_index_value")
    sparse.understood("sparse_score_type", "sparse_init_block", "sparse_local_block")
    return tuple(bool(flag) for flag in flags), BlockSparseAttention(
        attention=base, index_heads=sparse.whole("sparse_num_index_heads"), blocks=sparse.size("sparse_topk_blocks"),
        index_head_dim=sparse.whole("sparse_index_dim"), block=sparse.size("sparse_block_size"))


def mimo(f: Fields, model_type: str) -> Draft:
    """MiMo-7B: Qwen2 blocks and one draft module."""
    del model_type
    draft = decoder(f, Traits(qkv_bias=True))
    count = f.whole("num_nextn_predict_layers", default=0)
    return Draft(shape=draft.shape, layers=draft.layers, extra_parameters=draft.extra_parameters,
                 towers=draft_modules(count, draft.shape.hidden, draft.layers[-1][1]))


def step3p5(f: Fields, model_type: str) -> Draft:
    """Step-3.5: more heads on windowed layers, a gate per head, experts beside a shared one."""
    del model_type
    s = shape(f, tied=False, kv_heads=f.optional_size("num_attention_groups"))
    kinds = f.per_layer(s.layers, "layer_types") or ("full_attention",) * s.layers
    other = f.child("attention_other_setting") or Fields({})
    other.understood("attention_type", "head_dim", "true_head_dim")
    local_heads = f.optional_size("num_sliding_attention_heads") or other.whole("num_attention_heads", default=s.heads)
    local_kv = other.size("num_attention_groups", default=s.kv_heads)
    size = bounded(f.optional("sliding_window"), s.context)
    f.understood("moe_layers_enum", "num_nextn_predict_layers", "num_attention_groups", "use_head_wise_attn_gate",
                 "use_moe_router_bias", "need_fp32_gate", "moe_router_scaling_factor", "use_moe", "use_rope_layers",
                 "yarn_only_types", "norm_expert_weight", "zero_centered", "sink", "max_seq_len", "att_impl_type",
                 "moe_every_n_layer", "n_shared_experts", "first_k_dense_replace", "mtp_layer_types",
                 "mtp_mlp_layer_types", "share_expert_dims")
    gate = f.flag("use_head_wise_attn_gate", default=True)
    experts = experts_of(f)
    part = mixture(s.hidden, experts, chosen_of(f), f.whole("moe_intermediate_size"), router_biases=experts,
                   shared=f.whole("share_expert_dim", "share_expert_dims"))
    dense = gated(s.hidden, f.whole("intermediate_size"))
    moe = _step_sparse(f, s.layers)
    made: dict[object, Layer] = {}
    layers = []
    for i, kind in enumerate(kinds):
        key = (kind, moe[i])
        local = kind == "sliding_attention"
        if key not in made:
            mixer = Attention(hidden=s.hidden, heads=local_heads if local else s.heads,
                              kv_heads=local_kv if local else s.kv_heads, head_dim=s.head_dim,
                              window=size if local else None, head_gate=gate, qk_norm_parameters=2 * s.head_dim)
            made[key] = Layer(mixer=mixer, feedforwards=(part if moe[i] else dense,), norm_parameters=2 * s.hidden)
        layers.append(made[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden,
                 towers=_step_drafts(f, s, local_heads, local_kv, gate=gate))


def _step_drafts(f: Fields, s: Shape, heads: int, kv_heads: int, *, gate: bool) -> tuple[Tower, ...]:
    """Draft modules of Step-3.5: a windowed layer with a dense MLP and an output matrix of its own each."""
    count = f.whole("num_nextn_predict_layers", default=0)
    mixer = Attention(hidden=s.hidden, heads=heads, kv_heads=kv_heads, head_dim=s.head_dim, head_gate=gate,
                      qk_norm_parameters=2 * s.head_dim)
    layer = Layer(mixer=mixer, feedforwards=(gated(s.hidden, f.whole("intermediate_size")),),
                  norm_parameters=2 * s.hidden + s.vocabulary * s.hidden)
    return draft_modules(count, s.hidden, layer)


def _step_sparse(f: Fields, layers: int) -> tuple[bool, ...]:
    listed = f.raw("moe_layers_enum")
    if f.has("mlp_layer_types"):
        return sparse_pattern(f, layers)
    if isinstance(listed, str):
        chosen = {int(part) for part in listed.split(",") if part.strip().isdigit()}
    elif isinstance(listed, list | tuple):
        chosen = {int(str(part)) for part in listed}
    else:
        chosen = set(range(f.whole("first_k_dense_replace", default=3), layers))
    return tuple(i in chosen for i in range(layers))


def mimo_v2(f: Fields, model_type: str) -> Draft:
    """MiMo-V2-Flash: narrow windowed layers with sinks and their own heads, values narrower than keys, experts."""
    del model_type
    s = shape(f, tied=False)
    kinds = f.per_layer(s.layers, "layer_types")
    hybrid = f.per_layer(s.layers, "hybrid_layer_pattern") or tuple(
        int(kind == "sliding_attention") for kind in kinds or ()) or (0,) * s.layers
    experts = experts_of(f)
    part = mixture(s.hidden, experts, chosen_of(f), f.whole("moe_intermediate_size"), router_biases=experts,
                   shared=f.whole("n_shared_experts", default=0) * f.whole("moe_intermediate_size"))
    dense = gated(s.hidden, f.whole("intermediate_size"))
    moe = sparse_pattern(f, s.layers)
    bias = f.flag("attention_bias")
    sinks = (f.flag("add_full_attention_sink_bias"), f.flag("add_swa_attention_sink_bias", default=True))
    f.understood("attention_value_scale", "attention_chunk_size", "sliding_window_size", "hybrid_block_size",
                 "swa_rope_theta", "num_nextn_predict_layers", "first_k_dense_replace")
    forms = [
        Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                  value_head_dim=f.optional_size("v_head_dim"), qkv_bias=bias, sinks=sinks[0]),
        Attention(hidden=s.hidden, heads=f.whole("swa_num_attention_heads", default=s.heads),
                  kv_heads=f.whole("swa_num_key_value_heads", default=s.kv_heads),
                  head_dim=f.whole("swa_head_dim", default=s.head_dim),
                  value_head_dim=f.optional_size("swa_v_head_dim", "v_head_dim"),
                  window=f.optional("sliding_window", "sliding_window_size"), qkv_bias=bias, sinks=sinks[1]),
    ]
    made = {(local, wide): Layer(mixer=forms[local], feedforwards=(part if wide else dense,),
                                 norm_parameters=2 * s.hidden) for local in (0, 1) for wide in (False, True)}
    layers = runs(made[1 if hybrid[i] else 0, moe[i]] for i in range(s.layers))
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden)


def afmoe(f: Fields, model_type: str) -> Draft:
    """Trinity: gated attention with windows, four norms, dense first layers, experts."""
    del model_type
    s = shape(f, tied=False)
    experts = experts_of(f)
    first = f.whole("num_dense_layers", default=1)
    width = f.whole("moe_intermediate_size")
    part = mixture(s.hidden, experts, chosen_of(f), width, router_biases=experts,
                   shared=f.whole("num_shared_experts", default=0) * width)
    dense = gated(s.hidden, f.whole("intermediate_size"))
    every = f.whole("global_attn_every_n_layers", default=4)
    size = bounded(f.optional("sliding_window"), s.context)
    kinds = f.per_layer(s.layers, "layer_types") or tuple(
        "sliding_attention" if (i + 1) % every else "full_attention" for i in range(s.layers))
    made: dict[object, Layer] = {}
    layers = []
    for i, kind in enumerate(kinds):
        key = (kind, i < first)
        if key not in made:
            mixer = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                              window=size if kind == "sliding_attention" else None, output_gate=True,
                              qk_norm_parameters=2 * s.head_dim)
            made[key] = Layer(mixer=mixer, feedforwards=(dense if i < first else part,), norms=4,
                              norm_parameters=4 * s.hidden)
        layers.append(made[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden)


def mllama(f: Fields, model_type: str) -> Draft:
    """Llama 3.2 Vision: Llama with cross-attention layers to the image in between."""
    del model_type
    s = shape(f, tied=False)
    cross_at = {int(str(i)) for i in f.items("cross_attention_layers") or ()}
    mlp = (gated(s.hidden, f.whole("intermediate_size")),)
    own = Layer(mixer=Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim),
                feedforwards=mlp, norm_parameters=2 * s.hidden)
    crossing = Layer(mixer=CrossAttention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                                          tokens=_MLLAMA_TOKENS), feedforwards=mlp, norm_parameters=2 * s.hidden)
    layers = runs(crossing if i in cross_at else own for i in range(s.layers))
    # Eight rows of the embedding are for image tokens, which the head never produces.
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden, extra_embedding_parameters=8 * s.hidden)
