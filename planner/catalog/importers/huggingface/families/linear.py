"""Linear attention between full layers: Qwen3-Next and Qwen3.5, Kimi Linear and K3, MiniMax-Text-01 and M1."""

from __future__ import annotations

from planner.catalog.importers.huggingface.blocks import Draft, Shape, draft_modules, gated, mixture, runs, shape
from planner.catalog.importers.huggingface.families.dense import LLAMA, attention_of
from planner.catalog.importers.huggingface.families.latent import (
    indexers_of,
    latent_attention,
    latent_shape,
    stream_mixers,
    stream_weights,
)
from planner.catalog.importers.huggingface.families.mixtures import (
    Chooser,
    chosen_of,
    experts_of,
    fine_grained,
    qwen_chooser,
    sparse_pattern,
)
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.delta import GatedDelta, KimiDelta, Lightning
from planner.core.architecture.layer import Layer, Mixer
from planner.core.errors import MissingFact


def _repeat(s: Shape, mixers: dict[object, Mixer], kinds: tuple[object, ...], chooser: Chooser, norm: int
            ) -> tuple[Layer, ...]:
    """Layers from the mixer of each kind and the feed-forward of each position."""
    made: dict[object, Layer] = {}
    layers = []
    for i, kind in enumerate(kinds):
        if kind not in mixers:
            raise MissingFact(f"layer type {kind!r} is not modelled for this family.", fact="layer_types",
                              pointer="/config/layer_types")
        parts = chooser(i)
        if (kind, parts) not in made:
            made[kind, parts] = Layer(mixer=mixers[kind], feedforwards=parts, norm_parameters=norm)
        layers.append(made[kind, parts])
    if len(layers) != s.layers:
        raise MissingFact("The configuration does not describe every layer.", fact="layer_types",
                          pointer="/config/layer_types")
    return tuple(layers)


def qwen_next(f: Fields, model_type: str) -> Draft:
    """Qwen3-Next and Qwen3.5: three gated DeltaNet layers to one gated full-attention layer."""
    s = shape(f, tied=False)
    every = f.whole("full_attention_interval", default=4)
    kinds = f.per_layer(s.layers, "layer_types") or tuple(
        "linear_attention" if (i + 1) % every else "full_attention" for i in range(s.layers))
    f.must_be("attn_output_gate", True)
    f.understood("mtp_use_dedicated_embeddings", "output_gate_type", "mamba_ssm_dtype", "intermediate_size",
                 "linear_attn_type")
    bias = f.flag("attention_bias")
    full = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim, output_gate=True,
                     qkv_bias=bias, out_bias=bias, qk_norm_parameters=2 * s.head_dim)
    linear = GatedDelta(hidden=s.hidden, key_heads=f.whole("linear_num_key_heads", default=16),
                        value_heads=f.whole("linear_num_value_heads", default=32),
                        key_dim=f.whole("linear_key_head_dim", default=128),
                        value_dim=f.whole("linear_value_head_dim", default=128),
                        kernel=f.size("linear_conv_kernel_dim", default=4))
    if f.has("num_experts"):
        chooser = qwen_chooser(f, s)
    else:
        mlp = (gated(s.hidden, f.whole("intermediate_size")),)
        chooser = lambda _: mlp  # noqa: E731 - one expression, as the other chooser
    layers = _repeat(s, {"full_attention": full, "linear_attention": linear}, kinds, chooser, 2 * s.hidden)
    # Qwen3-Next checkpoints carry one draft module although the config has no field for it.
    count = f.whole("mtp_num_hidden_layers", default=1 if model_type == "qwen3_next" else 0)
    last = Layer(mixer=full, feedforwards=chooser(s.layers - 1), norm_parameters=2 * s.hidden)
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden, towers=draft_modules(count, s.hidden, last))


def kimi_linear(f: Fields, model_type: str) -> Draft:
    """Kimi Linear and Kimi K3: Kimi delta attention, every fourth layer latent attention without rotary positions."""
    del model_type
    s = latent_shape(f)
    linear = f.child("linear_attn_config") or Fields({
        "num_heads": f.raw("linear_num_heads"), "head_dim": f.raw("linear_head_dim"),
        "short_conv_kernel_size": f.raw("linear_conv_kernel_dim")})
    linear.understood("gate_lower_bound", "safe_gate")
    f.understood("mla_use_nope", "num_expert_group", "moe_router_activation_func", "rope_theta")
    kda = KimiDelta(hidden=s.hidden, heads=linear.whole("num_heads"), head_dim=linear.whole("head_dim"),
                    kernel=linear.size("short_conv_kernel_size", default=4),
                    full_rank_gate=linear.flag("use_full_rank_gate"))
    kinds = _kimi_kinds(f, linear, s.layers)
    mixers: dict[object, Mixer] = {"full": latent_attention(f, s), "kda": kda}
    # K3's residual scorers and latent norm are not counted: their shapes are unpublished (below 4 M of 2.78 T weights).
    f.understood("attn_res_block_size", "latent_moe_use_norm")
    layers = _repeat(s, mixers, kinds, _kimi_chooser(f, s), 2 * s.hidden)
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden,
                 towers=draft_modules(f.whole("num_nextn_predict_layers", default=0), s.hidden, layers[-1]))


