import itertools

import numpy as np
import pytest

from planner.core.fleet.sharing import SHORT, Sharing, moved

FIRM = np.array([True, True])


def test_divisible_replicas_meet_all_loads_by_the_same_multiple():
    density, need = np.array([[1.0, 2.0], [1.0, 1.0]]), np.array([8.0, 4.0])
    share = Sharing(density, need, np.zeros(2), FIRM).shared(np.array([4, 4]))
    # The first pool for the second load, the second for the first.
    assert share.tolist() == [[0, 4], [4, 0]]


@pytest.mark.parametrize("seed", range(30))
def test_all_gpus_are_given_away_and_few_better_shares_are_left(seed):
    rng = np.random.default_rng(seed)
    loads, pools = 2, 2
    gpus = rng.integers(0, 7, size=pools)
    density, need = rng.uniform(0.5, 2.0, size=(loads, pools)), rng.uniform(1.0, 6.0, size=loads)
    sharing = Sharing(density, need, np.zeros(loads), FIRM)
    sharing.shared(np.array([3, 3]))
    share = sharing.shared(gpus)
    assert (share >= 0).all()
    assert (share.sum(axis=0) == gpus).all()
    carried = density[:, :, None] * np.arange(8)
    after, missing = moved(carried, np.stack([need, np.zeros(loads)]), FIRM, share)
    assert (after >= 0).all()
    assert (after.sum(axis=0) == gpus).all()

    def lacking(first):
        given = np.stack([first, gpus - first])
        return float(np.maximum(1.0 - (density * given).sum(axis=1) / need, 0.0).sum())

    assert missing == pytest.approx(lacking(after[0]), abs=SHORT)
    best = min(lacking(np.array(first)) for first in itertools.product(*(range(g + 1) for g in gpus)))
    assert missing <= best + 0.05


def test_loads_that_firm_pools_must_carry_are_moved_there():
    carried = np.ones((2, 2, 1)) * np.arange(9)
    wanted = np.array([[4.0, 4.0], [4.0, 0.0]])
    share, missing = moved(carried, wanted, np.array([True, False]), np.array([[0, 4], [4, 0]]))
    assert missing <= SHORT
    assert share.tolist() == [[4, 0], [0, 4]]


def test_a_load_no_gpu_is_left_for_stays_missing():
    nothing = np.zeros((1, 1), dtype=np.int64)
    share, missing = moved(np.zeros((1, 1, 9)), np.array([[1.0], [0.0]]), np.array([True]), nothing)
    assert (share.tolist(), missing) == ([[0]], 1.0)
