"""Building blocks that several families share: shape, norms, feed-forwards, windows, layer runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.feedforward import DenseFeedForward, MixtureOfExperts
from planner.core.architecture.layer import Layer
from planner.core.architecture.model import Tower
from planner.core.architecture.parameters import layer_parameters
from planner.core.architecture.parts import Matrix, Module, Shard
from planner.core.errors import InvalidQuantity, MissingFact

_MOST_LAYERS = 2048  # the deepest known model has 126


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The numbers almost every decoder has."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    context: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a family's reader found; the package adds id, formats and towers."""

    shape: Shape
    layers: tuple[tuple[int, Layer], ...]
    extra_parameters: int
    """Final norm and the like."""
    extra_matrices: tuple[Matrix, ...] = ()
    embedding_width: int | None = None
    position_parameters: int = 0
    extra_embedding_parameters: int = 0
    head_biases: int = 0
    towers: tuple[Tower, ...] = ()
    names: tuple[str, ...] = field(default=("layers.{i}",))
    """How this family's checkpoints name a layer, wrappers left out, for quantisation lists."""
    parts: Mapping[Module, tuple[str, ...]] = field(default_factory=dict)
    """Names of matrices inside a layer where they are not the usual ones."""


def shape(f: Fields, *, tied: bool, head_dim: int | None = None, kv_heads: int | None = None) -> Shape:
    """The common numbers under the names configs use; ``tied`` is the family's default."""
    hidden = f.whole("hidden_size", "n_embd", "d_model", "model_dim", "embed_dim")
    heads = f.whole("num_attention_heads", "n_head", "n_heads", "num_heads", default=0)
    if not hidden:
        raise f.wrong("hidden_size", "at least 1", hidden)
    width = f.optional_size("head_dim", "kv_channels", "attention_head_dim") or head_dim
    if width is None and heads:
        if hidden % heads:
            raise InvalidQuantity(f"hidden_size {hidden} is not a multiple of num_attention_heads {heads} and head_dim "
                                  "is not given.", pointer="/config/head_dim")
        width = hidden // heads
    kv = f.optional_size("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads") or kv_heads or heads
    if kv and heads % kv:
        raise InvalidQuantity(f"num_attention_heads {heads} is not a multiple of num_key_value_heads {kv}.",
                              pointer="/config/num_key_value_heads")
    return Shape(
        hidden=hidden, layers=layer_count(f), heads=heads, kv_heads=kv, head_dim=width or 0,
        vocabulary=f.whole("padded_vocab_size", "vocab_size"), tied=f.flag("tie_word_embeddings", default=tied),
        context=f.optional_size("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length",
                                "model_max_length", "seq_length"))


