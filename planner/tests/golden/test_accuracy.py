"""Accuracy that was reached is kept: losing more than STEP needs a decision in docs/adr and a line under Numbers.

Sources: the closed-loop runs that ship with AIConfigurator 0.12.0 (Apache-2.0), every twentieth of them in the tests'
data; figures of 2026-11-29. They are lowered when a better fit is published, and raised only with such a decision.
"""

import csv
from pathlib import Path

import pytest

from planner.bootstrap import Planner
from planner.catalog.accuracy import published_accuracy
from planner.config import settings
from planner.services.accuracy.files import checked_rows

STEP = 0.01
LEFT_OUT = {"mape": 0.088, "median_ape": 0.065}
"""TPOT errors on groups left out of the fit, 21 groups, 1,825 rows."""
SAMPLE = {"mape": 0.081, "median_ape": 0.068}
"""TPOT errors on the tests' own sample."""
ROWS = Path(__file__).parents[1] / "data" / "validation_silicon.csv"


@pytest.fixture
def sample(tmp_path):
    plans = Planner(settings({"PLANNER_DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3"}))
    rows = checked_rows(list(csv.DictReader(ROWS.read_text(encoding="utf-8").splitlines())))
    return plans.validations.answer(rows)


def test_published_errors_of_groups_left_out():
    closed = published_accuracy()["files"][0]
    found = closed["leave_one_group_out"]["tpot_left_out"]
    assert found["n"] == closed["rows"] == 1825
    assert not closed["refused"]
    for name, accepted in LEFT_OUT.items():
        assert found[name] <= accepted + STEP
    for kind in ("coverage_dense", "coverage_moe"):
        assert 0.85 <= closed["leave_one_group_out"][kind] <= 0.95


def test_errors_on_the_sample(sample):
    found = sample["metrics"]["tpot"]
    assert not sample["refused"]
    for name, accepted in SAMPLE.items():
        assert found[name] <= accepted + STEP
