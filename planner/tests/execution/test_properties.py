"""Physics that every step obeys, whatever the model, layout, format or profile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.execution.step import decode_step, prompt_step
from planner.tests.build import H100, MODELS, bound

LAYOUTS = [{}, {"tensor": 4}, {"tensor": 2, "data": 2, "expert": 4}, {"tensor": 2, "pipeline": 2}]
FORMATS = ["bf16", "fp8", "w8a16", "w4a16"]
CASES = [(m, layout, f, c) for m in MODELS for layout in LAYOUTS for f in FORMATS for c in (False, True)
         if not (m == "dense" and layout.get("expert", 1) > 1)]


@pytest.mark.parametrize(("model", "layout", "weights", "calibrated"), CASES)
def test_decode_time_grows_with_batch_and_context(model, layout, weights, calibrated) -> None:
    table = bound(MODELS[model], weights=weights, calibrated=calibrated, **layout)
    batch = np.geomspace(1, 4096, 40)[:, None]
    context = np.geomspace(16, 131072, 20)[None, :]
    time = decode_step(table, batch, context).step_time
    assert (np.diff(time, axis=0) >= -1e-12 * time[1:]).all()
    assert (np.diff(time, axis=1) >= -1e-12 * time[:, 1:]).all()


@pytest.mark.parametrize(("model", "layout", "weights", "calibrated"), [c for c in CASES if c[3]])
def test_never_faster_than_the_datasheet(model, layout, weights, calibrated) -> None:
    ideal = bound(MODELS[model], weights=weights, **layout)
    real = bound(MODELS[model], weights=weights, calibrated=calibrated, **layout)
    batch, context = np.geomspace(1, 8192, 30)[:, None], np.geomspace(16, 131072, 12)[None, :]
    slow, fast = decode_step(real, batch, context), decode_step(ideal, batch, context)
    assert (slow.time >= fast.time * (1 - 1e-12)).all()
    assert (slow.step_time >= fast.step_time).all()
    tokens = np.geomspace(1, 65536, 30)
    long, short = prompt_step(real, tokens, 0.0 * tokens), prompt_step(ideal, tokens, 0.0 * tokens)
    assert (long.step_time >= short.step_time).all()


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_a_grid_equals_its_points(model, calibrated) -> None:
    table = bound(MODELS[model], calibrated=calibrated, tensor=2)
    batch, context = np.array([1.0, 7.0, 64.0, 511.5])[:, None], np.array([1.0, 1000.0, 33333.0])[None, :]
    grid = decode_step(table, batch, context)
    for i in range(4):
        for j in range(3):
            point = decode_step(table, batch[i, 0], context[0, j])
            assert np.allclose(grid.time[:, i, j], point.time, rtol=1e-12, atol=0)
            assert grid.step_time[i, j] == pytest.approx(float(point.step_time), rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_tensor_parallelism_conserves_totals(model) -> None:
    """Work and traffic over all ranks equal one rank's, replicated routers and norms aside."""
    one = decode_step(bound(MODELS[model]), np.asarray(32.0), np.asarray(2048.0))
    for ranks in (2, 4, 8):
        many = decode_step(bound(MODELS[model], tensor=ranks), np.asarray(32.0), np.asarray(2048.0))
        for name in ("qkv", "o", "gate_up", "down", "experts", "attention", "head"):
            a = [i for i, n in enumerate(one.names) if n == name]
            b = [i for i, n in enumerate(many.names) if n == name]
            assert np.allclose(ranks * many.work[b], one.work[a], rtol=1e-12)
            assert np.allclose(ranks * many.weights[b], one.weights[a], rtol=1e-12)
            assert np.allclose(ranks * many.cache[b], one.cache[a], rtol=1e-12)


def test_more_ranks_than_kv_heads_repeat_the_cache() -> None:
    wide = replace(H100, scale_up=replace(H100.scale_up, domain=16))
    eight, sixteen = (decode_step(bound(MODELS["dense"], chip=wide, tensor=n), np.asarray(8.0), np.asarray(1024.0))
                      for n in (8, 16))
    assert sixteen.total(sixteen.cache) == pytest.approx(float(eight.total(eight.cache)))


@given(batch=st.floats(1, 1e5), context=st.floats(0, 1e6), scale=st.floats(1.1, 10))
def test_faster_memory_never_slows_a_step(batch, context, scale) -> None:
    quick = replace(H100, bandwidth=H100.bandwidth * scale)
    b, c = np.asarray(batch), np.asarray(context)
    slow = decode_step(bound(MODELS["mixture"]), b, c).step_time
    fast = decode_step(bound(MODELS["mixture"], chip=quick), b, c).step_time
    assert fast <= slow * (1 + 1e-12)
    assert fast >= slow / scale * (1 - 1e-12)