def layer_count(f: Fields) -> int:
    """The number of layers, bounded; from a per-layer list where that is all a config has."""
    f.understood("max_seq_len", "n_positions", "model_max_length", "seq_length", "vocab_size")
    layers = f.optional("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if layers is None:
        blocks = f.items("layers_block_type") if f.has("layers_block_type") else None
        layers = f.whole("num_hidden_layers") if blocks is None else len(blocks)
    if not 1 <= layers <= _MOST_LAYERS:
        raise f.wrong("num_hidden_layers", f"between 1 and {_MOST_LAYERS}", layers)
    return layers


def gated(hidden: int, width: int, *, bias: bool = False, module: Module = Module.MLP, prefix: str = "",
          inputs: int | None = None) -> DenseFeedForward:
    """Gate, up and down."""
    return DenseFeedForward(hidden=hidden, intermediate=width, gated=True, bias=bias, module=module, prefix=prefix,
                            inputs=inputs)


def plain(hidden: int, width: int, *, bias: bool = False, module: Module = Module.MLP, prefix: str = "",
          inputs: int | None = None) -> DenseFeedForward:
    """Up and down."""
    return DenseFeedForward(hidden=hidden, intermediate=width, gated=False, bias=bias, module=module, prefix=prefix,
                            inputs=inputs)


def mixture(hidden: int, experts: int, top_k: int, width: int, *,  # noqa: PLR0913 - one per field of the block
            shared: int = 0, form: Callable[..., DenseFeedForward] = gated, shared_gate: bool = False,
            router_biases: int = 0, latent: int | None = None, bias: bool = False, extra: int = 0) -> MixtureOfExperts:
    """A mixture of experts; ``shared`` is the total width of its shared experts."""
    if not 1 <= top_k <= experts:
        raise InvalidQuantity(f"num_experts_per_tok must be between 1 and {experts} experts, not {top_k}.",
                              pointer="/config/num_experts_per_tok")
    shared_part = form(hidden, shared, module=Module.SHARED_EXPERTS, prefix="shared_", bias=bias) if shared else None
    return MixtureOfExperts(
        hidden=hidden, experts=experts, experts_per_token=top_k, shared=shared_part, shared_gate=shared_gate,
        expert=form(hidden, width, module=Module.EXPERTS, prefix="expert_", inputs=latent, bias=bias),
        router_biases=router_biases, latent=latent, extra_parameters=extra)


def runs(layers: Iterable[Layer]) -> tuple[tuple[int, Layer], ...]:
    """Consecutive equal layers counted once."""
    result: list[tuple[int, Layer]] = []
    for layer in layers:
        if result and (result[-1][1] is layer or result[-1][1] == layer):
            result[-1] = (result[-1][0] + 1, layer)
        else:
            result.append((1, layer))
    return tuple(result)


def replicated(name: str, module: Module, inputs: int, outputs: int, biases: int = 0) -> Matrix:
    """A small matrix every rank keeps whole."""
    return Matrix(name=name, module=module, inputs=inputs, outputs=outputs, shard=Shard.REPLICATED, kernel=name,
                  biases=biases)


def bounded(window: int | None, context: int | None) -> int | None:
    """A window no shorter than the whole context is none."""
    return None if window is None or window == 0 or (context is not None and window >= context) else window


_FULL = {"full_attention", "attention", "global", "global_attention", "full"}
_SLIDING = {"sliding_attention", "sliding_window", "local", "local_attention", "sliding"}


def windows(f: Fields, s: Shape, *, default: Sequence[bool] | None = None, every: int | None = None,
            ) -> tuple[int | None, ...]:
    """The window of each layer: from ``layer_types``, else ``default`` (True slides), else every n-th layer is full."""
    size = bounded(f.optional("sliding_window", "sliding_window_size"), s.context)
    f.understood("sliding_window_size", "sliding_window")
    kinds = f.per_layer(s.layers, "layer_types")
    if kinds is not None:
        f.understood("sliding_window_pattern", "_sliding_window_pattern")
        return tuple(_window_of(kind, size) for kind in kinds)
    if default is None and every:
        default = _slides(f, s.layers, every)
    if default is None:
        return (size,) * s.layers
    return tuple(size if slides else None for slides in default)


def _slides(f: Fields, layers: int, every: int) -> list[bool]:
    """Which layers slide after ``sliding_window_pattern``: a period, or letters (L slides, G is full)."""
    if isinstance(f.raw("sliding_window_pattern"), str):
        letters = f.text("sliding_window_pattern")
        return [letters[i % len(letters)] == "L" for i in range(layers)]
    step = f.optional("sliding_window_pattern", "_sliding_window_pattern") or every
    return [bool((i + 1) % step) for i in range(layers)]


def _window_of(kind: object, size: int | None) -> int | None:
    if kind in _FULL:
        return None
    if kind in _SLIDING:
        return size
    raise MissingFact(f"layer type {kind!r} is not modelled for this family.", fact="layer_types",
                      pointer="/config/layer_types")


def draft_modules(count: int, hidden: int, layer: Layer) -> tuple[Tower, ...]:
    """Multi-token-prediction modules: a layer, a 2·hidden → hidden projection and three norms each."""
    if not count:
        return ()
    each = layer_parameters(layer) + 2 * hidden * hidden + 3 * hidden
    return (Tower(name="mtp", kind="mtp", parameters=count * each, hidden=hidden, layers=count),)
