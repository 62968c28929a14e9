"""Whole replicas on given units: the GPUs of every pool shared out among workloads, then filled with replicas.

What a workload can carry on so many GPUs of a pool is a table. Divisible replicas say how to share the GPUs out; whole
ones lose a little here and there, which moving a few GPUs between workloads, in two pools at once, nearly always makes
good. That takes milliseconds where a search for whole replicas takes tenths of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.fleet.columns import Columns, Pair
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array

STEPS = (1, 2, 4, 8)
"""[GPU] Moved at once from one workload to another within a pool."""
MOST_MOVES = 12
"""[1] Pairs of moves before units are said to be too few."""
SHORT = 1e-9
"""[1] Part of a load that may be missing: float noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Most load that so many GPUs of a pool carry for a workload, and the replica that gets it there."""

    carried: Array
    """(GPU,) load carried by 0, 1, 2 … GPUs [load]."""
    last: npt.NDArray[np.int64]
    """(GPU,) position of the replica added last; -1 where a GPU stays empty."""
    pairs: tuple[Pair, ...]

    def replicas(self, gpus: int) -> dict[tuple[str, int], int]:
        """Replicas that carry most on so many GPUs.

        Parameters
        ----------
        gpus : int
            [1].

        Returns
        -------
        dict
            Counts by candidate id and pool.
        """
        found: dict[tuple[str, int], int] = {}
        while gpus > 0:
            i = int(self.last[gpus])
            if i >= 0:
                key = self.pairs[i].candidate.id, self.pairs[i].pool
                found[key] = found.get(key, 0) + 1
            gpus -= self.pairs[i].slot if i >= 0 else 1
        return found


def table(pairs: tuple[Pair, ...], gpus: int) -> Table:
    """What 0 … ``gpus`` GPUs of a pool carry for a workload.

    Parameters
    ----------
    pairs : tuple of Pair
        The workload's replicas there.
    gpus : int
        Largest number of GPUs [1].

    Returns
    -------
    Table
        By dynamic programming.
    """
    carried, last = [0.0] * (gpus + 1), [-1] * (gpus + 1)
    for g in range(1, gpus + 1):
        carried[g] = carried[g - 1]
        for i, pair in enumerate(pairs):
            if pair.slot <= g and carried[g - pair.slot] + pair.capacity > carried[g] + SHORT:
                carried[g], last[g] = carried[g - pair.slot] + pair.capacity, i
    return Table(carried=np.array(carried), last=np.array(last, dtype=np.int64), pairs=pairs)


@dataclass(slots=True, kw_only=True)
class Packing:
    """A scenario's loads and tables, for units to be tried on."""

    scenario: Scenario
    place: Columns
    tables: dict[tuple[int, int, int, float], Table]
    """By workload, pool, GPUs tabled, and largest replica."""

    def packed(self, moment: int, units: Array,
               hosted: Array) -> tuple[Mapping[tuple[str, int], int] | None, float]:
        """Whole replicas that carry a slice's load on these units.

        Parameters
        ----------
        moment : int
            The slice.
        units : ndarray
            (pool,) [1].
        hosted : ndarray
            (workload,) part of the requests that APIs answer [1].

        Returns
        -------
        tuple
            Counts by candidate id and pool, None when none were found, and the part of a load that is missing [1].
        """
        loads = [self._load(w, moment, units, float(hosted[w])) for w in range(len(self.scenario.workloads))]
        busy = [w for w, (need, _) in enumerate(loads) if need > 0]
        gpus = np.array([round(float(u)) * pool.unit_gpus for u, pool in zip(units, self.scenario.pools, strict=True)])
        if not busy:
            return {}, 0.0
        grid = [[self._table(w, p, int(gpus[p]), loads[w][1]) for p in range(gpus.size)] for w in busy]
        need = np.array([loads[w][0] for w in busy])
        firm = np.array([pool.firm for pool in self.scenario.pools])
        sure = np.array([max(1.0 - self.scenario.workloads[w].spot_share - float(hosted[w]), 0.0) *
                         float(required(self.scenario.moments.peak[w, moment], self.scenario.workloads[w].headroom))
                         for w in busy])
        share = _shared(_density(grid), need, gpus)
        best, missing = _moved(grid, need, np.where(firm.all(), 0.0, sure), firm, share)
        if missing > SHORT:
            return None, missing
        found: dict[tuple[str, int], int] = {}
        for w in range(len(busy)):
            for p in range(gpus.size):
                found.update(grid[w][p].replicas(int(best[w, p])))
        return found, 0.0

    def _load(self, w: int, moment: int, units: Array, hosted: float) -> tuple[float, float]:
        """Load to carry with the largest replica that may fail, and that replica's load."""
        workload = self.scenario.workloads[w]
        need = float(required(self.scenario.moments.peak[w, moment], workload.headroom)) * (1.0 - hosted)
        if need <= SHORT or not workload.spare:
            return need if need > SHORT else 0.0, np.inf
        mine = [p for p in self.place.pairs if p.workload == w and units[p.pool] > 0]
        best = (0.0, need, np.inf)
        for largest in {p.capacity for p in mine}:
            dense = [max((p.capacity / p.slot for p in mine if p.pool == q and p.capacity <= largest), default=0.0)
                     for q in range(units.size)]
            carried = sum(one * float(n) * pool.unit_gpus
                          for one, n, pool in zip(dense, units, self.scenario.pools, strict=True))
            best = max(best, (carried / (need + workload.spare * largest), need + workload.spare * largest, largest))
        return best[1], best[2]

    def _table(self, w: int, p: int, gpus: int, largest: float) -> Table:
        size = 1 << max(gpus, 7).bit_length()
        key = w, p, size, largest
        if key not in self.tables:
            self.tables[key] = table(tuple(pair for pair in self.place.pairs if pair.workload == w and pair.pool == p
                                           and pair.capacity <= largest), size)
        return self.tables[key]


