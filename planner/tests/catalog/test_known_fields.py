"""Inline models and SKUs are read as strictly as created ones; a config.json keeps its own rule."""

from __future__ import annotations

import pytest

from planner.catalog.chips import built_in_chips
from planner.catalog.libraries import SKU_FIELDS, SkuLibrary
from planner.catalog.model_library import MODEL_FIELDS, ModelLibrary
from planner.catalog.models import built_in_models
from planner.core.errors import DomainError, InvalidQuantity, UnknownField
from planner.schemas.resources import ModelForm, SkuForm

CARD = {"params": 8e9, "layers": 32, "kv_heads": 8, "head_dim": 128, "vocab": 128_256}
SKU = {"memory_bytes": 80e9, "bandwidth_bytes_per_s": 3e12, "peak_flop_per_s": {"bf16": 1e15}}
MODELS, SKUS = ModelLibrary(built_in_models()), SkuLibrary(built_in_chips())


def test_the_known_fields_are_those_of_the_creation_forms() -> None:
    assert set(MODEL_FIELDS) == set(ModelForm.model_fields)
    assert set(SKU_FIELDS) == set(SkuForm.model_fields)


@pytest.mark.parametrize(("document", "detail", "hint"), [
    (CARD | {"kvheads": 8}, "kvheads is not a field of a model.", "Did you mean kv_heads?"),
    (CARD | {"active_parameters": 1e9, "zzz": None}, "active_parameters, zzz are not fields", "active_params"),
    (CARD | {"zzz": 1}, "zzz is not a field", "Fields are: id, name, config, params"),
    ({"model_type": "llama", "hidden_size": 4096}, "model_type, hidden_size", "under config"),
    ({"config": {"model_type": "llama"}, "layers": 3}, "not both", None),
    (CARD | {"id": 5}, "id must be text", None),
    (CARD | {"aliases": "x"}, "aliases must be a list of texts", None),
])
def test_models(document, detail, hint) -> None:
    with pytest.raises(DomainError) as refusal:
        MODELS.read("inline", document)
    assert detail in refusal.value.detail
    assert hint is None or hint in refusal.value.hint


@pytest.mark.parametrize(("field", "meant"), [
    ("bandwith", "bandwidth_bytes_per_s"), ("memory_gb", "memory_bytes"), ("link_bytes_per_sec", "link_bytes_per_s"),
    ("power_watts", "power_w")])
def test_skus(field, meant) -> None:
    with pytest.raises(UnknownField) as refusal:
        SKUS.read("inline", SKU | {field: 1.0})
    assert field in refusal.value.detail
    assert refusal.value.hint == f"Did you mean {meant}?"
    assert refusal.value.pointer == f"/{field}"


def test_a_count_of_machines_is_whole() -> None:
    with pytest.raises(InvalidQuantity, match="gpus_per_node must be a whole number"):
        SKUS.read("inline", SKU | {"gpus_per_node": 1.5})


def test_a_config_may_hold_whatever_its_own_rule_tolerates() -> None:
    config = {**built_in_models().record("meta-llama/llama-3.1-8b")["config"], "bos_token_id": 7, "zzz": None}
    assert MODELS.read("inline", {"config": config}).layer_count == 32
