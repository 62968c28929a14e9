"""Crossings of weights, cache and arithmetic: where the step itself says they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.execution.crossover import crossings, weight_traffic
from planner.core.execution.step import decode_step
from planner.tests.build import MODELS, bound

LAYOUTS = [{}, {"tensor": 4}, {"tensor": 2, "data": 4, "expert": 8}]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("model", MODELS)
@given(context=st.floats(16, 1e6))
def test_at_the_crossover_cache_equals_weights(model, layout, context) -> None:
    if model == "dense" and "expert" in layout:
        layout = {"tensor": 2, "data": 4}
    table = bound(MODELS[model], **layout)
    found = crossings(table).crossover(context)
    assert found is not None
    cost = decode_step(table, np.asarray(max(found, 1e-9)), np.asarray(context))
    append = context / (context + 1)  # the step also writes one entry a sequence
    local = found / (layout.get("data", 1))
    if local >= 1:
        assert float(cost.total(cost.cache)) * append == pytest.approx(float(cost.total(cost.weights)), rel=1e-6)


@pytest.mark.parametrize("model", MODELS)
@given(context=st.floats(1, 1000))
def test_at_the_critical_batch_arithmetic_equals_traffic(model, context) -> None:
    table = bound(MODELS[model])
    found = crossings(table).critical_step(context)
    if found is None:
        return
    cost = decode_step(table, np.asarray(found), np.asarray(context))
    kept = np.array([n != "embedding" for n in cost.names]) * cost.count
    compute = float((kept * cost.work / cost.peak).sum())
    memory = float((kept * cost.traffic).sum()) / float(table.bandwidth)
    assert compute == pytest.approx(memory, rel=1e-9)


@given(batch=st.floats(0.01, 1e5))
def test_weight_traffic_is_the_steps_own(batch) -> None:
    table = bound(MODELS["mixture"], tensor=2)
    cost = decode_step(table, np.asarray(batch), np.asarray(100.0))
    if batch >= 1:
        assert weight_traffic(table).at(batch) == pytest.approx(float(cost.total(cost.weights)), rel=1e-12)


def test_without_a_cache_nothing_crosses() -> None:
    assert weight_traffic(bound(MODELS["dense"])).meets(0.0) is None