def _density(grid: list[list[Table]]) -> Array:
    """(workload, pool) load per GPU of the densest replica."""
    return np.array([[max((p.capacity / p.slot for p in one.pairs), default=0.0) for one in row] for row in grid])


def _shared(density: Array, need: Array, gpus: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """(workload, pool) whole GPUs that divisible replicas would be given, all loads met by the same multiple."""
    from scipy.optimize import linprog  # noqa: PLC0415 - scipy costs a second to import

    loads, pools = density.shape
    limits = np.zeros((loads + pools, loads * pools + 1))
    for w in range(loads):
        limits[w, w * pools:(w + 1) * pools], limits[w, -1] = -density[w] / need[w], 1.0
        limits[loads + np.arange(pools), w * pools + np.arange(pools)] = 1.0
    cost = np.zeros(loads * pools + 1)
    cost[-1] = -1.0
    solver: Any = linprog
    answer = solver(cost, A_ub=limits, b_ub=np.concatenate([np.zeros(loads), gpus]), method="highs")
    given = answer.x[:-1].reshape(loads, pools)
    whole: npt.NDArray[np.int64] = np.floor(given + 1e-6).astype(np.int64)
    for p in range(pools):
        for w in np.argsort(whole[:, p] - given[:, p], kind="stable")[:int(gpus[p] - whole[:, p].sum())]:
            whole[w, p] += 1
        whole[0, p] += gpus[p] - whole[:, p].sum()
    return whole


def _moved(grid: list[list[Table]], need: Array, sure: Array, firm: npt.NDArray[np.bool_],
           share: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], float]:
    """The shares after moves that leave least load missing, and how much is."""
    share = share.copy()
    asked = np.concatenate([need, sure])
    scale = np.where(asked > 0, asked, np.inf)
    missing = np.inf
    for _ in range(MOST_MOVES):
        each = np.array([[one.carried[share[w, p]] for p, one in enumerate(row)] for w, row in enumerate(grid)])
        carried = np.concatenate([each.sum(axis=1), (each * firm).sum(axis=1)])
        now = float(np.maximum((asked - carried) / scale, 0.0).sum())
        if now <= SHORT or now >= missing:
            return share, min(now, missing)
        missing = now
        moves, gain = _moves(grid, firm, share)
        if not moves:
            return share, missing
        after = (asked - carried)[None, :] - gain
        single = np.maximum(after / scale, 0.0).sum(axis=1)
        both = np.maximum((after[:, None, :] - gain[None, :, :]) / scale, 0.0).sum(axis=2)
        pool = np.array([m[0] for m in moves])
        both[pool[:, None] == pool[None, :]] = np.inf
        i, j = np.unravel_index(int(np.argmin(both)), both.shape)
        chosen = [moves[int(np.argmin(single))]] if single.min() <= both[i, j] else [moves[i], moves[j]]
        for p, source, target, step in chosen:
            share[source, p] -= step
            share[target, p] += step
    return share, missing


def _moves(grid: list[list[Table]], firm: npt.NDArray[np.bool_],
           share: npt.NDArray[np.int64]) -> tuple[list[tuple[int, int, int, int]], Array]:
    """Moves of GPUs between workloads within a pool, and what they bring each load."""
    moves, gain = [], []
    loads = len(grid)
    for source, p in zip(*np.nonzero(share), strict=True):
        for step in STEPS:
            if step > share[source, p]:
                break
            lost = grid[source][p].carried[share[source, p] - step] - grid[source][p].carried[share[source, p]]
            for target in range(loads):
                if target != source:
                    row = np.zeros(2 * loads)
                    won = grid[target][p].carried[share[target, p] + step] - grid[target][p].carried[share[target, p]]
                    row[source], row[target] = lost, won
                    row[loads + source], row[loads + target] = lost * firm[p], won * firm[p]
                    moves.append((int(p), int(source), target, step))
                    gain.append(row)
    return moves, np.array(gain)
