"""Decoders in the manner of Llama: RMS norms, gated MLP, rotary positions, grouped-query attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.catalog.importers.huggingface.blocks import Draft, Shape, gated, plain, runs, shape, windows
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.attention import Attention
from planner.core.architecture.layer import Layer


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How a family departs from Llama; booleans here are facts of the family, not switches of a formula."""

    tied: bool = False
    qkv_bias: bool | None = None
    """None reads ``attention_bias``."""
    out_bias: bool | None = None
    """None follows the qkv bias where ``attention_bias`` sets it, as in Llama."""
    norms: int = 2
    norm_weights: int = 1
    """Weights per channel of a norm: 1 scale, 2 scale and shift, 0 none."""
    qk_norm: str = ""
    """head | full | all (each head its own weights)."""
    qk_norm_default: bool = True
    """What an absent ``use_qk_norm`` means."""
    gated: bool = True
    period: int | None = None
    """Every n-th layer is full where the config lists no layer types."""
    slides: bool = False
    """The window holds in all layers."""
    sinks: bool = False
    """One learned sink per head."""
    layer_extra: int = 0
    """Other learned numbers per layer."""


def qk_norm_weights(kind: str, s: Shape) -> int:
    """Weights of the query and key norms."""
    if kind == "head":
        return 2 * s.head_dim
    return (s.heads + s.kv_heads) * s.head_dim if kind in ("full", "all") else 0


def attention_of(f: Fields, s: Shape, traits: Traits, window: int | None) -> Attention:
    """The attention of one layer."""
    bias = f.flag("attention_bias", "use_bias", "bias", "qkv_bias")
    qkv = bias if traits.qkv_bias is None else traits.qkv_bias
    out = f.flag("attention_out_bias", "o_bias", default=qkv if traits.qkv_bias is None else False)
    kind = traits.qk_norm if f.flag("use_qk_norm", default=traits.qk_norm_default) else ""
    return Attention(hidden=s.hidden, heads=s.heads, kv_heads=s.kv_heads, head_dim=s.head_dim, window=window,
                     qkv_bias=qkv, out_bias=out if traits.out_bias is None else traits.out_bias,
                     qk_norm_parameters=qk_norm_weights(kind, s), sinks=traits.sinks)


def layer_windows(f: Fields, s: Shape, traits: Traits) -> tuple[int | None, ...]:
    """The window of each layer; ``use_sliding_window`` false switches all off."""
    if f.raw("use_sliding_window") is False or not (traits.slides or traits.period or f.has("layer_types")):
        if not f.flag("use_sliding_window"):
            f.understood("sliding_window", "max_window_layers", "layer_types", "sliding_window_pattern")
            return (None,) * s.layers
        first = f.whole("max_window_layers", default=s.layers)
        return windows(f, s, default=[i >= first for i in range(s.layers)])
    f.understood("max_window_layers", "sliding_window_pattern")
    return windows(f, s, every=traits.period)


def decoder(f: Fields, traits: Traits, *, s: Shape | None = None, width: int | None = None) -> Draft:
    """A whole model of identical blocks but for their windows."""
    s = shape(f, tied=traits.tied) if s is None else s
    width = f.whole("intermediate_size", "ffn_hidden_size", "ffn_dim") if width is None else width
    bias = f.flag("mlp_bias", default=f.flag("use_bias"))
    mlp = gated(s.hidden, width, bias=bias) if traits.gated else plain(s.hidden, width, bias=bias)
    norm = traits.norm_weights * s.hidden
    sizes = layer_windows(f, s, traits)
    made = {window: Layer(mixer=attention_of(f, s, traits, window), feedforwards=(mlp,), norms=traits.norms,
                          norm_parameters=traits.norms * norm + traits.layer_extra)
            for window in set(sizes)}
    return Draft(shape=s, layers=runs(made[window] for window in sizes), extra_parameters=norm)


