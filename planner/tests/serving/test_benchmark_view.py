"""The benchmark's view of a steady state: waves move time from TPOT to TTFT, one user sees neither."""

from __future__ import annotations

import numpy as np
import pytest

from planner.core.hardware.efficiency.overhead import ServingTerms
from planner.core.serving.benchmark import as_benchmarked

TERMS = ServingTerms(
    wave=0.1, wave_fixed=0.4, hidden=0.2, hidden_fixed=0.4, cohort=1.0, cohort_fixed=2.0, ingest=0.03, ingest_fixed=0.05
)


def view(users: float, *, fixed: bool = False, mean: float = 0.012):
    return as_benchmarked(
        TERMS,
        pure_step=np.array([0.01]),
        mean_step=np.array([mean]),
        first_token=np.array([0.2]),
        users=np.array([users]),
        output_tokens=np.array([101.0]),
        fixed_lengths=np.array([fixed]),
    )


def test_by_hand() -> None:
    got = view(17.0)
    assert got.tpot[0] == pytest.approx(0.01 + 0.8 * 0.002)
    assert got.ttft[0] == pytest.approx(0.03 + 0.2 + (0.1 + 1 / 20) * 0.002 * 100)


def test_equal_lengths_wait_longer_and_feel_less() -> None:
    assert view(17.0, fixed=True).ttft[0] > view(17.0).ttft[0]
    assert view(17.0, fixed=True).tpot[0] < view(17.0).tpot[0]


def test_one_user_waits_for_nobody() -> None:
    assert view(1.0).ttft[0] == pytest.approx(0.23)


def test_never_below_the_pure_step() -> None:
    assert view(8.0, mean=0.009).tpot[0] == pytest.approx(0.01)
