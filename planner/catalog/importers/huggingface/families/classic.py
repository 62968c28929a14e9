"""Older decoders: learned or ALiBi positions, layer norms with shifts, plain MLPs, parallel blocks, biases."""

from __future__ import annotations

from planner.catalog.importers.huggingface.blocks import Draft, Shape, gated, plain, replicated, runs, shape
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import Layer
from planner.core.architecture.parts import Module


def _attention(s: Shape, *, qkv_bias: bool, out_bias: bool, qk_norm: int = 0, window: int | None = None) -> Attention:
    return Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim, qkv_bias=qkv_bias,
                     out_bias=out_bias, qk_norm_parameters=qk_norm, window=window)


def _layer(mixer: Attention, mlp: DenseFeedForward, *, norms: int, per_norm: int) -> Layer:
    return Layer(mixer=mixer, feedforwards=(mlp,), norms=norms, norm_parameters=norms * per_norm)


def _repeat(s: Shape, layer: Layer, final: int, *, positions: int = 0, embedding_width: int | None = None,
            head_biases: int = 0) -> Draft:
    return Draft(shape=s, layers=((s.layers, layer),), extra_parameters=final, position_parameters=positions,
                 embedding_width=embedding_width, head_biases=head_biases,
                 names=("transformer.h.{i}", "decoder.layers.{i}", "gpt_neox.layers.{i}", "layers.{i}"))


def gpt2(f: Fields, model_type: str) -> Draft:
    """GPT-2 and GPT-BigCode: learned positions, everything biased."""
    one_head = 1 if model_type == "gpt_bigcode" and f.flag("multi_query", default=True) else None
    f.understood("n_ctx", "multi_query", "inference_runner", "validate_runner_input", "pre_allocate_kv_cache",
                 "max_batch_size", "use_position_embedding")
    s = shape(f, tied=True, kv_heads=one_head)
    width = f.whole("n_inner", default=4 * s.hidden)
    layer = _layer(_attention(s, qkv_bias=True, out_bias=True), plain(s.hidden, width, bias=True), norms=2,
                   per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden, positions=f.whole("n_positions") * s.hidden)


def gpt_neo(f: Fields, model_type: str) -> Draft:
    """GPT-Neo: learned positions, every other layer local."""
    del model_type
    s = shape(f, tied=True)
    width = f.whole("intermediate_size", default=4 * s.hidden)
    size = f.whole("window_size", default=256)
    kinds = f.per_layer(s.layers, "attention_layers") or _neo_kinds(f, s.layers)
    mlp = plain(s.hidden, width, bias=True)
    made = {kind: _layer(_attention(s, qkv_bias=False, out_bias=True, window=size if kind == "local" else None), mlp,
                         norms=2, per_norm=2 * s.hidden) for kind in set(kinds)}
    f.understood("attention_types")
    return Draft(shape=s, layers=runs(made[kind] for kind in kinds), extra_parameters=2 * s.hidden,
                 position_parameters=f.whole("max_position_embeddings") * s.hidden, names=("transformer.h.{i}",))


def _neo_kinds(f: Fields, layers: int) -> tuple[object, ...]:
    """Layer kinds from ``attention_types``: [[[pattern], repeats], …]."""
    kinds: list[object] = []
    for entry in f.items("attention_types") or ():
        if not (isinstance(entry, list | tuple) and len(entry) == 2 and isinstance(entry[0], list | tuple)):
            raise f.wrong("attention_types", "pairs of a pattern and its repeats", entry)
        kinds += list(entry[0]) * min(int(entry[1]), layers)
    return tuple(kinds[:layers]) if len(kinds) >= layers else ("global",) * layers


def gpt_neox(f: Fields, model_type: str) -> Draft:
    """GPT-NeoX and Pythia: parallel blocks with two norms."""
    del model_type
    s = shape(f, tied=False)
    bias = f.flag("attention_bias", default=True)
    f.understood("use_parallel_residual")
    layer = _layer(_attention(s, qkv_bias=bias, out_bias=bias),
                   plain(s.hidden, f.whole("intermediate_size"), bias=True), norms=2, per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden)


