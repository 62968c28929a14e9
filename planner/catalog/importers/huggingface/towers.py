"""Vision towers and their projectors, counted from the dimensions a config gives.

A tower of a kind that is not known here is named as uncounted rather than guessed; the language model stays exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planner.catalog.importers.huggingface.fields import Fields
from planner.core.architecture.model import Tower

ENCODERS = ("vision_config", "audio_config", "visual", "vit_config", "vision_tower_config", "speech_config",
            "img_processor", "audio_processor")


def towers_of(config: Mapping[str, object], hidden: int) -> tuple[tuple[Tower, ...], tuple[str, ...]]:
    """The encoders a config describes, and the names of those whose weights are not counted."""
    found: list[Tower] = []
    uncounted: list[str] = []
    sources = [config, *(inner for name in ("thinker_config", "llm_config")
                         if isinstance(inner := config.get(name), Mapping))]
    for source in sources:
        for name in ENCODERS:
            vision = source.get(name)
            if not isinstance(vision, Mapping) or not vision:
                continue
            tower = _tower(source, vision, hidden)
            if tower is None:
                uncounted.append(name.removesuffix("_config"))
            else:
                found.append(tower)
    return tuple(found), tuple(uncounted)


def _tower(config: Mapping[str, object], vision: Mapping[str, object], hidden: int) -> Tower | None:
    wrapper = str(config.get("model_type") or "")
    kind = str(vision.get("model_type") or wrapper)
    reader = _READERS.get(wrapper) or _READERS.get(kind)
    if reader is None:
        return None
    return reader(Fields(vision, "/config/vision_config"), Fields(config, "/config"), hidden)


def _block(width: int, inner: int, *, attention_bias: int = 1, mlp_bias: int = 1, norms: int = 4) -> int:
    """A transformer block: four square projections, a plain MLP, two norms of scale and shift."""
    attention = 4 * (width * width + attention_bias * width)
    return attention + 2 * width * inner + mlp_bias * (inner + width) + norms * width


def _made(parameters: int, width: int, depth: int, tokens: int | None = None) -> Tower:
    return Tower(name="vision", kind="vision", parameters=parameters, hidden=width, layers=depth,
                 tokens_per_item=tokens)


def _patches(v: Fields, image: int, patch: int) -> tuple[int, int]:
    side = v.whole("image_size", default=image) // max(1, v.whole("patch_size", default=patch))
    return side * side, v.whole("patch_size", default=patch)


def _siglip(v: Fields, *, width: int = 768, image: int = 224, patch: int = 16) -> tuple[int, int, int, int]:
    """Parameters, width, depth and patches of a SigLIP encoder without its pooling head."""
    width = v.whole("hidden_size", default=width)
    depth, inner = v.whole("num_hidden_layers", default=12), v.whole("intermediate_size", default=3072)
    count, patch = _patches(v, image, patch)
    total = 3 * patch * patch * width + width + count * width + depth * _block(width, inner) + 2 * width
    return total, width, depth, count


def _gemma3(v: Fields, c: Fields, hidden: int) -> Tower:
    """SigLIP, one projection and its norm."""
    total, width, depth, _ = _siglip(v)
    return _made(total + width * hidden + width, width, depth, c.whole("mm_tokens_per_image", default=256))


def _paligemma(v: Fields, c: Fields, hidden: int) -> Tower:
    """SigLIP and one biased projection."""
    del c
    total, width, depth, count = _siglip(v)
    return _made(total + width * hidden + hidden, width, depth, count)


def _clip(v: Fields) -> tuple[int, int, int, int]:
    """Parameters, width, depth and patches of a CLIP vision encoder."""
    width = v.whole("hidden_size", default=768)
    depth, inner = v.whole("num_hidden_layers", default=12), v.whole("intermediate_size", default=3072)
    count, patch = _patches(v, 224, 32)
    total = width + 3 * patch * patch * width + (count + 1) * width + 4 * width + depth * _block(width, inner)
    return total, width, depth, count


def _llava(v: Fields, c: Fields, hidden: int) -> Tower:
    """CLIP, SigLIP or Pixtral and a two-layer projector; the tiled variants add one learned row."""
    if v.text("model_type") == "pixtral":
        return _pixtral(v, c, hidden)
    siglip = v.text("model_type") == "siglip_vision_model"
    total, width, depth, count = _siglip(v) if siglip else _clip(v)
    if siglip and v.flag("vision_use_head", default=True):
        inner = v.whole("intermediate_size", default=3072)
        total += width + _block(width, inner, norms=2)  # the pooling head, loaded though unused
    layers = c.raw("vision_feature_layer")
    features = width * (len(layers) if isinstance(layers, list | tuple) else 1)
    bias = 1 if c.flag("multimodal_projector_bias", default=True) else 0
    projector = features * hidden + hidden * hidden + 2 * bias * hidden
    newline = hidden if c.text("model_type") in {"llava_next", "llava_onevision"} else 0
    return _made(total + projector + newline, width, depth, count)


def _pixtral(v: Fields, c: Fields, hidden: int) -> Tower:
    """Pixtral: gated blocks under scale-only norms; a patch merger where the wrapper has one."""
    width = v.whole("hidden_size", default=1024)
    depth, inner = v.whole("num_hidden_layers", default=24), v.whole("intermediate_size", default=4096)
    patch = v.whole("patch_size", default=16)
    total = 3 * patch * patch * width + width + depth * (4 * width * width + 3 * width * inner + 2 * width)
    bias = 1 if c.flag("multimodal_projector_bias", default=c.text("model_type") == "llava") else 0
    projector = width * hidden + hidden * hidden + 2 * bias * hidden
    if c.text("model_type") in {"mistral3", "ministral3"}:
        projector += width + c.whole("spatial_merge_size", default=2) ** 2 * width * width
    return _made(total + projector, width, depth)


def _qwen2_vl(v: Fields, c: Fields, hidden: int) -> Tower:
    """Qwen2-VL: three-dimensional patches, plain blocks, a merger of four patches."""
    del c
    hidden = v.whole("hidden_size", default=hidden)
    width, depth = v.whole("embed_dim", default=1280), v.whole("depth", default=32)
    patch, merged = v.whole("patch_size", default=14), v.whole("spatial_merge_size", default=2) ** 2
    inner = int(width * v.number("mlp_ratio", default=4))
    total = 3 * v.whole("temporal_patch_size", default=2) * patch * patch * width + depth * _block(width, inner)
    merger = 2 * width + (merged * width) ** 2 + merged * width + merged * width * hidden + hidden
    return _made(total + merger, width, depth)


def _qwen25_vl(v: Fields, c: Fields, hidden: int) -> Tower:
    """Qwen2.5-VL: gated biased blocks under scale-only norms."""
    del c
    width, depth = v.whole("hidden_size", default=1280), v.whole("depth", default=32)
    inner, patch = v.whole("intermediate_size", default=3420), v.whole("patch_size", default=14)
    merged = v.whole("spatial_merge_size", default=2) ** 2
    block = 4 * (width * width + width) + 3 * width * inner + 2 * inner + width + 2 * width
    total = 3 * v.whole("temporal_patch_size", default=2) * patch * patch * width + depth * block
    out = v.whole("out_hidden_size", default=hidden)
    return _made(total + width + (merged * width) ** 2 + merged * width + merged * width * out + out, width, depth)


def _qwen3_vl(v: Fields, c: Fields, hidden: int) -> Tower:
    """Qwen3-VL and Qwen3.5: learned positions, a merger, and one more per deep-stack layer."""
    width, depth = v.whole("hidden_size", default=1152), v.whole("depth", default=27)
    inner, patch = v.whole("intermediate_size", default=4304), v.whole("patch_size", default=16)
    merged = v.whole("spatial_merge_size", default=2) ** 2 * width
    out = v.whole("out_hidden_size", default=hidden)
    stem = 3 * v.whole("temporal_patch_size", default=2) * patch * patch * width + width
    positions = v.whole("num_position_embeddings", default=2304) * width
    merger = merged * merged + merged + merged * out + out
    deep = v.items("deepstack_visual_indexes")
    extra = len(deep) if deep is not None else 0 if c.text("model_type").startswith("qwen3_5") else 3
    total = stem + positions + depth * _block(width, inner) + merger + 2 * width + extra * (merger + 2 * merged)
    return _made(total, width, depth)


def _llama4(v: Fields, c: Fields, hidden: int) -> Tower:
    """Llama 4: a class token, a pixel-shuffling adapter and one projection."""
    del c
    width, depth = v.whole("hidden_size", default=768), v.whole("num_hidden_layers", default=34)
    inner = v.whole("intermediate_size", default=5632)
    count, patch = _patches(v, 448, 14)
    total = width + (count + 1) * width + 3 * patch * patch * width + 4 * width + depth * _block(width, inner)
    middle, out = v.whole("projector_input_dim", default=4096), v.whole("projector_output_dim", default=4096)
    adapter = inner * middle + middle * out + v.whole("vision_output_dim", default=out) * hidden
    return _made(total + adapter, width, depth, int(count * v.number("pixel_shuffle_ratio", default=0.5) ** 2))


def _internvl(v: Fields, c: Fields, hidden: int) -> Tower:
    """InternViT: layer scales, optional query-key norms, a two-layer projector over four patches."""
    width, depth = v.whole("hidden_size", default=3200), v.whole("num_hidden_layers", default=48)
    inner = v.whole("intermediate_size", default=12800)
    count, patch = _patches(v, 448, 14)
    scale_only = v.text("norm_type", default="layer_norm") == "rms_norm"
    block = (4 * width * width + width + (3 * width if v.flag("qkv_bias") else 0) + 2 * width * inner + inner + width
             + 2 * width + (2 if scale_only else 4) * width + (2 * width if v.flag("qk_normalization") else 0))
    total = width + 3 * patch * patch * width + width + (count + 1) * width + depth * block
    ratio = c.number("downsample_ratio", default=0.5) ** 2
    merged = int(width / ratio)
    projector = 2 * merged + merged * hidden + hidden + hidden * hidden + hidden
    return _made(total + projector, width, depth, int(count * ratio))


def _gemma4(v: Fields, c: Fields, hidden: int) -> Tower:
    """Gemma 4: gated blocks with four norms, a table of positions per axis, one projection."""
    width, depth = v.whole("hidden_size", default=768), v.whole("num_hidden_layers", default=16)
    inner, patch = v.whole("intermediate_size", default=3072), v.whole("patch_size", default=16)
    head_dim = v.whole("head_dim", default=width // v.whole("num_attention_heads", default=12))
    block = 4 * width * width + 3 * width * inner + 4 * width + 2 * head_dim
    positions = 2 * v.whole("position_embedding_size", default=10240) * width
    total = 3 * patch * patch * width + positions + depth * block
    return _made(total + width * hidden, width, depth, c.whole("vision_soft_tokens_per_image", default=280))


def _moonvit(v: Fields, c: Fields, hidden: int) -> Tower:
    """MoonViT of Kimi K2.5: SigLIP's blocks on a 64 × 64 grid, a merger of four patches."""
    del c
    width = v.whole("vt_hidden_size", default=1152)
    depth, inner = v.whole("vt_num_hidden_layers", default=27), v.whole("vt_intermediate_size", default=4304)
    patch = v.whole("patch_size", default=14)
    grid = v.whole("init_pos_emb_height", default=64) * v.whole("init_pos_emb_width", default=64)
    total = 3 * patch * patch * width + width + grid * width + depth * _block(width, inner) + 2 * width
    merged = 4 * width
    return _made(total + 2 * width + merged * merged + merged + merged * hidden + hidden, width, depth)


def _idefics3(v: Fields, c: Fields, hidden: int) -> Tower:
    """Idefics 3 and SmolVLM: SigLIP and one projection of shuffled pixels."""
    total, width, depth, count = _siglip(v, width=768, image=224, patch=32)
    factor = c.whole("scale_factor", default=2) ** 2
    return _made(total + factor * width * hidden, width, depth, count // factor)


_READERS: Mapping[str, Callable[[Fields, Fields, int], Tower]] = {
    "gemma3": _gemma3, "paligemma": _paligemma, "llava": _llava, "llava_next": _llava, "vipllava": _llava,
    "mistral3": _pixtral, "ministral3": _pixtral, "pixtral": _pixtral, "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen25_vl, "qwen3_vl": _qwen3_vl, "qwen3_vl_moe": _qwen3_vl, "qwen3_5": _qwen3_vl,
    "qwen3_5_moe": _qwen3_vl, "gemma4": _gemma4, "kimi_k25": _moonvit, "idefics3": _idefics3,
    "smolvlm": _idefics3, "llama4": _llama4, "internvl_chat": _internvl,
}
