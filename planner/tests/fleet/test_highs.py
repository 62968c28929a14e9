import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from planner.core.fleet.highs import IMPOSSIBLE, SOLVED, UNFINISHED, Highs

INF = np.inf


def knapsack(**more):
    """Cheapest whole numbers with 3 x + 5 y ≥ 7 at costs 2 and 3; the first coefficient is given in two parts."""
    return Highs(np.array([2.0, 3.0]), ([0, 0, 0], [0, 0, 1], [1.0, 2.0, 5.0]), (np.array([7.0]), np.array([INF])),
                 (np.zeros(2), np.full(2, INF)), **more)


def test_a_relaxation_has_a_value_a_point_and_prices():
    answer = knapsack().solve()
    assert (answer.status, answer.value, answer.bound) == (SOLVED, pytest.approx(4.2), pytest.approx(4.2))
    assert answer.x == pytest.approx([0.0, 1.4])
    assert answer.prices == pytest.approx([0.6])  # USD per unit of the limit: 3 / 5


def test_whole_numbers_have_a_bound_and_no_prices():
    answer = knapsack(integer=np.array([1, 1])).solve()
    best = min(2 * x + 3 * y for x, y in itertools.product(range(4), repeat=2) if 3 * x + 5 * y >= 7)
    assert (answer.value, answer.bound) == (pytest.approx(best), pytest.approx(best))
    assert answer.prices is None


def test_a_limit_that_moves_is_followed():
    most = Highs(np.array([-1.0]), ([0], [0], [2.0]), (np.array([-INF]), np.array([4.0])),
                 (np.zeros(1), np.full(1, INF)))
    assert most.solve().x == pytest.approx([2.0])
    most.at_most(0, 10.0)
    assert most.solve().x == pytest.approx([5.0])


def test_what_cannot_be_is_told_from_what_was_not_finished():
    none = Highs(np.array([1.0]), ([0], [0], [1.0]), (np.array([2.0]), np.array([INF])), (np.zeros(1), np.ones(1)))
    answer = none.solve()
    assert (answer.status, answer.x, answer.value, answer.prices) == (IMPOSSIBLE, None, None, None)
    rng = np.random.default_rng(0)
    hard, shape = rng.integers(1, 1000, size=(30, 60)).astype(float), (30, 60)
    begun = Highs(hard.mean(axis=0), (*np.indices(shape).reshape(2, -1), hard.ravel()),
                  (hard.sum(axis=1) / 2 + 0.5, np.full(30, INF)), (np.zeros(60), np.ones(60)),
                  np.ones(60, dtype=np.int64), gap=0.0, time_limit_s=0.05)
    assert begun.solve().status == UNFINISHED


def test_a_point_to_begin_at_is_kept_if_nothing_better_is_found():
    given = knapsack(integer=np.array([1, 1]))
    given.begin_at(np.array([3.0, 0.0]))
    assert given.solve().value <= 6.0


@pytest.mark.parametrize("point", [[0.0, 0.0], [0.0, -1.0], [-5.0, 5.0]])
def test_a_point_that_breaks_rows_or_bounds_is_forgotten(point):
    given = knapsack(integer=np.array([1, 1]))
    given.begin_at(np.array(point))
    answer = given.solve()
    assert (answer.status, answer.value) == (SOLVED, pytest.approx(5.0))


def test_nothing_is_printed():
    code = ("import numpy as np; from planner.core.fleet.highs import Highs; "
            "one = np.ones(1); h = Highs(one, ([0], [0], [1.0]), (one, one), (0 * one, one), one); "
            "assert h.solve().value == 1.0")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_no_presolve_calls_a_dear_fleet_the_cheapest():
    # A random fleet with spares and an API, which HiGHS 1.16 answered with 5971.96 as long as it probed for
    # variables to fix by duals; without presolve, and by trying everything, 4163.59 is the least.
    given = json.loads((Path(__file__).parents[1] / "data" / "fleet_presolve.json").read_text())
    lower, upper, most = (np.array([sign * INF if x is None else x for x in given[name]])
                          for name, sign in (("lower", -1.0), ("upper", 1.0), ("most", 1.0)))
    entries = given["row"], given["column"], given["value"]
    answer = Highs(np.array(given["cost"]), entries, (lower, upper), (np.zeros(most.size), most),
                   np.array(given["integer"])).solve()
    assert (answer.value, answer.bound) == (pytest.approx(given["optimum"]), pytest.approx(given["optimum"]))


def test_a_point_keeps_its_bounds_to_the_last_bit(monkeypatch):
    asked = Highs(np.array([1.0, -1.0]), ([0, 0], [0, 1], [1.0, 1.0]), (np.array([0.0]), np.array([5.0])),
                  (np.zeros(2), np.full(2, 4.0)))
    asked.solve()
    real, off = asked._solver, asked._solver.getSolution()
    off.col_value = [-1e-9, 4.0 + 1e-9]  # as far as its tolerance allows
    monkeypatch.setattr(asked, "_solver", SimpleNamespace(run=real.run, getModelStatus=real.getModelStatus,
                                                          getInfo=real.getInfo, getSolution=lambda: off))
    assert np.floor(asked.solve().x).tolist() == [0.0, 4.0]
