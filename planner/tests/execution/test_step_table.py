"""A step table reproduces the steps it was sampled from."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.execution.bound import stack_bound
from planner.core.execution.step import decode_step, prompt_step
from planner.core.execution.step_table import StepTable
from planner.core.execution.tabulate import attention_floors, floor_growth, step_table
from planner.tests.build import MODELS, bound


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("batch", [1.0, 5.0, 64.0, 300.0])
def test_decode_steps(model, calibrated, batch) -> None:
    table = bound(MODELS[model], calibrated=calibrated, tensor=2)
    made = step_table(table, np.asarray(1500.0))
    exact = float(decode_step(table, np.asarray(batch), np.asarray(1500.0)).step_time)
    read = made.time(np.asarray(batch), np.array([batch * 1500.0]), np.asarray(0.0), np.asarray(batch), np.asarray(0.0))
    assert float(read) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("tokens", [128.0, 1000.0, 8192.0])
def test_prompt_steps(model, tokens) -> None:
    table = bound(MODELS[model], calibrated=True, tensor=2)
    made = step_table(table, np.asarray(1.0))
    exact = float(prompt_step(table, np.asarray(tokens), np.asarray(0.0)).step_time)
    pairs = tokens * (tokens + 1) / 2
    read = made.time(np.asarray(tokens), np.array([0.0]), np.asarray(pairs), np.asarray(0.0), np.asarray(1.0))
    assert float(read) == pytest.approx(exact, rel=0.05)


def test_variants_are_the_tables_of_each() -> None:
    members = [bound(MODELS["dense"], calibrated=True, tensor=t, weights=w) for t in (1, 2) for w in ("bf16", "fp8")]
    together = step_table(stack_bound(members), np.full(4, 900.0))
    for index, member in enumerate(members):
        alone = step_table(member, np.asarray(900.0))
        assert np.allclose(together.base[:, index], alone.base, rtol=1e-12)
        assert together.per_request[index] == pytest.approx(float(alone.per_request), rel=1e-12)
        assert np.allclose(together.per_context_token[:, index], alone.per_context_token, rtol=1e-12)


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_floors_in_plain_numbers_are_those_of_the_grid(model, calibrated) -> None:
    table, contexts = bound(MODELS[model], calibrated=calibrated), np.array([1.0, 1024.0, 3000.0, 2e5])
    made = step_table(table, np.asarray(1024.0))
    growth = floor_growth(table, contexts, 1024.0)
    for context, expected in zip(contexts.tolist(), growth.tolist(), strict=True):
        grown = attention_floors(table, 1024.0).growth(context)
        assert grown == pytest.approx(expected, rel=1e-12, abs=1e-18)
        raised = made.plain().raised(grown)
        assert raised.base_on_grid(70.5) == pytest.approx([float(value) for value in StepTable(
            nodes=made.nodes, base=made.base + expected, windows=made.windows, per_pair=made.per_pair,
            per_context_token=made.per_context_token, per_request=made.per_request,
            prefill_extra=made.prefill_extra).base_on_grid(np.asarray(70.5))], rel=1e-9)


def test_floor_growth_moves_a_table_between_contexts() -> None:
    table = bound(MODELS["dense"], calibrated=True)
    near, far = step_table(table, np.asarray(1024.0)), step_table(table, np.asarray(65536.0))
    grown = near.base + floor_growth(table, np.asarray(65536.0), 1024.0)
    assert np.allclose(grown, far.base, rtol=1e-12)