def gptj(f: Fields, model_type: str) -> Draft:
    """GPT-J and CodeGen: one norm for a parallel block, a biased head."""
    del model_type
    s = shape(f, tied=False)
    layer = _layer(_attention(s, qkv_bias=False, out_bias=False),
                   plain(s.hidden, f.whole("n_inner", default=4 * s.hidden), bias=True), norms=1, per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden, head_biases=s.vocabulary)


def opt(f: Fields, model_type: str) -> Draft:
    """OPT: learned positions offset by two, an optional narrower embedding."""
    del model_type
    s = shape(f, tied=True)
    bias = f.flag("enable_bias", default=True)
    norm = 2 * s.hidden if f.flag("layer_norm_elementwise_affine", default=True) else 0
    final = norm if f.flag("do_layer_norm_before", default=True) and not f.flag("_remove_final_layer_norm") else 0
    layer = _layer(_attention(s, qkv_bias=bias, out_bias=bias), plain(s.hidden, f.whole("ffn_dim"), bias=bias),
                   norms=2, per_norm=norm)
    width = f.size("word_embed_proj_dim", default=s.hidden)
    f.understood("layerdrop", "max_position_embeddings")
    draft = _repeat(s, layer, final, positions=(f.whole("max_position_embeddings", default=2048) + 2) * s.hidden,
                    embedding_width=width)
    if width == s.hidden:
        return draft
    projections = (replicated("project_in", Module.OTHER, width, s.hidden),
                   replicated("project_out", Module.OTHER, s.hidden, width))
    return Draft(shape=s, layers=draft.layers, extra_parameters=final, extra_matrices=projections,
                 position_parameters=draft.position_parameters, embedding_width=width, names=draft.names)


def bloom(f: Fields, model_type: str) -> Draft:
    """BLOOM: ALiBi, a norm on the embedding, everything biased."""
    del model_type
    s = shape(f, tied=True)
    f.understood("apply_residual_connection_post_layernorm", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv",
                 "unk_token_id", "masked_softmax_fusion")
    layer = _layer(_attention(s, qkv_bias=True, out_bias=True),
                   plain(s.hidden, f.whole("n_inner", default=4 * s.hidden), bias=True), norms=2, per_norm=2 * s.hidden)
    return _repeat(s, layer, 4 * s.hidden)


def mpt(f: Fields, model_type: str) -> Draft:
    """MPT: ALiBi, norms without shift, no biases."""
    del model_type
    attention = f.child("attn_config") or Fields({})
    one_head = 1 if attention.text("attn_type", default="multihead_attention") == "multiquery_attention" else None
    s = shape(f, tied=True, kv_heads=attention.optional_size("kv_n_heads") or one_head)
    attention.understood("attn_impl", "attn_uses_sequence_id", "prefix_lm", "attn_pdrop", "qk_gn", "rope", "type",
                         "model_type")
    f.understood("resid_pdrop", "emb_pdrop", "init_device", "init_config", "norm_type", "ffn_config", "fc_type",
                 "embedding_fraction", "resid_drop", "emb_drop")
    f.must_be("norm_type", "low_precision_layernorm", "layernorm", "low_precision_layer_norm")
    bias = not f.flag("no_bias", default=True)
    learned = f.flag("learned_pos_emb", default=True) and not attention.flag("alibi", default=True)
    norm = s.hidden * (2 if bias else 1)
    qk = (s.heads + s.kv_heads) * s.head_dim if attention.flag("qk_ln") else 0
    width = int(f.number("expansion_ratio", default=4) * s.hidden)
    layer = _layer(_attention(s, qkv_bias=bias, out_bias=bias, qk_norm=qk), plain(s.hidden, width, bias=bias), norms=2,
                   per_norm=norm)
    return _repeat(s, layer, norm, positions=(s.context or 0) * s.hidden if learned else 0)


