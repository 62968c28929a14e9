"""Vision towers counted from their dimensions, against totals counted from published modelling code."""

from __future__ import annotations

from typing import Any

import pytest

from planner.catalog.importers.huggingface.towers import towers_of
from planner.catalog.models import built_in_models

_SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304, "model_type": "siglip_vision_model", "patch_size": 14,
           "num_hidden_layers": 27, "num_attention_heads": 16}
_CLIP = {"hidden_size": 1024, "image_size": 336, "intermediate_size": 4096, "model_type": "clip_vision_model",
         "num_hidden_layers": 24, "patch_size": 14}
_GEMMA4 = {"model_type": "gemma4_vision", "hidden_size": 1152, "num_hidden_layers": 27, "num_attention_heads": 16,
           "intermediate_size": 4304, "patch_size": 16}
_QWEN3 = {"hidden_size": 1152, "depth": 27, "num_heads": 16, "intermediate_size": 4304, "patch_size": 16}
_PIXTRAL = {"model_type": "pixtral", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
            "intermediate_size": 4096, "patch_size": 14}
_LLAMA4 = {"model_type": "llama4_vision_model", "hidden_size": 1408, "num_hidden_layers": 34, "patch_size": 14,
           "intermediate_size": 5632, "image_size": 336}
# SigLIP base has 92,884,224 with its pooling head of 7,087,104, which no wrapper loads.
# Published totals less the language model, or counted from transformers 5.24 on the meta device.
_TOWERS: tuple[tuple[str, dict[str, Any], int, int], ...] = (
    ("gemma3", {**_SIGLIP, "image_size": 896}, 5376, 423_060_336),
    ("gemma3", {**_SIGLIP, "image_size": 896}, 2560, 419_816_304),
    ("paligemma", {**_SIGLIP, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                   "image_size": 224, "patch_size": 16}, 2048, 92_884_224 - 7_087_104 + 768 * 2048 + 2048),
    ("llava", _CLIP, 4096, 324_487_168),
    ("llava_next", _CLIP, 4096, 324_491_264),
    ("llava", _PIXTRAL | {"patch_size": 16}, 5120, 434_957_312),
    ("mistral3", _PIXTRAL, 5120, 438_958_080),
    ("qwen2_vl", {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "hidden_size": 3584}, 3584, 675_759_104),
    ("qwen2_5_vl", {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "out_hidden_size": 3584}, 3584,
     676_550_144),
    ("qwen3_vl", {**_QWEN3, "out_hidden_size": 4096}, 4096, 576_388_336),
    ("qwen3_5", {**_QWEN3, "out_hidden_size": 5120}, 5120, 460_730_096),
    ("gemma4", _GEMMA4, 2816, 572_792_112),
    ("kimi_k25", {"vt_hidden_size": 1152}, 7168, 471_143_920),
    ("llama4", _LLAMA4, 5120, 871_932_416),
    ("idefics3", {"hidden_size": 1152, "intermediate_size": 3072, "num_hidden_layers": 12, "patch_size": 32,
                  "image_size": 224}, 4096, 171_270_144),
    ("internvl_chat", {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096, "image_size": 448,
                       "patch_size": 14, "qkv_bias": True}, 4096, 337_583_104),
)


@pytest.mark.parametrize(("wrapper", "vision", "hidden", "parameters"), _TOWERS,
                         ids=[f"{i}-{tower[0]}" for i, tower in enumerate(_TOWERS)])
def test_counts(wrapper: str, vision: dict[str, Any], hidden: int, parameters: int) -> None:
    # An empty object would say nothing, so every case names at least the kind of its encoder.
    (tower,), uncounted = towers_of({"model_type": wrapper, "vision_config": {"num_channels": 3, **vision}}, hidden)
    assert tower.parameters == parameters
    assert tower.kind == "vision"
    assert tower.hidden
    assert tower.layers
    assert uncounted == ()


def test_nested_and_unknown_encoders() -> None:
    config = {"model_type": "new_omni", "thinker_config": {"audio_config": {"d_model": 5}}}
    assert towers_of(config, 64) == ((), ("audio",))
    assert towers_of({"model_type": "llama"}, 64) == ((), ())


def test_catalogued_towers_agree_with_the_formula() -> None:
    catalog = built_in_models()
    for model_id in ("qwen/qwen3-vl-30b-a3b-instruct", "qwen/qwen3.6-27b", "qwen/qwen3.5-35b-a3b",
                     "ibm-granite/granite-vision-3.3-2b"):
        record = catalog.record(model_id)
        (tower,), _ = towers_of(record["config"], catalog.model(model_id).hidden)
        assert tower.parameters == record["towers"][0]["parameters"]
