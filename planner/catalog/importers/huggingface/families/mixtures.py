"""Decoders whose MLP is a mixture of experts beside ordinary attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.catalog.importers.huggingface.blocks import (
    Draft,
    Shape,
    bounded,
    draft_modules,
    gated,
    mixture,
    runs,
    shape,
)
from planner.catalog.importers.huggingface.families.dense import LLAMA, Traits, attention_of, layer_windows
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.feedforward import DenseFeedForward
from planner.core.architecture.layer import FeedForward, Layer
from planner.core.architecture.model import Tower
from planner.core.architecture.parameters import layer_parameters

Chooser = Callable[[int], tuple[FeedForward, ...]]


def build(f: Fields, s: Shape, traits: Traits, chooser: Chooser, *, final: int | None = None) -> Draft:
    """A model from its attention traits and the feed-forwards of each layer."""
    sizes = layer_windows(f, s, traits)
    norm = traits.norm_weights * s.hidden
    cache: dict[tuple[int | None, tuple[FeedForward, ...]], Layer] = {}
    layers = []
    for i, window in enumerate(sizes):
        key = (window, chooser(i))
        if key not in cache:
            cache[key] = Layer(mixer=attention_of(f, s, traits, window), feedforwards=key[1], norms=traits.norms,
                               norm_parameters=traits.norms * norm + traits.layer_extra)
        layers.append(cache[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=norm if final is None else final)


def experts_of(f: Fields) -> int:
    """How many routed experts a layer has."""
    return f.whole("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts")


def chosen_of(f: Fields) -> int:
    """How many experts a token visits."""
    f.understood("experts_per_token")
    names = ("num_experts_per_tok", "moe_k", "moe_top_k", "moe_topk", "num_experts_per_token", "experts_per_token")
    value = f.raw(*names)
    if isinstance(value, list | tuple) and value and all(one == value[0] for one in value):
        return Fields({"moe_topk": value[0]}).whole("moe_topk")
    return f.whole(*names)


def every_layer(part: FeedForward) -> Chooser:
    """The same feed-forward everywhere."""
    return lambda _: (part,)


def mixtral(f: Fields, model_type: str) -> Draft:
    """Mixtral, OLMoE, Phi-MoE, Granite-MoE, MiniMax-M2, gpt-oss and Grok-1: experts in every layer."""
    traits = {
        "mixtral": Traits(slides=True), "olmoe": Traits(qk_norm="full"),
        "phimoe": Traits(norm_weights=2, slides=True), "granitemoe": LLAMA, "granitemoeshared": LLAMA,
        "granitemoe_swa": Traits(sinks=True),
        "minimax_m2": Traits(qk_norm="full"), "gpt_oss": Traits(period=2), "grok-1": Traits(tied=True, norms=4),
        "flex_olmo": Traits(qk_norm="full"),
    }[model_type]
    s = shape(f, tied=traits.tied)
    experts, chosen = experts_of(f), chosen_of(f)
    width = f.whole("moe_intermediate_size", "intermediate_size")
    f.understood("intermediate_size", "num_mtp_modules", "mtp_transformer_layers", "use_mtp", "qk_norm_type",
                 "attn_type_list")
    biases = experts if model_type == "minimax_m2" and f.flag("use_routing_bias", default=True) else 0
    shared = f.whole("shared_intermediate_size", default=0)
    part = mixture(s.hidden, experts, chosen, width, shared=shared, router_biases=biases)
    head = s.vocabulary if f.flag("lm_head_bias") else 0
    # Grok-2 runs a dense MLP beside the experts.
    parts = (part, gated(s.hidden, f.whole("intermediate_size"))) if f.flag("residual_moe") else (part,)
    draft = build(f, s, traits, lambda _: parts)
    return replace(draft, head_biases=head)


def gpt_oss(f: Fields, model_type: str) -> Draft:
    """gpt-oss: alternating windows, sinks, biases on router and experts."""
    del model_type
    s = shape(f, tied=False)
    experts = experts_of(f)
    bias = f.flag("attention_bias", default=True)
    f.understood("initial_context_length", "moe_intermediate_size")
    part = mixture(s.hidden, experts, chosen_of(f), f.whole("intermediate_size"), router_biases=experts, bias=True)
    sizes = layer_windows(f, s, Traits(period=2))
    if not f.has("layer_types"):
        sizes = tuple(bounded(f.optional("sliding_window"), s.context) if i % 2 == 0 else None for i in range(s.layers))
    made = {window: Layer(mixer=Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                                          window=window, qkv_bias=bias, out_bias=bias, sinks=True),
                          feedforwards=(part,), norm_parameters=2 * s.hidden) for window in set(sizes)}
    return Draft(shape=s, layers=runs(made[window] for window in sizes), extra_parameters=s.hidden)


def qwen_moe(f: Fields, model_type: str) -> Draft:
    """Qwen-MoE generations: sparse every n-th layer, in some a gated shared expert."""
    traits = Traits(qkv_bias=True) if model_type == "qwen2_moe" else Traits(qk_norm="head")
    s = shape(f, tied=False)
    return build(f, s, traits, qwen_chooser(f, s))


def qwen_chooser(f: Fields, s: Shape) -> Chooser:
    """Which layers are sparse after ``decoder_sparse_step`` and ``mlp_only_layers``."""
    step = f.size("decoder_sparse_step", default=1)
    dense_layers = set(f.items("mlp_only_layers") or ())
    shared = f.whole("shared_expert_intermediate_size", default=0)
    f.understood("qkv_bias")
    sparse = (mixture(s.hidden, experts_of(f), chosen_of(f), f.whole("moe_intermediate_size"), shared=shared,
                      shared_gate=bool(shared)),)
    width = f.optional("intermediate_size")
    dense = (gated(s.hidden, width or 1),)
    if width is None and (step != 1 or dense_layers):
        f.whole("intermediate_size")
    return lambda i: sparse if step and (i + 1) % step == 0 and i not in dense_layers else dense


def dbrx(f: Fields, model_type: str) -> Draft:
    """DBRX: sixteen experts, norms without shift."""
    del model_type
    attention, ffn = f.child("attn_config") or Fields({}), f.child("ffn_config") or Fields({})
    s = shape(f, tied=False, kv_heads=attention.size("kv_n_heads", default=1))
    attention.understood("attn_pdrop", "model_type", "clip_qkv", "rope_theta")
    ffn.understood("ffn_act_fn", "moe_jitter_eps", "moe_loss_weight", "moe_normalize_expert_weights",
                   "uniform_expert_assignment", "model_type")
    f.understood("resid_pdrop", "emb_pdrop")
    part = mixture(s.hidden, ffn.whole("moe_num_experts", default=4), ffn.whole("moe_top_k", default=1),
                   ffn.whole("ffn_hidden_size", default=3584))
    return build(f, s, Traits(qkv_bias=False), every_layer(part))


def arctic(f: Fields, model_type: str) -> Draft:
    """Arctic: a dense MLP as wide as the model in parallel with the experts."""
    del model_type
    s = shape(f, tied=False)
    parallel = f.flag("parallel_attn_mlp_res")
    period = f.whole("moe_layer_frequency", default=1)
    f.understood("enable_expert_tensor_parallelism", "use_residual", "moe_layer_frequency", "num_layers")
    width = f.whole("intermediate_size")
    experts = mixture(s.hidden, experts_of(f), chosen_of(f), width)
    sparse: tuple[FeedForward, ...] = (experts, gated(s.hidden, s.hidden)) if parallel else (experts,)
    made = [Layer(mixer=attention_of(f, s, LLAMA, None), feedforwards=part, norms=3 if wide else 2,
                  norm_parameters=(3 if wide else 2) * s.hidden)
            for part, wide in ((sparse, parallel), ((gated(s.hidden, width),), False))]
    layers = runs(made[0] if (i + 1) % period == 0 else made[1] for i in range(s.layers))
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden)


def llama4(f: Fields, model_type: str) -> Draft:
    """Llama 4: chunked layers with a full one every fourth, experts every n-th layer, one shared expert."""
    del model_type
    s = shape(f, tied=False)
    step = f.whole("interleave_moe_layer_step", default=1)
    listed = f.items("moe_layers")
    sparse_layers = set(listed) if listed is not None else {
        i for i in range(s.layers) if step and (i + 1) % step == 0}
    width = f.whole("intermediate_size")
    dense = gated(s.hidden, f.whole("intermediate_size_mlp", default=width))
    sparse = mixture(s.hidden, experts_of(f), chosen_of(f), width, shared=width) if sparse_layers else dense
    f.understood("num_local_experts", "num_experts_per_tok")
    bias, chunk = f.flag("attention_bias"), bounded(f.optional("attention_chunk_size"), s.context)
    f.understood("use_qk_norm")
    made: dict[tuple[bool, bool], Layer] = {}
    layers = []
    for i, local in enumerate(_rotary_layers(f, s.layers)):
        key = (local, i in sparse_layers)
        if key not in made:
            mixer = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim, qkv_bias=bias,
                              out_bias=bias, window=chunk if local else None, chunked=local and chunk is not None)
            made[key] = Layer(mixer=mixer, feedforwards=(sparse if key[1] else dense,), norm_parameters=2 * s.hidden)
        layers.append(made[key])
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden)


def _rotary_layers(f: Fields, layers: int) -> tuple[bool, ...]:
    """Which Llama 4 layers have rotary positions, and with them chunked attention."""
    kinds = f.per_layer(layers, "layer_types")
    if kinds is not None:
        f.understood("no_rope_layers", "no_rope_layer_interval")
        return tuple(kind == "chunked_attention" for kind in kinds)
    listed = f.per_layer(layers, "no_rope_layers")
    if listed is not None:
        return tuple(bool(flag) for flag in listed)
    every = f.whole("no_rope_layer_interval", default=4)
    return tuple(bool((i + 1) % every) for i in range(layers))


def ernie(f: Fields, model_type: str) -> Draft:
    """ERNIE 4.5: dense first layers, then experts with a correction bias."""
    del model_type
    s = shape(f, tied=True)
    experts, chosen = experts_of(f), chosen_of(f)
    width = f.whole("moe_intermediate_size")
    first = f.whole("moe_layer_start_index", default=0)
    last = f.optional("moe_layer_end_index")
    step = f.whole("moe_layer_interval", default=1)
    f.understood("moe_use_aux_free", "moe_gate")
    sparse = (mixture(s.hidden, experts, chosen, width, shared=f.whole("moe_num_shared_experts", default=0) * width,
                      router_biases=experts),)
    dense = (gated(s.hidden, f.whole("intermediate_size"), bias=f.flag("use_bias")),)
    end = s.layers - 1 if last is None or last >= s.layers or last < 0 else last
    draft = build(f, s, Traits(tied=True),
                  lambda i: sparse if first <= i <= end and (i + 1) % step == 0 else dense)
    # A draft module is a dense layer, a 2·hidden → hidden projection and two norms.
    count = f.whole("num_nextn_predict_layers", default=0)
    each = layer_parameters(replace(draft.layers[-1][1], feedforwards=dense)) + 2 * s.hidden**2 + 2 * s.hidden
    drafts = (Tower(name="mtp", kind="mtp", parameters=count * each, hidden=s.hidden, layers=count),) if count else ()
    return replace(draft, towers=drafts)


def hunyuan(f: Fields, model_type: str) -> Draft:
    """Hunyuan mixtures: a shared expert in parallel, per-head norms, optional cross-layer key-value sharing."""
    s = shape(f, tied=True)
    if f.flag("use_cla") and f.whole("cla_share_factor", default=1) > 1:
        raise f.wrong("use_cla", "false (cross-layer attention of Hunyuan-Large is not modelled)", True)
    width = _uniform(f, "moe_intermediate_size") or f.whole("intermediate_size")
    shared = _uniform(f, "num_shared_expert") or (1 if model_type == "hunyuan_v1_moe" else 0)
    f.understood("cla_share_factor", "use_mixed_mlp_moe", "intermediate_size", "attention_head_dim", "norm_type",
                 "moe_drop_tokens", "moe_random_routing_dropped_token", "capacity_factor", "use_cla", "pool_type",
                 "num_media_embeds", "group_limited_greedy", "n_group", "class_num")
    sparse = (mixture(s.hidden, experts_of(f), chosen_of(f), width, shared=shared * f.whole("intermediate_size")),)
    skipped = f.whole("moe_layer_num_skipped", "first_k_dense_replace", default=0)
    dense = (gated(s.hidden, f.whole("intermediate_size")),)
    return build(f, s, Traits(qk_norm="head"), lambda i: sparse if i >= skipped else dense)


def _uniform(f: Fields, name: str) -> int | None:
    """A number given once or once per layer, if it is the same everywhere."""
    value = f.raw(name)
    if isinstance(value, list | tuple):
        if len(set(value)) != 1:
            raise f.wrong(name, "the same in all layers", sorted(set(value)))
        return Fields({name: value[0]}).optional(name)
    return f.optional(name)


def deepseek_style(f: Fields, model_type: str) -> Draft:
    """Dense first layers, then many small experts beside shared ones, on ordinary attention."""
    traits = {"deepseek": LLAMA, "glm4_moe": Traits(qk_norm="head", qk_norm_default=False, out_bias=False),
              "dots1": Traits(qk_norm="head", slides=True), "hy_v3": Traits(qk_norm="head"),
              "exaone_moe": Traits(qk_norm="head", period=4), "solar_open": LLAMA,
              "glm4v_moe_text": Traits(out_bias=False), "mellum": Traits(qk_norm="head"),
              "sarvam_moe": Traits(qk_norm="head"), "bailing_moe": _BAILING, "bailing_moe_v2": _BAILING}[model_type]
    s = shape(f, tied=False)
    draft = build(f, s, traits, fine_grained(f, s, biased=_corrected(f, model_type)))
    towers = draft_modules(f.whole("num_nextn_predict_layers", default=0), s.hidden, draft.layers[-1][1])
    return replace(draft, towers=towers)


_BAILING = Traits(qk_norm="head", qk_norm_default=False, out_bias=False)


def _corrected(f: Fields, model_type: str) -> bool:
    """Whether the router has a correction bias."""
    if model_type.startswith("bailing"):
        return f.flag("moe_router_enable_expert_bias")
    return model_type not in {"deepseek", "mellum"}


def fine_grained(f: Fields, s: Shape, *, biased: bool, form: Callable[..., DenseFeedForward] = gated, first: int = 0
                 ) -> Chooser:
    """DeepSeek's layout of experts: which layers, how wide, and whether the router has a correction bias."""
    experts = experts_of(f)
    width = f.size("moe_intermediate_size")
    shared = f.size("moe_shared_expert_intermediate_size", default=width)
    count = f.whole("n_shared_experts", "num_shared_experts", "moe_num_shared_experts", default=0)
    part = mixture(s.hidden, experts, chosen_of(f), width, shared=count * shared, form=form,
                   router_biases=experts if biased else 0)
    f.understood("intermediate_size", "moe_router_enable_expert_bias", "enable_moe_fp32_combine", "use_expert_bias")
    sparse_layers = sparse_pattern(f, s.layers, first=first)
    if all(sparse_layers):
        return lambda _: (part,)
    dense = form(s.hidden, f.whole("dense_intermediate_size", "intermediate_size"))
    return lambda i: (part,) if sparse_layers[i] else (dense,)


def sparse_pattern(f: Fields, layers: int, *, first: int = 0) -> tuple[bool, ...]:
    """Which layers are sparse: a list of kinds, a list of flags, or a first layer and a period."""
    kinds = f.per_layer(layers, "mlp_layer_types")
    flags = f.raw("moe_layer_freq")
    first = f.whole("first_k_dense_replace", "moe_first_k_dense_replace", default=first)
    if kinds is not None:
        return tuple(kind in ("sparse", "moe") for kind in kinds)
    if isinstance(flags, list | tuple):
        return tuple(bool(flag) for flag in f.per_layer(layers, "moe_layer_freq") or ())
    period = f.whole("moe_layer_freq", "moe_layer_frequency", default=1)
    return tuple(i >= first and i % period == 0 for i in range(layers))
