"""Latent attention: DeepSeek V2 to V4, Kimi K2, GLM-5, GLM-4.7-Flash, and their draft modules."""

from __future__ import annotations

from planner.catalog.importers.huggingface.blocks import (
    Draft,
    Shape,
    draft_modules,
    gated,
    mixture,
    replicated,
    runs,
    shape,
)
from planner.catalog.importers.huggingface.families.mixtures import (
    Chooser,
    chosen_of,
    experts_of,
    fine_grained,
)
from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.compressed import CompressedAttention
from planner.core.architecture.latent import Indexer, LatentAttention
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Tower
from planner.core.architecture.parameters import layer_parameters
from planner.core.architecture.parts import Matrix, Module
from planner.core.errors import MissingFact

_KINDS = {"full_attention", "indexed_attention", "deepseek_sparse_attention"}
_V4_KINDS = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}


def latent_shape(f: Fields, *, tied: bool = False) -> Shape:
    """The common numbers; ``head_dim`` means nothing here."""
    f.understood("head_dim", "qk_head_dim", "num_key_value_heads")
    hidden = f.whole("hidden_size")
    return shape(Fields({**_core(f), "head_dim": 1, "hidden_size": hidden}), tied=tied)


def _core(f: Fields) -> dict[str, object]:
    """Copies of the fields a shape needs, read from the parent so that it knows them."""
    names = ("num_hidden_layers", "num_attention_heads", "vocab_size", "tie_word_embeddings", "max_position_embeddings",
             "model_max_length")
    return {name: f.raw(name) for name in names}


def latent_attention(f: Fields, s: Shape, indexer: Indexer | None = None) -> LatentAttention:
    """The mixer of one layer."""
    return LatentAttention(
        hidden=s.hidden, heads=s.heads, q_lora_rank=f.optional("q_lora_rank"), kv_lora_rank=f.whole("kv_lora_rank"),
        nope_head_dim=f.size("qk_nope_head_dim"), rope_head_dim=f.whole("qk_rope_head_dim"),
        value_head_dim=f.whole("v_head_dim"), indexer=indexer, qkv_bias=f.flag("attention_bias"),
        output_gate=f.flag("mla_use_output_gate"))


def indexers_of(f: Fields, layers: int, *, pool: int = 1) -> tuple[Indexer | None, ...]:
    """The sparse indexer of each layer, shared where a layer reuses an earlier selection."""
    top_k = f.optional_size("index_topk")
    if top_k is None:
        return (None,) * layers
    heads, width = f.whole("index_n_heads"), f.whole("index_head_dim")
    own, shared = (Indexer(heads=heads, head_dim=width, top_k=top_k, pool=pool, shared=flag)
                   for flag in (False, True))
    kinds = f.per_layer(layers, "indexer_types")
    pattern = f.text("index_topk_pattern") if isinstance(f.raw("index_topk_pattern"), str) else ""
    if kinds is None and pattern:
        kinds = tuple({"F": "full", "S": "shared"}.get(letter, letter) for letter in pattern[:layers])
    f.understood("index_topk_freq", "index_skip_topk_offset", "index_topk_pattern")
    if kinds is None:
        freq, offset = f.size("index_topk_freq", default=1), f.whole("index_skip_topk_offset", default=2)
        kinds = tuple("full" if max(i - offset + 1, 0) % freq == 0 else "shared" for i in range(layers))
    for kind in set(kinds) - {"full", "shared"}:
        raise f.wrong("indexer_types", "full or shared", kind)
    return tuple(own if kind == "full" else shared for kind in kinds)


def deepseek(f: Fields, model_type: str) -> Draft:
    """DeepSeek V2, V3 and V3.2, Kimi K2, GLM-5, GLM-4.7-Flash, and dense models on the same attention."""
    s = latent_shape(f, tied=model_type in {"minicpm3", "youtu"})
    for kind in set(f.per_layer(s.layers, "layer_types") or ()) - _KINDS:
        raise f.wrong("layer_types", "full_attention or indexed_attention", kind)
    f.understood("index_share_for_mtp_iteration", "scale_depth", "quantization_config")
    if f.has("n_routed_experts"):
        biased = model_type != "deepseek_v2" and f.text("topk_method", default="noaux_tc") == "noaux_tc"
        chooser: Chooser = fine_grained(f, s, biased=biased or f.text("topk_method") == "noaux_tc")
    else:
        mlp = (gated(s.hidden, f.whole("intermediate_size"), bias=f.flag("mlp_bias")),)
        chooser = lambda _: mlp  # noqa: E731 - one expression, as the other chooser
    made: dict[object, Layer] = {}
    layers = []
    for i, indexer in enumerate(indexers_of(f, s.layers)):
        parts = chooser(i)
        if (indexer, parts) not in made:
            made[indexer, parts] = Layer(mixer=latent_attention(f, s, indexer), feedforwards=parts,
                                         norm_parameters=2 * s.hidden)
        layers.append(made[indexer, parts])
    own = next((layer for layer in layers[::-1] if not _shares(layer)), layers[-1])
    count = f.whole("num_nextn_predict_layers", default=0)
    drafts = draft_modules(count, s.hidden, own if not _shares(layers[-1]) else _with_own_indexer(f, s, layers[-1]))
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden, towers=drafts)


def _shares(layer: Layer) -> bool:
    mixer = layer.mixer
    return isinstance(mixer, LatentAttention) and mixer.indexer is not None and mixer.indexer.shared


