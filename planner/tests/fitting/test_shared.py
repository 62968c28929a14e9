"""Shared coefficients: planted values come back, folds never see their group, weights balance groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.core.errors import InvalidQuantity
from planner.core.execution.interval import factors
from planner.core.fitting.coefficients import (
    ENGINES,
    EVERYTHING,
    FITTED,
    FITTED_FIRST,
    adjuster,
    serving_fields,
    usual_values,
)
from planner.core.fitting.end_to_end import Coefficient, Rows, fit_shared, group_weights
from planner.core.fitting.intervals import coverage, spread_of
from planner.core.fitting.residuals import local_correction, measures
from planner.tests.build import profile

GROUP = np.repeat(np.arange(6), 10)
LOAD = np.tile(np.linspace(1, 10, 10), 6)
TRUE = 2.0 + 0.3 * LOAD


def model(bias: np.ndarray):
    def residuals(values, keep):
        predicted = values["base"] + values["slope"] * LOAD
        return (np.log(predicted / TRUE) + bias)[keep]

    return residuals


COEFFICIENTS = [
    Coefficient(name="base", usual=1.0, low=0.1, high=10.0),
    Coefficient(name="slope", usual=1.0, low=0.01, high=3.0),
]
ROWS = Rows(group=GROUP, weight=group_weights(GROUP), scale=np.full(60, 0.1))


def test_planted_coefficients_come_back() -> None:
    fit = fit_shared(COEFFICIENTS, model(np.zeros(60)), ROWS, iterations=20)
    assert fit.values["base"] == pytest.approx(2.0, rel=0.02)
    assert fit.values["slope"] == pytest.approx(0.3, rel=0.02)
    assert np.abs(fit.residuals).max() < 0.02
    assert len(fit.fold_values) == 6


def test_a_left_out_group_does_not_teach() -> None:
    bias = np.where(GROUP == 5, 0.3, 0.0)
    fit = fit_shared(COEFFICIENTS, model(bias), ROWS, iterations=20)
    assert np.abs(fit.left_out[GROUP == 5]).mean() == pytest.approx(0.3, abs=0.03)
    assert np.abs(fit.left_out[GROUP != 5]).mean() < np.abs(fit.left_out[GROUP == 5]).mean()


def test_unmeasured_rows_weigh_nothing() -> None:
    def residuals(values, keep):
        return np.where(keep % 2 == 0, model(np.zeros(60))(values, keep), np.nan)

    fit = fit_shared(COEFFICIENTS, residuals, ROWS, iterations=20)
    assert fit.values["base"] == pytest.approx(2.0, rel=0.05)


def test_bounds_hold() -> None:
    tight = [replace(COEFFICIENTS[0], high=1.2), COEFFICIENTS[1]]
    fit = fit_shared(tight, model(np.zeros(60)), ROWS, iterations=20)
    assert fit.values["base"] <= 1.2 + 1e-9


def test_group_weights_balance_by_root_size() -> None:
    weight = group_weights(np.array([0] * 16 + [1] * 4))
    assert weight[0] / weight[-1] == pytest.approx(0.5)


def test_every_fitted_coefficient_exists_and_changes_a_profile() -> None:
    found = profile()
    for name in (*FITTED, *FITTED_FIRST):
        coefficient = EVERYTHING[name]
        engine = name.split("~")[1] if "~" in name else name.split("/")[1] if "/" in name else "vllm"
        family = name.split("@")[1].split("/")[0] if "@" in name else "hopper"
        there = replace(found, engine=engine, architecture=family)
        assert adjuster({name: coefficient.usual * 1.3})(there) != adjuster({})(there)


def test_usual_values_are_inside_their_bounds() -> None:
    for name, value in usual_values().items():
        assert EVERYTHING[name].low <= value <= EVERYTHING[name].high


def test_unknown_engines_get_the_mean_of_the_known() -> None:
    values = usual_values()
    generic = serving_fields(values, "generic")
    known = [serving_fields(values, e)["wave"] for e in ENGINES]
    assert min(known) <= generic["wave"] <= max(known)


def test_spreads_cover_nine_tenths_and_a_margin() -> None:
    random = np.random.default_rng(3)
    group = np.repeat(np.arange(20), 40)
    residual = np.repeat(0.1 * random.standard_normal(20), 40) + 0.07 * random.standard_normal(800)
    spread = spread_of(residual, group)
    assert coverage(residual, spread) == pytest.approx(0.925, abs=0.01)
    assert coverage(residual, spread_of(residual, group, 0.9)) == pytest.approx(0.9, abs=0.01)
    assert coverage(residual, spread, known=False) > 0.95
    assert 0.05 < spread.within < 0.1
    with pytest.raises(InvalidQuantity):
        spread_of(np.zeros(3), np.zeros(3, dtype=np.int64))


def test_measures_by_hand() -> None:
    got = measures(
        np.array([1.1, 0.8, np.nan, 1.0]),
        np.array([1.0, 1.0, 1.0, np.nan]),
        np.array([0, 1, 1, 1]),
        low=np.array([0.9, 0.9, 0, 0]),
        high=np.array([1.2, 0.95, 0, 0]),
    )
    assert got is not None
    assert (got.n, got.coverage_90) == (2, 0.5)
    assert got.mape == pytest.approx(0.15)
    assert got.bias == pytest.approx(-0.05)
    assert got.mape_interval is not None
    assert measures(np.array([np.nan]), np.array([1.0]), np.array([0])) is None
    alone = measures(np.array([1.1]), np.array([1.0]), np.array([0]))
    assert alone is not None
    assert alone.mape_interval is None
    assert alone.coverage_90 is None


def test_own_rows_move_and_narrow_a_prediction() -> None:
    spread = spread_of(
        np.repeat([0.1, -0.1, 0.05, -0.05], 10) + 0.02 * np.tile(np.linspace(-1, 1, 10), 4), np.repeat(np.arange(4), 10)
    )
    own = np.log([[8, 1000, 1000, 1, 1], [64, 1000, 1000, 1, 1.0]])
    asked = np.log([[16, 1000, 1000, 1, 1], [512, 8000, 1000, 8, 1.0]])
    got = local_correction(own, np.array([0.2, 0.2]), asked, spread)
    assert 0 < got.mean[1] <= got.mean[0] < 0.2  # shrunk, and less so nearby
    assert got.deviation[0] < got.deviation[1]
    assert got.deviation.max() < np.hypot(spread.within, spread.between)
    assert factors(spread, known=True)[0] < 1 < factors(spread, known=True)[1]
