"""No answer below the physical floor, for every catalogue model on every SKU in every format."""

from __future__ import annotations

import numpy as np
import pytest

from planner.bootstrap import Planner
from planner.config import settings
from planner.core.errors import MissingFact
from planner.core.execution.bound import bind
from planner.core.execution.step import decode_step, prompt_step
from planner.core.operators.lower import lower, scheme_for
from planner.core.parallelism import Layout
from planner.core.precision import cache_format

PLANNER = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"}))
MODELS = PLANNER.catalog.ids("model")
SKUS = PLANNER.catalog.ids("sku")
FORMATS = ("auto", "bf16", "fp8", "w8a16", "w4a16", "nvfp4")
BATCH, CONTEXT = np.array([1.0, 48.0, 700.0]), np.array([300.0, 9000.0, 70000.0])


def check(model: str, skus: list[str], formats: tuple[str, ...]) -> int:
    value = PLANNER.catalog.model(model).value
    answered = 0
    for weights in formats:
        table = lower(value, layout=Layout(), scheme=scheme_for(value, weights), cache=cache_format("bf16"))
        for name in skus:
            chip = PLANNER.catalog.sku(name).value
            try:
                ideal = bind(table, chip)
                real = bind(table, chip, PLANNER.plans.profile_of(chip, "vllm"))
            except MissingFact:
                continue
            fast, slow = decode_step(ideal, BATCH, CONTEXT), decode_step(real, BATCH, CONTEXT)
            floor = np.maximum(fast.total(fast.traffic) / chip.bandwidth,
                               fast.total(fast.work) / max(p for p in chip.peaks.values() if p))
            assert (fast.step_time >= floor * (1 - 1e-9)).all(), (model, name, weights)
            assert (slow.time >= fast.time * (1 - 1e-9)).all(), (model, name, weights, slow.names)
            long, short = prompt_step(real, BATCH * 10, 0 * BATCH), prompt_step(ideal, BATCH * 10, 0 * BATCH)
            assert (long.step_time >= short.step_time * (1 - 1e-9)).all(), (model, name, weights)
            answered += 1
    return answered


@pytest.mark.parametrize("model", MODELS[::9])
def test_some_models_on_some_skus(model: str) -> None:
    assert check(model, SKUS[::11], ("auto", "bf16")) > 0


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_model_on_every_sku(model: str) -> None:
    assert check(model, SKUS, FORMATS) > 100


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("model", ["deepseek-ai/deepseek-v3", "meta-llama/llama-3.1-70b"])
def test_an_eight_bit_cache_is_no_faster_than_physics(model: str, engine: str) -> None:
    value = PLANNER.catalog.model(model).value
    table = lower(value, layout=Layout(), scheme=scheme_for(value, "auto"), cache=cache_format("fp8"))
    batch, context = np.array([1.0, 64.0, 1024.0])[:, None], np.array([1.0, 2000.0, 50000.0, 1e6])[None, :]
    answered = 0
    for name in SKUS:
        chip = PLANNER.catalog.sku(name).value
        try:
            ideal, real = bind(table, chip), bind(table, chip, PLANNER.plans.profile_of(chip, engine))
        except MissingFact:
            continue
        fast, slow = decode_step(ideal, batch, context), decode_step(real, batch, context)
        assert (slow.time >= fast.time * (1 - 1e-9)).all(), (name, slow.names)
        answered += 1
    assert answered > 40
