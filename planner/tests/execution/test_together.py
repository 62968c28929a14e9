"""Steps evaluated as columns of the same arrays are the steps evaluated one by one."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as given_settings
from hypothesis import strategies as st

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.execution.bound import bind, stack_bound, take
from planner.core.execution.prompt import prompt_cost
from planner.core.execution.step import decode_step
from planner.core.execution.summary import StepSummary, summarise
from planner.core.execution.together import Columns, columns, decode_and_prompt, decode_times
from planner.core.operators.card import lower_card
from planner.core.parallelism import Layout
from planner.core.precision import cache_format, weight_format
from planner.tests.build import CARD_8B, H100, H200, bound

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
KINDS = ["llama-3.1-8b", "mixtral-8x7b-v0.1", "deepseek-v3", "gemma-3-27b-it", "qwen3-next-80b-a3b-instruct",
         "state-spaces/mamba-2.8b-hf"]


def members(model: str, *, calibrated: bool) -> list:
    value = PLANNER.catalog.model(model).value
    return [bound(value, chip=chip, calibrated=calibrated, weights=weights, tensor=2)
            for chip in (H100, H200) for weights in ("bf16", "fp8")]


def same(found: StepSummary, expected: StepSummary) -> None:
    for field in fields(StepSummary):
        if field.name not in {"operators", "bound", "shares"}:
            assert getattr(found, field.name) == pytest.approx(getattr(expected, field.name), rel=1e-12), field.name
    assert found.bound == expected.bound
    assert found.shares == pytest.approx(expected.shares, rel=1e-12, abs=1e-15)
    for one, other in zip(found.operators, expected.operators, strict=True):
        assert (one.name, one.bound) == (other.name, other.bound)
        assert one[1:5] == pytest.approx(other[1:5], rel=1e-12)
        assert (one.intensity or 0.0, one.time_s) == pytest.approx((other.intensity or 0.0, other.time_s), rel=1e-12)


def check(made: Columns, tables: list, batch: float, context: float, prompt: tuple[float, float, float]) -> None:
    tokens, cached, budget = prompt
    batches = batch * np.array([1.0, 2.0, 1.0, 1.0])[:len(tables)]
    found = decode_and_prompt(made, batches, context, tokens=tokens, cached=cached, budget=budget)
    for table, own, time in zip(tables, batches, found.times, strict=True):
        alone = decode_step(table, np.asarray(own), np.asarray(context))
        assert time == pytest.approx(float(alone.step_time), rel=1e-12)
    same(found.step, summarise(alone))
    whole = prompt_cost(tables[-1], tokens, cached, budget)
    assert found.chunks == whole.chunks
    same(found.prompt, whole.summary)
    assert decode_times(stack_bound(tables), batches, context) == pytest.approx(found.times, rel=1e-12)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("model", KINDS)
def test_columns_are_the_steps_of_each(model, calibrated) -> None:
    tables = members(model, calibrated=calibrated)
    made = columns(tables)

    @given_settings(deadline=None)  # a loaded machine may take longer than a fifth of a second
    @given(batch=st.floats(1, 5000), context=st.floats(1, 2e5), tokens=st.floats(1, 1e5), cached=st.floats(0, 1e5),
           budget=st.sampled_from([512.0, 8192.0]))
    def run(batch, context, tokens, cached, budget) -> None:
        check(made, tables, batch, context, (tokens, cached, budget))

    run()


def test_cards_have_columns_too() -> None:
    table = lower_card(CARD_8B, layout=Layout(), weights=weight_format("bf16"), cache=cache_format("bf16"))
    tables = [bind(table, H100)]
    check(columns(tables), tables, 40.0, 1500.0, (900.0, 0.0, 8192.0))


def test_taken_variants_are_those_that_were_stacked() -> None:
    tables = members("mixtral-8x7b-v0.1", calibrated=True)
    taken = take(stack_bound(tables), slice(1, 3))
    batch, context = np.array([3.0, 70.0]), np.array([500.0, 9000.0])
    for name in ("time", "work", "weights", "cache", "activations", "link"):
        whole = getattr(decode_step(taken, batch, context), name)
        for index, table in enumerate(tables[1:3]):
            assert np.array_equal(whole[:, index], getattr(decode_step(table, batch[index], context[index]), name))
