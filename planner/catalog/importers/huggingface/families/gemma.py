"""Gemma 3n and Gemma 4: per-layer embeddings, shared key-value caches, different heads on global layers."""

from __future__ import annotations

from collections.abc import Mapping

from planner.catalog.importers.huggingface.blocks import (
    Draft,
    Shape,
    gated,
    mixture,
    replicated,
    runs,
    shape,
    windows,
)
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import FeedForward, Layer
from planner.core.architecture.parts import Matrix, Module


def _cached_layers(f: Fields, layers: int) -> int:
    """Layers that keep their own cache; the last ones read an earlier layer's."""
    shared = f.whole("num_kv_shared_layers", default=0)
    return layers - shared


def _per_layer_input(s: Shape, width: int) -> tuple[Matrix, ...]:
    """The block's gate into and projection out of its own embedding."""
    if not width:
        return ()
    return (replicated("layer_input_gate", Module.OTHER, s.hidden, width),
            replicated("layer_input_out", Module.OTHER, width, s.hidden))


def gemma3n(f: Fields, model_type: str) -> Draft:
    """Gemma 3n: four residual streams, a low-rank side path, per-layer embeddings."""
    del model_type
    s = shape(f, tied=True)
    sizes = windows(f, s, default=[bool((i + 1) % 5) for i in range(s.layers)])
    own = _cached_layers(f, s.layers)
    width = f.whole("hidden_size_per_layer_input")
    widths = f.per_layer(s.layers, "intermediate_size") if isinstance(f.raw("intermediate_size"), list | tuple) else (
        (f.whole("intermediate_size"),) * s.layers)
    streams, rank = f.whole("altup_num_inputs", default=4), f.whole("laurel_rank", default=64)
    f.understood("altup_active_idx", "altup_coef_clip", "altup_correct_scale", "activation_sparsity_pattern",
                 "final_logit_softcapping")
    extra = (*_per_layer_input(s, width),
             replicated("side_left", Module.OTHER, s.hidden, rank),
             replicated("side_right", Module.OTHER, rank, s.hidden),
             replicated("stream_router", Module.OTHER, s.hidden, streams),
             replicated("stream_correct", Module.OTHER, streams, streams),
             replicated("stream_predict", Module.OTHER, streams, streams * streams))
    # Norms: four of the block, the per-layer input's, the side path's, the stream router's; and the correction scale.
    weights = 8 * s.hidden
    # Checkpoints keep the key and value projections of layers that read another layer's cache.
    unused = 2 * s.hidden * s.kv_heads * s.head_dim + s.head_dim
    made: dict[object, Layer] = {}
    layers = []
    for i, (window, ffn) in enumerate(zip(sizes, widths or (), strict=True)):
        key = (window, ffn, i < own)
        if key not in made:
            made[key] = Layer(mixer=_attention(f, s, window, s.head_dim, s.kv_heads, reuses=i >= own),
                              feedforwards=(gated(s.hidden, Fields({"width": ffn}).whole("width")),),
                              norms=7, norm_parameters=weights, extra_matrices=extra,
                              unused_parameters=0 if i < own else unused)
        layers.append(made[key])
    outside = (replicated("layer_inputs", Module.OTHER, s.hidden, s.layers * width),
               *(replicated(f"stream_{side}_{i}", Module.OTHER, s.hidden, s.hidden)
                 for side in ("in", "out") for i in range(1, streams)))
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden + width, extra_matrices=outside,
                 extra_embedding_parameters=f.size("vocab_size_per_layer_input") * s.layers * width)


def _attention(f: Fields, s: Shape, window: int | None, head_dim: int, kv_heads: int, *, reuses: bool,
               value_from_key: bool = False) -> Attention:
    bias = f.flag("attention_bias")
    return Attention(hidden=s.hidden, heads=s.heads, kv_heads=kv_heads, head_dim=head_dim, window=window,
                     qkv_bias=bias, out_bias=bias, qk_norm_parameters=(1 if reuses else 2) * head_dim,
                     reuses_cache=reuses, value_from_key=value_from_key)


def gemma4(f: Fields, model_type: str) -> Draft:
    """Gemma 4: wider heads on global layers, whose values may come from the keys; dense or dense beside experts."""
    del model_type
    s = shape(f, tied=True)
    kinds = f.per_layer(s.layers, "layer_types")
    sizes = windows(f, s, default=[bool((i + 1) % 6) for i in range(s.layers)])
    glob = [kind != "sliding_attention" for kind in kinds or
            ["sliding_attention" if (i + 1) % 6 else "full_attention" for i in range(s.layers)]]
    own = _cached_layers(f, s.layers)
    width = f.whole("hidden_size_per_layer_input", default=0)
    parts = {double: _feedforwards(f, s, double=double) for double in (False, True)}
    double = f.flag("use_double_wide_mlp")
    f.understood("use_bidirectional_attention", "moe_intermediate_size", "num_experts", "top_k_experts",
                 "vocab_size_per_layer_input", "num_global_key_value_heads", "global_head_dim")
    moe = f.flag("enable_moe_block")
    norms = (7 if moe else 4) + (1 if width else 0)
    made: dict[object, Layer] = {}
    layers = []
    for i, (window, full) in enumerate(zip(sizes, glob, strict=True)):
        key = (window, full, i < own)
        if key not in made:
            made[key] = Layer(mixer=_gemma4_attention(f, s, window, full=full, reuses=i >= own),
                              feedforwards=parts[double and i >= own], norms=norms,
                              norm_parameters=norms * s.hidden + 1, extra_matrices=_per_layer_input(s, width))
        layers.append(made[key])
    outside = (replicated("layer_inputs", Module.OTHER, s.hidden, s.layers * width),) if width else ()
    tables = f.size("vocab_size_per_layer_input") * s.layers * width if width else 0
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden + width, extra_matrices=outside,
                 extra_embedding_parameters=tables,
                 parts={Module.EXPERTS: ("experts", "moe.experts", "experts.0.gate_proj")})


def _gemma4_attention(f: Fields, s: Shape, window: int | None, *, full: bool, reuses: bool) -> Attention:
    own = _override(f) if full else Fields({})
    head_dim = own.optional_size("head_dim") or (f.size("global_head_dim", default=s.head_dim) if full else s.head_dim)
    from_key = f.flag("attention_k_eq_v") and full
    kv_heads = own.optional_size("num_key_value_heads") or (
        f.size("num_global_key_value_heads", default=s.kv_heads) if from_key else s.kv_heads)
    return _attention(f, s, window, head_dim, kv_heads, reuses=reuses, value_from_key=from_key)


def _override(f: Fields) -> Fields:
    """What ``per_layer_config`` says of the global layers: the same for each of them."""
    listed = f.child("per_layer_config")
    if listed is None:
        return Fields({})
    entries = listed.values_of_all()
    if any(entry != entries[0] for entry in entries) or not isinstance(entries[0], Mapping):
        raise f.wrong("per_layer_config", "the same for all global layers", "several values")
    return Fields(entries[0], "/config/per_layer_config")


def _feedforwards(f: Fields, s: Shape, *, double: bool) -> tuple[FeedForward, ...]:
    dense: DenseFeedForward = gated(s.hidden, f.whole("intermediate_size") * (2 if double else 1))
    if not f.flag("enable_moe_block"):
        return (dense,)
    experts = f.whole("num_experts")
    # The router scales its input per channel and its choice per expert.
    part = mixture(s.hidden, experts, f.whole("top_k_experts"), f.whole("moe_intermediate_size"),
                   extra=s.hidden + experts)
    return (part, dense)
