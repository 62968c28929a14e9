"""Every catalogued model against independently computed counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.catalog.models import built_in_models
from planner.core.architecture.cache import elements_per_token, states, window_elements_per_token
from planner.core.architecture.parameters import count_parameters

_FACTS = json.loads((Path(__file__).parent.parent / "data" / "model_facts.json").read_text(encoding="utf-8"))["models"]


@pytest.fixture(params=_FACTS, ids=[fact["id"] for fact in _FACTS])
def fact(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(request.param)


def test_parameters_equal_to_the_unit(fact: dict[str, Any]) -> None:
    counts = count_parameters(built_in_models().model(fact["id"]))
    assert counts.total == fact["total"] == sum(counts.modules.values())
    assert counts.active == fact["active"]
    assert counts.active_without_embedding == fact["active_without_embedding"]
    assert (counts.embedding, counts.head, counts.position) == (fact["embedding"], fact["head"], fact["position"])
    assert counts.active_without_embedding_and_head <= counts.active_without_embedding


def test_draft_modules_are_itemised(fact: dict[str, Any]) -> None:
    counts = count_parameters(built_in_models().model(fact["id"]))
    assert counts.towers.get("mtp") == fact["mtp"]


def test_cache_elements(fact: dict[str, Any]) -> None:
    model = built_in_models().model(fact["id"])
    if fact["elements_full"] is not None:
        assert elements_per_token(model) == fact["elements_full"]
    if fact["elements_window"] is not None:
        assert window_elements_per_token(model) == fact["elements_window"]


def test_recurrent_state(fact: dict[str, Any]) -> None:
    found = list(states(built_in_models().model(fact["id"])))
    if "state_layers" not in fact:
        return
    assert sum(count for count, _ in found) == fact["state_layers"]
    assert all(state.fp32_elements + state.model_elements == fact["state_elements"] + fact["conv_elements"]
               for _, state in found)


def test_catalogue_has_every_fact() -> None:
    assert {fact["id"] for fact in _FACTS} <= set(built_in_models().ids())
    assert len(_FACTS) == 174