def _with_own_indexer(f: Fields, s: Shape, layer: Layer) -> Layer:
    """A draft module's layer scores for itself even where the last layer reuses a selection."""
    indexer = Indexer(heads=f.whole("index_n_heads"), head_dim=f.whole("index_head_dim"), top_k=f.size("index_topk"))
    return Layer(mixer=latent_attention(f, s, indexer), feedforwards=layer.feedforwards,
                 norm_parameters=layer.norm_parameters)


def deepseek_v4(f: Fields, model_type: str) -> Draft:
    """DeepSeek V4: compressed shared-KV attention, hyper-connections between streams, hash-routed first layers."""
    del model_type
    s = shape(f, tied=False)
    f.understood("compress_rates", "expert_dtype", "compress_ratios", "num_hash_layers", "layer_types",
                 "mlp_layer_types", "hc_eps", "hc_sinkhorn_iters", "intermediate_size")
    experts, chosen, width = experts_of(f), chosen_of(f), f.whole("moe_intermediate_size")
    streams = f.whole("hc_mult", default=4)
    hashed = _hash_layers(f, s.layers)
    made: dict[tuple[int, bool], Layer] = {}
    layers = []
    for i, ratio in enumerate(_ratios(f, s.layers)):
        if (ratio, i in hashed) not in made:
            part = mixture(s.hidden, experts, chosen, width, router_biases=0 if i in hashed else experts,
                           shared=f.whole("n_shared_experts", default=1) * width)
            made[ratio, i in hashed] = Layer(
                mixer=_compressed(f, s, ratio), feedforwards=(part,),
                norm_parameters=2 * s.hidden + 2 * (stream_weights(streams) + 3),
                extra_matrices=stream_mixers(streams, s.hidden))
        layers.append(made[ratio, i in hashed])
    tables = s.vocabulary * chosen * len(hashed)
    towers = (*_v4_drafts(f, s, streams, experts, chosen, width),
              *((Tower(name="hash_tables", kind="buffer", parameters=tables),) if tables else ()))
    head = (replicated("stream_head", Module.OTHER, streams * s.hidden, streams),)
    return Draft(shape=s, layers=runs(layers), extra_parameters=s.hidden + streams + 1, extra_matrices=head,
                 towers=towers, names=("layers.{i}",))


def stream_weights(streams: int) -> int:
    """Mixing weights of a hyper-connection: into, out of and between the streams."""
    return (2 + streams) * streams


def stream_mixers(streams: int, hidden: int) -> tuple[Matrix, ...]:
    """The two hyper-connections of a layer: all streams projected to their mixing weights."""
    return tuple(replicated(f"streams_{part}", Module.OTHER, streams * hidden, stream_weights(streams))
                 for part in ("attention", "mlp"))


def _compressed(f: Fields, s: Shape, ratio: int) -> CompressedAttention:
    indexer = None
    if ratio == _V4_KINDS["compressed_sparse_attention"]:
        indexer = Indexer(heads=f.whole("index_n_heads"), head_dim=f.whole("index_head_dim"),
                          top_k=f.size("index_topk"))
    return CompressedAttention(
        hidden=s.hidden, heads=s.heads, head_dim=s.head_dim, rope_head_dim=f.whole("qk_rope_head_dim", default=64),
        q_lora_rank=f.whole("q_lora_rank"), output_groups=f.whole("o_groups"), output_rank=f.whole("o_lora_rank"),
        window=f.whole("sliding_window"), ratio=ratio, indexer=indexer)


def _ratios(f: Fields, layers: int) -> tuple[int, ...]:
    """How many tokens each layer pools into one entry."""
    ratios = f.per_layer(layers, "compress_ratios")
    if ratios is None:
        kinds = f.per_layer(layers, "layer_types")
        if kinds is None:
            raise MissingFact("The configuration lists neither compress_ratios nor layer_types.",
                              fact="compress_ratios", pointer="/config/compress_ratios")
        ratios = tuple(_V4_KINDS.get(str(kind), -1) for kind in kinds)
    for ratio in set(ratios) - set(_V4_KINDS.values()):
        raise f.wrong("compress_ratios", "0, 4 or 128", ratio)
    return tuple(int(str(ratio)) for ratio in ratios)


def _hash_layers(f: Fields, layers: int) -> set[int]:
    kinds = f.per_layer(layers, "mlp_layer_types")
    if kinds is not None:
        return {i for i, kind in enumerate(kinds) if kind == "hash_moe"}
    return set(range(min(layers, f.whole("num_hash_layers", default=3))))


def _v4_drafts(f: Fields, s: Shape, streams: int, experts: int, chosen: int, width: int) -> tuple[Tower, ...]:
    """Draft modules of V4: a window-only layer, two projections, three norms and a stream head of its own."""
    count = f.whole("num_nextn_predict_layers", default=0)
    if not count:
        return ()
    part = mixture(s.hidden, experts, chosen, width, router_biases=experts,
                   shared=f.whole("n_shared_experts", default=1) * width)
    layer = Layer(mixer=_compressed(f, s, 0), feedforwards=(part,), extra_matrices=stream_mixers(streams, s.hidden),
                  norm_parameters=2 * s.hidden + 2 * (stream_weights(streams) + 3))
    each = layer_parameters(layer) + 2 * s.hidden**2 + 3 * s.hidden + streams * (streams * s.hidden + 1) + 1
    return (Tower(name="mtp", kind="mtp", parameters=count * each, hidden=s.hidden, layers=count),)
