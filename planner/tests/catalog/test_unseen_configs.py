"""Configurations of models outside the catalogue: they import unchanged and count to the published total."""

from __future__ import annotations

import copy
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.importers.huggingface import read_config
from planner.catalog.models import built_in_models
from planner.core.architecture.parameters import count_parameters
from planner.core.errors import InvalidQuantity, MissingFact
from planner.tests.effort import lines

_DATA = Path(__file__).parent.parent / "data" / "unseen_configs.json"
_UNSEEN = json.loads(_DATA.read_text(encoding="utf-8"))["models"]
_LLAMA = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256}


@pytest.mark.parametrize("case", _UNSEEN, ids=[case["id"] for case in _UNSEEN])
def test_counts_to_the_published_total(case: dict[str, Any]) -> None:
    counts = count_parameters(read_config(case["config"], id=case["id"]))
    itemised = counts.total + sum(counts.towers.values())
    assert case["published"] - case["buffers"] in (counts.total, itemised)


def test_reading_leaves_the_config_alone() -> None:
    case = _UNSEEN[0]
    before = copy.deepcopy(case["config"])
    read_config(case["config"], id="x")
    assert case["config"] == before


def test_reading_a_config_takes_some_thousand_lines() -> None:
    catalog = built_in_models()
    taken = [lines(partial(read_config, catalog.record(i)["config"], id=i, towers=())) for i in catalog.ids()]
    assert sum(taken) / len(taken) < 8_000
    assert max(taken) < 60_000


def test_equal_layers_are_read_together() -> None:
    few, many = (lines(partial(read_config, {**_LLAMA, "num_hidden_layers": n}, id="x")) for n in (2, 1_000))
    assert many < few + 6 * 1_000


@pytest.mark.parametrize("field", ["attention_sink_layers", "cross_layer_sharing", "moe_num_shared_mlp"])
def test_an_unknown_field_is_named(field: str) -> None:
    with pytest.raises(MissingFact, match=field) as caught:
        read_config({**_LLAMA, field: 3}, id="x")
    assert caught.value.pointer == f"/config/{field}"
    assert caught.value.fact == field


@pytest.mark.parametrize("field", ["some_new_dropout", "another_token_id", "switched_off"])
def test_fields_that_change_nothing_pass(field: str) -> None:
    assert read_config({**_LLAMA, field: False if field == "switched_off" else 7}, id="x").layer_count == 2


def test_an_unknown_family_is_refused_with_the_reason() -> None:
    with pytest.raises(MissingFact, match="retnet") as caught:
        read_config({**_LLAMA, "model_type": "retnet"}, id="x")
    assert caught.value.fact == "model_type"
    with pytest.raises(MissingFact, match="no model_type"):
        read_config({name: value for name, value in _LLAMA.items() if name != "model_type"}, id="x")


@pytest.mark.parametrize("field", ["hidden_size", "num_hidden_layers", "vocab_size", "intermediate_size"])
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(MissingFact, match=field):
        read_config({name: value for name, value in _LLAMA.items() if name != field}, id="x")


@pytest.mark.parametrize(("field", "value"), [
    ("hidden_size", -1), ("hidden_size", 0), ("hidden_size", "64"), ("hidden_size", True), ("hidden_size", 64.5),
    ("hidden_size", float("nan")), ("hidden_size", 1e30), ("num_hidden_layers", 10**6), ("num_hidden_layers", 0),
    ("num_key_value_heads", 3), ("tie_word_embeddings", "yes"), ("num_attention_heads", 5),
])
def test_nonsense_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidQuantity) as caught:
        read_config({**_LLAMA, field: value}, id="x")
    assert str(caught.value.pointer).startswith("/config/")


def test_a_config_is_an_object_of_bounded_size() -> None:
    with pytest.raises(InvalidQuantity, match="JSON object"):
        read_config([1], id="x")  # type: ignore[arg-type] # hostile on purpose
    with pytest.raises(InvalidQuantity, match="fields"):
        read_config({str(i): i for i in range(6000)}, id="x")


def test_head_dim_is_read_not_derived() -> None:
    wide = read_config({**_LLAMA, "head_dim": 128}, id="x")
    derived = read_config(_LLAMA, id="x")
    assert wide.layers[0][1].mixer is not None
    assert derived.layers[0][1].mixer is not None
    assert wide.layers[0][1].mixer.caches()[0].elements_per_head == 256
    assert derived.layers[0][1].mixer.caches()[0].elements_per_head == 32


def test_a_tower_nobody_counts_is_named() -> None:
    config = {"model_type": "llava", "text_config": _LLAMA, "vision_config": {"model_type": "new_vit", "width": 5}}
    found = read_config(config, id="x")
    assert found.uncounted == ()  # the wrapper says how its CLIP tower looks
    unknown = read_config({**config, "model_type": "glm4v"}, id="x")
    assert unknown.uncounted == ("vision",)
    assert not unknown.towers