def falcon(f: Fields, model_type: str) -> Draft:
    """Falcon: parallel blocks, one or two norms, one key-value head or groups."""
    del model_type
    new = f.flag("new_decoder_architecture")
    one_head = 1 if f.flag("multi_query", default=True) and not new else None
    f.understood("num_kv_heads") if one_head else None
    s = shape(f, tied=True, kv_heads=None)
    if one_head:
        s = Shape(hidden=s.hidden, layers=s.layers, heads=s.heads, kv_heads=1, head_dim=s.head_dim,
                  vocabulary=s.vocabulary, tied=s.tied, context=s.context)
    parallel = f.flag("parallel_attn", default=True)
    norms = f.whole("num_ln_in_parallel_attn", default=2 if new else 1) if parallel else 2
    bias = f.flag("bias")
    f.understood("alibi", "apply_residual_connection_post_layernorm", "multi_query")
    layer = _layer(_attention(s, qkv_bias=bias, out_bias=bias),
                   plain(s.hidden, f.whole("ffn_hidden_size", default=4 * s.hidden), bias=bias), norms=norms,
                   per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden)


def phi(f: Fields, model_type: str) -> Draft:
    """Phi-1, 1.5 and 2: parallel blocks with one norm, a biased head."""
    del model_type
    s = shape(f, tied=False)
    f.understood("rotary_dim", "flash_rotary", "attn_pdrop")
    width = f.whole("intermediate_size", "n_inner", default=4 * s.hidden)
    qk = 4 * s.head_dim if f.flag("qk_layernorm") else 0
    layer = _layer(_attention(s, qkv_bias=True, out_bias=True, qk_norm=qk), plain(s.hidden, width, bias=True), norms=1,
                   per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden, head_biases=s.vocabulary)


def stablelm(f: Fields, model_type: str) -> Draft:
    """StableLM: gated MLP under layer norms with shift, optional per-head norms."""
    del model_type
    s = shape(f, tied=False)
    parallel = f.flag("use_parallel_residual")
    qk = (s.heads + s.kv_heads) * s.head_dim if f.flag("qk_layernorm") else 0
    layer = _layer(_attention(s, qkv_bias=f.flag("use_qkv_bias"), out_bias=False, qk_norm=qk),
                   gated(s.hidden, f.whole("intermediate_size")), norms=1 if parallel else 2, per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden)


def persimmon(f: Fields, model_type: str) -> Draft:
    """Persimmon and Fuyu: everything biased, squared ReLU, layer norms on queries and keys."""
    del model_type
    s = shape(f, tied=False)
    qk = 4 * s.head_dim if f.flag("qk_layernorm", default=True) else 0
    layer = _layer(_attention(s, qkv_bias=True, out_bias=True, qk_norm=qk),
                   plain(s.hidden, f.whole("intermediate_size"), bias=True), norms=2, per_norm=2 * s.hidden)
    return _repeat(s, layer, 2 * s.hidden)


def qwen(f: Fields, model_type: str) -> Draft:
    """Qwen-1: biased q, k, v and an MLP whose declared width counts gate and up together."""
    del model_type
    s = shape(f, tied=False)
    f.must_be("no_bias", True)
    layer = _layer(_attention(s, qkv_bias=True, out_bias=False), gated(s.hidden, f.whole("intermediate_size") // 2),
                   norms=2, per_norm=s.hidden)
    return _repeat(s, layer, s.hidden)


def chatglm(f: Fields, model_type: str) -> Draft:
    """ChatGLM2, ChatGLM3 and GLM-4-9B: multi-query groups, biased q, k, v."""
    del model_type
    f.must_be("position_encoding_2d", False)
    f.must_be("rmsnorm", True)
    groups = f.size("multi_query_group_num", default=1) if f.flag("multi_query_attention") else None
    s = shape(f, tied=False, kv_heads=groups)
    bias = f.flag("add_bias_linear")
    f.understood("post_layer_norm", "apply_query_key_layer_scaling", "apply_residual_connection_post_layernorm",
                 "vocab_size", "pre_seq_len", "prefix_projection", "interleaved_qkv", "rope_ratio",
                 "multi_query_group_num")
    final = s.hidden if f.flag("post_layer_norm", default=True) else 0
    layer = _layer(_attention(s, qkv_bias=f.flag("add_qkv_bias") or bias, out_bias=bias),
                   gated(s.hidden, f.whole("ffn_hidden_size"), bias=bias), norms=2, per_norm=s.hidden)
    return Draft(shape=s, layers=((s.layers, layer),), extra_parameters=final,
                 names=("transformer.encoder.layers.{i}",))