LLAMA = Traits()
TRAITS = {
    "llama": LLAMA, "mistral": Traits(slides=True), "ministral": Traits(slides=True), "ministral3": LLAMA,
    "Yi": LLAMA, "yi": LLAMA, "internlm2": LLAMA, "aquila": LLAMA, "xverse": LLAMA, "deepseek_llm": LLAMA,
    "internlm": LLAMA, "internlm3": Traits(), "baichuan": Traits(qkv_bias=False),
    "granite": LLAMA, "smollm3": Traits(tied=True), "seed_oss": Traits(),
    "qwen2": Traits(qkv_bias=True), "qwen2_vl_text": Traits(qkv_bias=True), "qwen2_5_vl_text": Traits(qkv_bias=True),
    "qwen2_vl": Traits(qkv_bias=True), "qwen2_5_vl": Traits(qkv_bias=True), "qwen2_audio_text": Traits(qkv_bias=True),
    "qwen3": Traits(qk_norm="head"), "qwen3_vl_text": Traits(qk_norm="head"), "hunyuan_v1_dense":
        Traits(qk_norm="head"),
    "gemma": Traits(tied=True), "gemma2": Traits(tied=True, norms=4, period=2),
    "gemma3_text": Traits(tied=True, norms=4, qk_norm="head", period=6), "vaultgemma": Traits(tied=True, period=2),
    "phi3": Traits(slides=True), "phi4mm": Traits(slides=True), "phi3_v": Traits(slides=True),
    "olmo": Traits(norm_weights=0), "olmo2": Traits(qk_norm="full"), "olmo3": Traits(qk_norm="full", period=4),
    "cohere": Traits(tied=True, norms=1, qk_norm="all", qk_norm_default=False),
    "cohere2": Traits(tied=True, norms=1, period=4),
    "glm": Traits(out_bias=False), "glm4": Traits(norms=4, out_bias=False),
    "glm4v_text": Traits(norms=4, qkv_bias=True),
    "exaone": Traits(qkv_bias=False), "exaone4": Traits(qk_norm="head", period=4),
    "exaone4_5_text": Traits(qk_norm="head", period=4),
    "ernie4_5": Traits(tied=True), "helium": Traits(out_bias=False), "arcee": Traits(gated=False),
    "nemotron": Traits(gated=False, norm_weights=2), "minicpm": Traits(tied=True),
    "orion": Traits(norm_weights=2), "apertus": Traits(gated=False, qk_norm="head", layer_extra=2),
    "cwm": LLAMA, "iquestcoder": LLAMA, "hyperclovax": LLAMA, "jais2": Traits(gated=False, norm_weights=2),
    "granite_swa": Traits(tied=True, sinks=True), "nanochat": Traits(gated=False, norm_weights=0),
    "starcoder2": Traits(tied=True, gated=False, norm_weights=2, slides=True),
}


# Fields whose other values would be another architecture.
_FIXED: Mapping[str, Mapping[str, tuple[object, ...]]] = {
    "cohere2": {"use_parallel_block": (True,), "use_gated_activation": (True,), "use_embedding_sharing": (True,)},
    "starcoder2": {"mlp_type": ("default",), "norm_type": ("layer_norm",)},
    "apertus": {"qk_norm": (True,), "post_norm": (False,)},
}


def read(f: Fields, model_type: str) -> Draft:
    """Any family of the table."""
    f.understood("no_rope_layers", "sliding_window", "num_nextn_predict_layers", "mtp_share_layers",
                 "mtp_loss_scaling_factor")
    if model_type in {"phi4mm", "phi3_v"}:
        f.understood("embd_layer", "vision_lora", "speech_lora", "full_attn_mod", "interpolate_factor")
    for name, allowed in _FIXED.get(model_type, {}).items():
        f.must_be(name, *allowed)
    traits = TRAITS[model_type]
    if model_type == "hyperclovax" and f.flag("use_post_norm"):
        traits = replace(traits, norms=4)
    return decoder(f, traits)
