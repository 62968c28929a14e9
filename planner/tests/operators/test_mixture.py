"""Distinct experts: exact where it is exact, bounded everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.core.operators.mixture import Mixtures, distinct_experts, reached_share


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


def mixtures(groups: float) -> Mixtures:
    """One row of a small mixture."""
    row = {"count": 1.0, "experts": 64.0, "experts_per_token": 4.0, "groups": groups, "hidden": 512.0,
           "intermediate": 256.0, "matrices": 3.0, "expert_bytes": 1e6, "activation_bytes": 2.0}
    return Mixtures(names=("experts",), formats=("bf16",), **{k: np.array([v]) for k, v in row.items()})


def test_tokens_that_reach_a_rank_by_hand_and_against_draws() -> None:
    assert float(reached_share(0.25, 2.0)) == pytest.approx(1 - 0.75**2)
    ranks = np.random.default_rng(3).integers(0, 8, size=(100_000, 4))
    assert float(reached_share(1 / 8, 4.0)) == pytest.approx(np.mean((ranks == 0).any(axis=1)), abs=0.01)


def test_masked_pairs_are_the_other_ranks() -> None:
    tokens = np.array([0.5, 100.0])
    everyone, reaching = mixtures(8.0).masked_pairs(tokens)
    own = mixtures(8.0).pairs(tokens)
    np.testing.assert_allclose(everyone + own, 4 * tokens[None, :], rtol=1e-12)
    np.testing.assert_allclose(reaching + own, 4 * (1 - 0.875**4) * tokens[None, :], rtol=1e-12)
    for none in mixtures(1.0).masked_pairs(tokens):
        assert np.array_equal(np.broadcast_to(none, (1, 2)), np.zeros((1, 2)))
    np.testing.assert_allclose(mixtures(8.0).flow(tokens).work, own * 6 * 512 * 256, rtol=1e-12)
