"""The GPUs of every pool shared out among workloads: divisible first, then whole, then mended by moving a few."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.core.fleet.highs import TOLERANCE, Highs
from planner.core.quantities.arrays import Array

Whole = npt.NDArray[np.int64]

STEPS = (1, 2, 4, 8)
"""[GPU] Moved at once from one workload to another within a pool."""
MOST_MOVES = 12
"""[1] Pairs of moves before units are said to be too few."""
MOST_PAIRED = 256
"""[1] Moves tried two at a time, those first that leave least missing alone: pairs grow with their square."""
SHORT = 1e-9
"""[1] Part of a load that may be missing: float noise."""


class Sharing:
    """Shares of GPUs with which divisible replicas meet all loads by the same multiple, found again as GPUs change.

    Parameters
    ----------
    density : ndarray
        (workload, pool) load per GPU of the densest replica.
    need : ndarray
        (workload,) load, all above zero.
    sure : ndarray
        (workload,) load that firm pools must carry.
    firm : ndarray
        (pool,) whether a pool is firm.
    """

    def __init__(self, density: Array, need: Array, sure: Array, firm: npt.NDArray[np.bool_]) -> None:
        loads, pools = density.shape
        wanted = np.concatenate([need, sure])
        asked = np.flatnonzero(wanted > 0)
        carried = np.zeros((asked.size + pools, loads * pools + 1))
        for row, one in enumerate(asked):
            w = one % loads
            counts = density[w] * (firm if one >= loads else 1.0)
            carried[row, w * pools:(w + 1) * pools], carried[row, -1] = -counts / wanted[one], 1.0
        for p in range(pools):
            carried[asked.size + p, p:loads * pools:pools] = 1.0
        cost = np.zeros(loads * pools + 1)
        cost[-1] = -1.0
        self._shape, self._first = (loads, pools), asked.size
        row_count = asked.size + pools
        self._model = Highs(cost, (*np.nonzero(carried), carried[carried != 0]),
                            (np.full(row_count, -np.inf), np.zeros(row_count)),
                            (np.zeros(cost.size), np.full(cost.size, np.inf)))

    def shared(self, gpus: Whole) -> Whole:
        """Whole GPUs near those that divisible replicas would be given.

        Parameters
        ----------
        gpus : ndarray
            (pool,) GPUs there are.

        Returns
        -------
        ndarray
            (workload, pool), all GPUs given away.
        """
        for row, count in enumerate(gpus, self._first):
            self._model.at_most(row, float(count))
        x = self._model.solve().x
        given = np.zeros(self._shape) if x is None else x[:-1].reshape(self._shape)
        whole: Whole = np.floor(given + TOLERANCE).astype(np.int64)
        for p in range(gpus.size):
            for w in np.argsort(whole[:, p] - given[:, p], kind="stable")[:int(gpus[p] - whole[:, p].sum())]:
                whole[w, p] += 1
            whole[0, p] += gpus[p] - whole[:, p].sum()
        return whole


def moved(carried: Array, wanted: Array, firm: npt.NDArray[np.bool_], share: Whole) -> tuple[Whole, float]:
    """The shares after moves that leave least load missing, and how much is.

    Parameters
    ----------
    carried : ndarray
        (workload, pool, GPU) load carried by 0, 1, 2 … GPUs.
    wanted : ndarray
        (2, workload) load, and load that firm pools must carry.
    firm : ndarray
        (pool,) whether a pool is firm.
    share : ndarray
        (workload, pool) GPUs.

    Returns
    -------
    tuple
        (workload, pool) GPUs and the sum of the parts of loads that are missing [1].
    """
    share = share.copy()
    loads, pools = share.shape
    counts = np.stack([np.ones(pools), firm])
    scale = np.where(wanted > 0, wanted, np.inf)
    kinds = 1 if not wanted[1].any() else 2
    ways, at = _ways(loads, pools), (np.arange(loads)[:, None], np.arange(pools)[None, :])
    for turn in range(MOST_MOVES + 1):
        each = carried[(*at, share)]
        lacking = np.stack([wanted[k] - each @ counts[k] for k in range(kinds)]) / scale[:kinds]
        missing = float(np.maximum(lacking, 0.0).sum())
        moves = ways[:, share[ways[0], ways[2]] >= ways[3]]
        if missing <= SHORT or not moves.size or turn == MOST_MOVES:
            break
        gain = _gain(carried, counts[:kinds], scale[:kinds], share, moves)
        chosen, left = _best(moves, gain, lacking.ravel())
        if left >= missing - SHORT:
            break
        for source, target, pool, step in moves[:, chosen].T:
            share[source, pool] -= step
            share[target, pool] += step
    return share, missing


def _ways(loads: int, pools: int) -> Whole:
    """(4, move) source, target, pool and step of every move."""
    found = np.array(np.meshgrid(np.arange(loads), np.arange(loads), np.arange(pools), STEPS,
                                 indexing="ij")).reshape(4, -1)
    return np.asarray(found[:, found[0] != found[1]], dtype=np.int64)


def _gain(carried: Array, counts: Array, scale: Array, share: Whole, moves: Whole) -> Array:
    """(move, load) part of a load that each move brings."""
    source, target, pool, step = moves
    loads, number = share.shape[0], np.arange(source.size)
    lost = carried[source, pool, share[source, pool] - step] - carried[source, pool, share[source, pool]]
    won = carried[target, pool, share[target, pool] + step] - carried[target, pool, share[target, pool]]
    gain = np.zeros((source.size, scale.size))
    for kind, some in enumerate(counts):
        gain[number, kind * loads + source] = lost * some[pool] / scale[kind, source]
        gain[number, kind * loads + target] = won * some[pool] / scale[kind, target]
    return gain


def _best(moves: Whole, gain: Array, lacking: Array) -> tuple[list[int], float]:
    """The one or two moves, in two pools, that leave least missing, and how much that is."""
    after = lacking[None, :] - gain
    single = np.maximum(after, 0.0).sum(axis=1)
    some = np.argsort(single, kind="stable")[:MOST_PAIRED] if single.size > MOST_PAIRED else np.arange(single.size)
    both = np.zeros((some.size, some.size))
    for load in range(lacking.size):
        both += np.maximum(after[some, load][:, None] - gain[some, load][None, :], 0.0)
    pool = moves[2, some]
    both[pool[:, None] == pool[None, :]] = np.inf
    i, j = divmod(int(np.argmin(both)), some.size)
    alone = int(np.argmin(single))
    if single[alone] <= both[i, j]:
        return [alone], float(single[alone])
    return [int(some[i]), int(some[j])], float(both[i, j])
