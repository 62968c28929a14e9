"""State-space and linear-attention models, alone or between attention layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.catalog.importers.huggingface.blocks import Draft, Shape, gated, layer_count, mixture, plain, runs, shape
from planner.catalog.importers.huggingface.families.dense import LLAMA, attention_of
from planner.catalog.importers.huggingface.families.mixtures import chosen_of, experts_of
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.convolution import ShortConvolution
from planner.core.architecture.layer import FeedForward, Layer
from planner.core.architecture.mamba import Mamba, Mamba2
from planner.core.architecture.model import Tower
from planner.core.architecture.parallel import ParallelMixers
from planner.core.architecture.parameters import layer_parameters
from planner.core.errors import MissingFact

_PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
_SPELLINGS = {"linear_attention": "mamba", "full_attention": "attention", "mamba2": "mamba", "dense": "mlp",
              "sparse": "moe"}


def fp32_state(f: Fields) -> bool:
    """Whether the config declares an fp32 recurrent state; engines otherwise keep it in the model's dtype."""
    return f.text("mamba_ssm_cache_dtype", "mamba_ssm_dtype", "ssm_cache_dtype") in {"float32", "torch.float32"}


def mamba(f: Fields, model_type: str) -> Draft:
    """Mamba and Falcon-Mamba: one block per layer under one norm."""
    del model_type
    hidden = f.whole("hidden_size", "d_model")
    s = Shape(hidden=hidden, layers=layer_count(f), heads=0, kv_heads=0, head_dim=0, vocabulary=f.whole("vocab_size"),
              tied=f.flag("tie_word_embeddings", default=True), context=None)
    f.understood("expand", "use_mambapy", "use_falcon_mambapy", "mixer_rms_eps", "max_position_embeddings", "d_inner")
    inner = f.optional_size("intermediate_size") or f.whole("expand", default=2) * hidden
    rank = f.raw("time_step_rank")
    mixer = Mamba(hidden=hidden, inner=inner, state_size=f.size("state_size", default=16),
                  kernel=f.size("conv_kernel", default=4),
                  time_rank=-(-hidden // 16) if rank in (None, "auto") else f.whole("time_step_rank"),
                  conv_bias=f.flag("use_conv_bias", default=True), projection_bias=f.flag("use_bias"),
                  fp32_state=fp32_state(f))
    layer = Layer(mixer=mixer, norms=1, norm_parameters=hidden)
    return Draft(shape=s, layers=((s.layers, layer),), extra_parameters=hidden, names=("backbone.layers.{i}",))


def mamba2(f: Fields, model_type: str) -> Draft:
    """Mamba-2 alone."""
    del model_type
    hidden = f.whole("hidden_size", "d_model")
    s = Shape(hidden=hidden, layers=layer_count(f), heads=0, kv_heads=0, head_dim=0, vocabulary=f.whole("vocab_size"),
              tied=f.flag("tie_word_embeddings", default=False), context=None)
    f.understood("expand", "rms_norm", "norm_before_gate", "time_step_rank", "num_groups")
    width = f.whole("head_dim", default=64)
    heads = f.whole("num_heads", default=f.whole("expand", default=2) * hidden // width)
    mixer = Mamba2(hidden=hidden, heads=heads, head_dim=width, state_size=f.size("state_size", default=128),
                   groups=f.whole("n_groups", default=8), kernel=f.size("conv_kernel", default=4),
                   conv_bias=f.flag("use_conv_bias", default=True), projection_bias=f.flag("use_bias"),
                   out_bias=f.flag("use_bias"), fp32_state=fp32_state(f))
    layer = Layer(mixer=mixer, norms=1, norm_parameters=hidden)
    return Draft(shape=s, layers=((s.layers, layer),), extra_parameters=hidden, names=("backbone.layers.{i}",))


def jamba(f: Fields, model_type: str) -> Draft:
    """Jamba: Mamba layers with one attention layer per period, experts every other layer."""
    del model_type
    s = shape(f, tied=False)
    inner = f.whole("mamba_expand", default=2) * s.hidden
    rank, state = f.raw("mamba_dt_rank"), f.size("mamba_d_state", default=16)
    time_rank = -(-s.hidden // 16) if rank in (None, "auto") else f.whole("mamba_dt_rank")
    scan = Mamba(hidden=s.hidden, inner=inner, state_size=state, kernel=f.size("mamba_d_conv", default=4),
                 time_rank=time_rank, conv_bias=f.flag("mamba_conv_bias", default=True),
                 projection_bias=f.flag("mamba_proj_bias"), norm_parameters=time_rank + 2 * state,
                 fp32_state=fp32_state(f))
    width = f.whole("intermediate_size")
    experts = f.whole("num_experts", default=16)
    dense = gated(s.hidden, width)
    sparse = mixture(s.hidden, experts, chosen_of(f), width) if experts > 1 else dense
    period, offset = f.whole("attn_layer_period", default=8), f.whole("attn_layer_offset", default=4)
    every, first = f.whole("expert_layer_period", default=2), f.whole("expert_layer_offset", default=1)
    f.understood("num_experts_per_tok", "mamba_inner_layernorms", "sliding_window", "num_experts", "layers_block_type")
    attention = attention_of(f, s, LLAMA, None)
    made = {(mixer, part): Layer(mixer=mixer, feedforwards=(part,), norm_parameters=2 * s.hidden)
            for mixer in (attention, scan) for part in (dense, sparse)}
    layers = runs(made[attention if i % period == offset else scan, sparse if i % every == first else dense]
                  for i in range(s.layers))
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden)


def _mamba2_of(f: Fields, hidden: int, *, bias: str = "mamba_proj_bias") -> Mamba2:
    """The Mamba-2 mixer under the names hybrids use; ``bias`` is the field that gives its projections biases."""
    width = f.optional_size("mamba_d_head", "mamba_head_dim")
    heads = f.optional_size("mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    inner = f.optional_size("mamba_d_ssm") or f.whole("mamba_expand", "expand", default=2) * hidden
    if heads is None:
        heads = inner // f.whole("mamba_d_head", "mamba_head_dim")
    f.understood("mamba_expand", "expand", "mamba_d_ssm", "time_step_rank", "mamba_norm_before_gate")
    return Mamba2(hidden=hidden, heads=heads, head_dim=width or inner // heads,
                  state_size=f.whole("mamba_d_state", "ssm_state_size", "mamba_state_dim"),
                  groups=f.whole("mamba_n_groups", "n_groups", "mamba_ngroups", default=1),
                  kernel=f.size("mamba_d_conv", "conv_kernel", default=4),
                  conv_bias=f.flag("mamba_conv_bias", "use_conv_bias", default=True),
                  projection_bias=f.flag(bias), out_bias=f.flag(bias), norm=f.flag("mamba_rms_norm", default=True),
                  fp32_state=fp32_state(f))


def granite_hybrid(f: Fields, model_type: str) -> Draft:
    """Granite 4 and Bamba: Mamba-2 and attention layers, each with a shared MLP and, in Granite, experts."""
    f.must_be("normalization_function", "rmsnorm")
    s = shape(f, tied=model_type == "granitemoehybrid")
    kinds = f.per_layer(s.layers, "layer_types", "layers_block_type")
    if kinds is None:
        attention_at = set(f.items("attn_layer_indices") or ())
        kinds = tuple("attention" if i in attention_at else "mamba" for i in range(s.layers))
    kinds = tuple(_SPELLINGS.get(str(kind), kind) for kind in kinds)
    f.understood("position_embedding_type", "attn_rotary_emb", "attn_layer_indices", "shared_intermediate_size",
                 "num_local_experts", "num_experts_per_tok", "intermediate_size", "init_method")
    parts: list[FeedForward] = []
    if f.has("num_local_experts") and f.whole("num_local_experts"):
        parts.append(mixture(s.hidden, experts_of(f), chosen_of(f), f.whole("intermediate_size"),
                             shared=f.whole("shared_intermediate_size", default=0)))
    else:
        parts.append(gated(s.hidden, f.whole("shared_intermediate_size", "intermediate_size")))
    known: dict[object, Layer] = {}
    for kind in set(kinds):
        if kind not in {"attention", "mamba"}:
            raise MissingFact(f"layer type {kind!r} is not modelled for this family.", fact="layer_types",
                              pointer="/config/layer_types")
        mixer = _mamba2_of(f, s.hidden) if kind == "mamba" else attention_of(f, s, LLAMA, None)
        known[kind] = Layer(mixer=mixer, feedforwards=tuple(parts), norm_parameters=2 * s.hidden)
    if "mamba" not in kinds:
        f.understood(*_MAMBA_FIELDS)
    return Draft(shape=s, layers=runs(known[kind] for kind in kinds), extra_parameters=s.hidden)


_MAMBA_FIELDS = ("mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_expand", "mamba_n_heads",
                 "mamba_conv_bias", "mamba_proj_bias")


def falcon_h1(f: Fields, model_type: str) -> Draft:
    """Falcon-H1: attention and Mamba-2 side by side in every layer."""
    del model_type
    s = shape(f, tied=False)
    f.understood("mamba_use_mlp", "attn_layer_indices", "projectors_bias", "mamba_norm_before_gate")
    f.must_be("projectors_bias", False)
    mixer = ParallelMixers(mixers=(attention_of(f, s, LLAMA, None), _mamba2_with_norm(f, s.hidden)))
    layer = Layer(mixer=mixer, feedforwards=(gated(s.hidden, f.whole("intermediate_size"), bias=f.flag("mlp_bias")),),
                  norm_parameters=2 * s.hidden)
    return Draft(shape=s, layers=((s.layers, layer),), extra_parameters=s.hidden)


def _mamba2_with_norm(f: Fields, hidden: int) -> Mamba2:
    """Falcon-H1 has the gated norm only where ``mamba_rms_norm`` says so."""
    return replace(_mamba2_of(f, hidden), norm=f.flag("mamba_rms_norm"), out_bias=False)


def nemotron_h(f: Fields, model_type: str) -> Draft:
    """Nemotron-H and Nemotron 3: each layer is one block: Mamba-2, attention, a plain MLP, or (latent) experts."""
    del model_type
    s = shape(f, tied=False, head_dim=f.optional_size("attention_head_dim"))
    kinds = _kinds(f, "hybrid_override_pattern", "layers_block_type", s.layers)
    f.understood("mtp_hybrid_override_pattern", "mtp_layers_block_type", "moe_shared_expert_overlap", "use_bias",
                 "norm_topk_prob", "intermediate_size", "mamba_proj_bias")
    made = {kind: _single_block(f, s, kind) for kind in set(kinds)}
    drafts = f.whole("num_nextn_predict_layers", default=0)
    towers: tuple[Tower, ...] = ()
    if drafts:
        blocks = _kinds(f, "mtp_hybrid_override_pattern", "mtp_layers_block_type", None)
        each = sum(layer_parameters(_single_block(f, s, kind, corrected=0)) for kind in blocks)
        # Each module also has a 2·hidden → hidden projection and norms of embedding, state and output.
        total = drafts * (each + 2 * s.hidden**2 + 3 * s.hidden)
        towers = (Tower(name="mtp", kind="mtp", parameters=total, hidden=s.hidden, layers=drafts * len(blocks)),)
    return Draft(shape=s, layers=runs(made[kind] for kind in kinds), extra_parameters=s.hidden, towers=towers,
                 names=("backbone.layers.{i}",))


def _kinds(f: Fields, letters: str, words: str, layers: int | None) -> Sequence[str]:
    pattern = f.text(letters)
    listed = f.items(words)
    kinds = [_PATTERN.get(letter, letter) for letter in pattern] if listed is None else [
        _SPELLINGS.get(str(kind), str(kind)) for kind in listed]
    if not kinds or (layers is not None and len(kinds) != layers):
        raise MissingFact(f"{letters} must describe every layer.", fact=letters, pointer=f"/config/{letters}")
    return kinds


def _single_block(f: Fields, s: Shape, kind: str, *, corrected: int = 1) -> Layer:
    """One block; ``corrected`` is 0 in draft modules, whose router has no correction bias."""
    mixer: Attention | Mamba2 | None = None
    parts: tuple[FeedForward, ...] = ()
    if kind == "mamba":
        mixer = _mamba2_of(f, s.hidden, bias="use_bias")
    elif kind == "attention":
        mixer = attention_of(f, s, LLAMA, None)
    elif kind == "mlp":
        parts = (plain(s.hidden, f.whole("intermediate_size"), bias=f.flag("mlp_bias")),)
    elif kind == "moe":
        parts = (_plain_experts(f, s.hidden, corrected),)
    else:
        raise MissingFact(f"layer type {kind!r} is not modelled for this family.", fact="hybrid_override_pattern",
                          pointer="/config/hybrid_override_pattern")
    return Layer(mixer=mixer, feedforwards=parts, norms=1, norm_parameters=s.hidden)


def _plain_experts(f: Fields, hidden: int, corrected: int) -> FeedForward:
    experts = experts_of(f)
    count = f.whole("n_shared_experts", default=0)
    shared = count * f.size("moe_shared_expert_intermediate_size") if count else 0
    f.understood("moe_shared_expert_intermediate_size")
    return mixture(hidden, experts, chosen_of(f), f.whole("moe_intermediate_size"), shared=shared, form=plain,
                   router_biases=experts * corrected, latent=f.optional_size("moe_latent_size"))


def lfm2(f: Fields, model_type: str) -> Draft:
    """LFM2: gated short convolutions between attention layers; dense, or experts after the first layers."""
    s = shape(f, tied=True)
    full = set(f.items("full_attn_idxs") or ())
    kinds = f.per_layer(s.layers, "layer_types") or tuple(
        "full_attention" if i in full else "conv" for i in range(s.layers))
    f.understood("full_attn_idxs", "use_pos_enc", "block_use_swiglu", "block_use_xavier_init", "block_mlp_init_scale",
                 "block_norm_eps", "block_out_init_scale", "block_dim", "block_ff_dim", "conv_dim", "conv_dim_out",
                 "conv_use_xavier_init", "num_heads", "tie_embedding")
    convolution = ShortConvolution(hidden=s.hidden, kernel=f.whole("conv_L_cache", default=3),
                                   bias=f.flag("conv_bias"))
    attention = Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim,
                          qk_norm_parameters=2 * s.head_dim)
    parts = _lfm2_parts(f, s, model_type)
    first = f.whole("num_dense_layers", default=2)
    made = {(kind, i): Layer(mixer=attention if kind == "full_attention" else convolution, feedforwards=(part,),
                             norm_parameters=2 * s.hidden) for kind in set(kinds) for i, part in enumerate(parts)}
    layers = runs(made[kind, 1 if len(parts) > 1 and i >= first else 0] for i, kind in enumerate(kinds))
    return Draft(shape=s, layers=layers, extra_parameters=s.hidden)


def _lfm2_parts(f: Fields, s: Shape, model_type: str) -> tuple[FeedForward, ...]:
    """The dense MLP, its width rounded as Llama 1 rounded it, and the experts."""
    width = f.whole("intermediate_size")
    if model_type == "lfm2":
        f.understood("num_dense_layers")
        if f.flag("block_auto_adjust_ff_dim", default=True):
            multiple = f.size("block_multiple_of", default=256)
            width = int(f.number("block_ffn_dim_multiplier", default=1.0) * int(2 * width / 3))
            width = -(-width // multiple) * multiple
        f.understood("block_multiple_of", "block_ffn_dim_multiplier")
        return (gated(s.hidden, width),)
    experts = experts_of(f)
    corrected = experts if f.flag("use_expert_bias", default=True) else 0
    return (gated(s.hidden, width), mixture(s.hidden, experts, chosen_of(f), f.whole("moe_intermediate_size"),
                                            router_biases=corrected))