def _kimi_kinds(f: Fields, linear: Fields, layers: int) -> tuple[object, ...]:
    """Which layers attend to everything: a list of kinds, or of positions counted from one."""
    linear.understood("kda_layers", "use_full_rank_gate")
    listed = f.per_layer(layers, "layer_types")
    if listed is not None:
        return tuple({"full_attention": "full", "linear_attention": "kda"}.get(str(kind), kind) for kind in listed)
    full = {int(str(i)) for i in linear.items("full_attn_layers") or ()}
    return tuple("full" if i + 1 in full else "kda" for i in range(layers))


def _kimi_chooser(f: Fields, s: Shape) -> Chooser:
    experts, width = experts_of(f), f.whole("moe_intermediate_size")
    latent = f.optional_size("routed_expert_hidden_size")
    part = (mixture(s.hidden, experts, chosen_of(f), width, latent=latent, router_biases=experts,
                    shared=f.whole("num_shared_experts", default=0) * width),)
    dense = (gated(s.hidden, f.whole("intermediate_size")),)
    sparse = sparse_pattern(f, s.layers)
    return lambda i: part if sparse[i] else dense


def glm5_next(f: Fields, model_type: str) -> Draft:
    """GLM-5.3-Flash: Kimi delta attention and pooled sparse latent attention between hyper-connected streams."""
    del model_type
    s = latent_shape(f)
    linear = f.child("linear_attn_config") or Fields({})
    linear.understood("gate_lower_bound", "safe_gate", "kda_layers", "full_attn_layers")
    kernel = linear.optional_size("short_conv_kernel_size") or f.size("linear_conv_kernel_dim", default=4)
    kda = KimiDelta(hidden=s.hidden, heads=linear.optional_size("num_heads") or f.whole("linear_num_heads"),
                    head_dim=linear.optional_size("head_dim") or f.whole("linear_head_dim"), kernel=kernel)
    f.understood("linear_num_heads", "linear_head_dim", "linear_conv_kernel_dim", "linear_lower_bound",
                 "index_kpool_always_select_tail", "hc_eps", "hc_sinkhorn_iters")
    kinds = f.per_layer(s.layers, "layer_types") or tuple(
        "full_attention" if i % 4 == 3 else "linear_attention" for i in range(s.layers))
    indexers = indexers_of(f, s.layers, pool=f.size("index_kpool", default=1))
    streams = f.whole("hc_mult", default=4)
    chooser = fine_grained(f, s, biased=True, first=3)
    made: dict[object, Layer] = {}
    layers = []
    for i, kind in enumerate(kinds):
        mixer = kda if kind == "linear_attention" else latent_attention(f, s, indexers[i])
        key = (mixer, chooser(i))
        if key not in made:
            made[key] = Layer(mixer=mixer, feedforwards=key[1], extra_matrices=stream_mixers(streams, s.hidden),
                              norm_parameters=2 * s.hidden + 2 * (stream_weights(streams) + 3))
        layers.append(made[key])
    count = f.whole("num_nextn_predict_layers", default=0)
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden,
                 towers=draft_modules(count, s.hidden, layers[-1]))


def minimax(f: Fields, model_type: str) -> Draft:
    """MiniMax-Text-01 and M1: seven lightning layers to one softmax layer, experts everywhere."""
    del model_type
    s = shape(f, tied=False)
    listed = f.per_layer(s.layers, "attn_type_list")
    kinds = f.per_layer(s.layers, "layer_types") if listed is None else tuple(
        "full_attention" if kind == 1 else "linear_attention" for kind in listed)
    if kinds is None:
        kinds = tuple("full_attention" if (i + 1) % 8 == 0 else "linear_attention" for i in range(s.layers))
    f.understood("postnorm", "layernorm_full_attention_alpha", "layernorm_full_attention_beta", "shared_moe_mode",
                 "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha",
                 "layernorm_mlp_beta", "shared_intermediate_size", "block_size", "attention_type",
                 "full_attn_alpha_factor", "full_attn_beta_factor", "linear_attn_alpha_factor",
                 "linear_attn_beta_factor", "mlp_alpha_factor", "mlp_beta_factor", "sliding_window", "layer_types")
    part = (mixture(s.hidden, experts_of(f), chosen_of(f), f.whole("intermediate_size"),
                    shared=f.whole("shared_intermediate_size", default=0)),)
    mixers: dict[object, Mixer] = {
        "full_attention": attention_of(f, s, LLAMA, None),
        "linear_attention": Lightning(hidden=s.hidden, heads=s.heads, head_dim=s.head_dim)}
    layers = _repeat(s, mixers, kinds, lambda _: part, 2 * s.hidden)
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden)
