"""Distinct experts: exact where it is exact, bounded everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.operators.mixture import distinct_experts


@pytest.mark.parametrize(("experts", "chosen", "tokens", "simulated"), [(256, 8, 32, 163.3), (128, 4, 32, 81.7)])
def test_against_simulated_routing(experts, chosen, tokens, simulated) -> None:
    """Monte-Carlo means of uniform top-k routing."""
    rng = np.random.default_rng(7)
    drawn = [len(np.unique(np.concatenate([rng.choice(experts, chosen, replace=False) for _ in range(tokens)])))
             for _ in range(400)]
    found = float(distinct_experts(np.asarray(float(experts)), np.asarray(float(chosen)), np.asarray(float(tokens))))
    assert found == pytest.approx(np.mean(drawn), rel=0.01)
    assert found == pytest.approx(simulated, abs=0.4)


@given(experts=st.integers(1, 512), share=st.floats(0.001, 1), tokens=st.floats(0.01, 1e6))
def test_bounds(experts, share, tokens) -> None:
    chosen = max(1.0, round(experts * share))
    found = float(distinct_experts(np.asarray(float(experts)), np.asarray(chosen), np.asarray(tokens)))
    assert 0 < found <= experts * (1 + 1e-9)
    assert found <= chosen * tokens * (1 + 1e-9)
    if tokens >= 1:
        assert found >= chosen * (1 - 1e-6)
