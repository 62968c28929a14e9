"""Every catalogued model lowers to operators, and its rows add up to exactly its parameters."""

from __future__ import annotations

import pytest

from planner.catalog.models import built_in_models
from planner.core.architecture.parameters import count_parameters
from planner.core.memory.weights import weight_bytes_on_rank
from planner.core.operators.lower import lower, scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import cache_format


@pytest.mark.parametrize("model_id", built_in_models().ids())
def test_weight_bytes_are_two_per_parameter(model_id: str) -> None:
    model = built_in_models().model(model_id)
    scheme = scheme_for(model, "bf16")
    table = lower(model, layout=Layout(), scheme=scheme, cache=cache_format("bf16"))
    towers = sum(tower.parameters for tower in model.towers if tower.kind in {"vision", "audio", "projector"})
    # Vocabulary padding to a multiple of 64 may add a few rows.
    expected = 2.0 * (count_parameters(model).total + towers)
    assert weight_bytes_on_rank(table, model, scheme) == pytest.approx(expected, rel=2e-4)
