"""Models whose head counts or widths are lists: Laguna and OpenELM."""

from __future__ import annotations

from planner.catalog.importers.huggingface.blocks import Draft, Shape, bounded, gated, layer_count, plain, runs, shape
from planner.catalog.importers.huggingface.families.mixtures import fine_grained
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.layer import Layer


def _numbers(f: Fields, layers: int, name: str) -> tuple[int, ...]:
    """A list of whole numbers, one per layer."""
    values = f.per_layer(layers, name)
    if values is None:
        return (f.whole(name),) * layers
    return tuple(Fields({name: value}).whole(name) for value in values)


def laguna(f: Fields, model_type: str) -> Draft:
    """Laguna: query heads per layer, a gate per head or per channel, windows, experts beside a shared one."""
    del model_type
    s = shape(f, tied=False)
    heads = _numbers(f, s.layers, "num_attention_heads_per_layer") if f.has("num_attention_heads_per_layer") else (
        (s.heads,) * s.layers)
    kinds = f.per_layer(s.layers, "layer_types") or ("full_attention",) * s.layers
    size = bounded(f.optional("sliding_window"), s.context)
    f.must_be("gating", True, "per-head", "per-channel", "per-dim")
    per_head = f.raw("gating") in (None, True, "per-head")
    f.understood("moe_routed_scaling_factor", "moe_apply_router_weight_on_input", "swa_attention_sink_enabled",
                 "moe_router_logit_softcapping")
    shared = {"n_shared_experts": 1, "moe_shared_expert_intermediate_size": f.raw("shared_expert_intermediate_size")}
    names = ("num_experts", "num_experts_per_tok", "moe_intermediate_size", "intermediate_size", "mlp_layer_types")
    chooser = fine_grained(Fields({**shared, **{name: f.raw(name) for name in names}}), s, biased=True)
    made: dict[object, Layer] = {}
    layers = []
    for i, (kind, count) in enumerate(zip(kinds, heads, strict=True)):
        key = (kind, count, chooser(i))
        if key not in made:
            mixer = Attention(hidden=s.hidden, heads=count, kv_heads=s.kv_heads, head_dim=s.head_dim,
                              window=size if kind == "sliding_attention" else None, qkv_bias=f.flag("attention_bias"),
                              out_bias=f.flag("attention_bias"), qk_norm_parameters=2 * s.head_dim,
                              head_gate=per_head, output_gate=not per_head)
            made[key] = Layer(mixer=mixer, feedforwards=key[2], norm_parameters=2 * s.hidden)
        layers.append(made[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden)


def openelm(f: Fields, model_type: str) -> Draft:
    """OpenELM: heads and MLP widths grow with depth."""
    del model_type
    hidden, layers = f.whole("model_dim"), f.whole("num_transformer_layers")
    heads, kv_heads = _numbers(f, layers, "num_query_heads"), _numbers(f, layers, "num_kv_heads")
    width, divisor = f.whole("head_dim"), f.size("ffn_dim_divisor", default=256)
    listed = f.per_layer(layers, "ffn_multipliers")
    multiples = (1.0,) * layers if listed is None else tuple(
        Fields({"ffn_multipliers": value}).number("ffn_multipliers", default=1.0) for value in listed)
    f.understood("num_gqa_groups", "qkv_multipliers", "rope_max_length", "rope_freq_constant", "activation_fn_name",
                 "normalization_layer_name", "max_context_length")
    norms = 2 * width if f.flag("normalize_qk_projections") else 0
    form = gated if f.flag("ffn_with_glu", default=True) else plain
    s = Shape(hidden=hidden, layers=layer_count(Fields({"num_hidden_layers": layers})), heads=heads[0],
              kv_heads=kv_heads[0], head_dim=width, vocabulary=f.whole("vocab_size"),
              tied=f.flag("share_input_output_layers", default=True), context=f.optional_size("max_context_length"))
    made = (Layer(mixer=Attention(hidden=hidden, heads=query, kv_heads=key, head_dim=width, qk_norm_parameters=norms),
                  feedforwards=(form(hidden, _divisible(multiple * hidden, divisor)),), norm_parameters=2 * hidden)
            for query, key, multiple in zip(heads, kv_heads, multiples, strict=True))
    return Draft(shape=s, layers=runs(made), extra_parameters=hidden, names=("transformer.layers.{i}",))


def _divisible(value: float, divisor: int) -> int:
    """The nearest multiple, one more where that loses a tenth."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded
