"""Whole replicas on given units: the GPUs of every pool shared out among workloads, then filled with replicas.

What a workload can carry on so many GPUs of a pool is a table. Divisible replicas say how to share the GPUs out; whole
ones lose a little here and there, which moving a few GPUs between workloads, in two pools at once, nearly always makes
good. That takes milliseconds where a search for whole replicas takes tenths of a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.core.fleet.columns import Columns, Pair
from planner.core.fleet.readout import NEARLY
from planner.core.fleet.scenario import Scenario
from planner.core.fleet.sharing import SHORT, Sharing, moved
from planner.core.fleet.sizing import required
from planner.core.quantities.arrays import Array

CLOSE = 0.03
"""[1] Where more of a load is missing, other largest replicas are not tried."""
MOST_KEPT = 200
"""[1] Sharings kept ready at once."""


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
    tables: dict[tuple[int, int, int, float], Table] = field(default_factory=dict)
    """By workload, pool, GPUs tabled, and largest replica."""
    ready: dict[tuple[object, ...], Sharing] = field(default_factory=dict)
    """By slice, loads and largest replicas."""
    firm: npt.NDArray[np.bool_] = field(init=False)
    """(pool,) whether a pool is firm."""

    def __post_init__(self) -> None:
        """Work out which pools are firm."""
        self.firm = np.array([pool.firm for pool in self.scenario.pools])

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
        options = [self._loads(w, moment, units, float(hosted[w])) for w in range(len(self.scenario.workloads))]
        busy = [w for w, one in enumerate(options) if one]
        if not busy:
            return {}, 0.0
        least = np.inf
        for choice in _choices([len(options[w]) for w in busy]):
            found, missing = self._with(moment, units, hosted, {w: options[w][n] for w, n in zip(busy, choice,
                                                                                              strict=True)})
            if missing <= SHORT:
                return found, 0.0
            least = min(least, missing)
            if least > CLOSE:
                break
        return None, least

    def _with(self, moment: int, units: Array, hosted: Array,
              loads: Mapping[int, tuple[float, float]]) -> tuple[dict[tuple[str, int], int], float]:
        """Replicas no larger than these for these loads, and the part of a load that is missing."""
        gpus = np.array([round(float(u)) * pool.unit_gpus for u, pool in zip(units, self.scenario.pools, strict=True)])
        there = np.flatnonzero(gpus > 0)
        if not there.size:
            return {}, float(len(loads))
        grid = [[self._table(w, int(p), int(gpus[p]), largest) for p in there] for w, (_, largest) in loads.items()]
        wanted = np.array([[need for need, _ in loads.values()],
                           [self._sure(w, moment, float(hosted[w])) for w in loads]])
        key = moment, tuple(wanted.ravel().tolist()), tuple(largest for _, largest in loads.values())
        share = self._sharing(key, wanted, loads).shared(gpus)[:, there]
        share, missing = moved(_stacked(grid), wanted, self.firm[there], share)
        found: dict[tuple[str, int], int] = {}
        for one, row in zip(grid, share, strict=True):
            for known, count in zip(one, row, strict=True):
                found.update(known.replicas(int(count)))
        return found, missing

    def _sure(self, w: int, moment: int, hosted: float) -> float:
        """Load that firm pools must carry."""
        if self.firm.all():
            return 0.0
        workload = self.scenario.workloads[w]
        need = float(required(self.scenario.moments.peak[w, moment], workload.headroom))
        return max(1.0 - workload.spot_share - hosted, 0.0) * need

    def _sharing(self, key: tuple[object, ...], wanted: Array, loads: Mapping[int, tuple[float, float]]) -> Sharing:
        """The sharing of these loads, ready to be asked again."""
        if key not in self.ready:
            if len(self.ready) >= MOST_KEPT:
                self.ready.pop(next(iter(self.ready)))
            density = np.zeros((len(loads), self.firm.size))
            for row, (w, (_, largest)) in enumerate(loads.items()):
                for pair in self.place.pairs:
                    if pair.workload == w and pair.capacity <= largest:
                        density[row, pair.pool] = max(density[row, pair.pool], pair.capacity / pair.slot)
            self.ready[key] = Sharing(density, wanted[0], wanted[1], self.firm)
        return self.ready[key]

    def _loads(self, w: int, moment: int, units: Array, hosted: float) -> list[tuple[float, float]]:
        """Loads to carry with the largest replica that may fail, and that replica's load, the most promising first."""
        workload = self.scenario.workloads[w]
        asked = float(required(self.scenario.moments.peak[w, moment], workload.headroom))
        need = asked * (1.0 - hosted)
        if need <= NEARLY * asked:
            return []
        if not workload.spare:
            return [(need, np.inf)]
        mine = [p for p in self.place.pairs if p.workload == w and units[p.pool] > 0]
        found = []
        for largest in sorted({p.capacity for p in mine}):
            dense = [max((p.capacity / p.slot for p in mine if p.pool == q and p.capacity <= largest), default=0.0)
                     for q in range(units.size)]
            carried = sum(one * float(n) * pool.unit_gpus
                          for one, n, pool in zip(dense, units, self.scenario.pools, strict=True))
            found.append((carried / (need + workload.spare * largest), need + workload.spare * largest, largest))
        return [one[1:] for one in sorted(found, key=lambda f: -f[0])] or [(need, np.inf)]

    def _table(self, w: int, p: int, gpus: int, largest: float) -> Table:
        size = 1 << max(gpus, 7).bit_length()
        key = w, p, size, largest
        if key not in self.tables:
            self.tables[key] = table(tuple(pair for pair in self.place.pairs if pair.workload == w and pair.pool == p
                                           and pair.capacity <= largest), size)
        return self.tables[key]


def _choices(counts: list[int]) -> list[tuple[int, ...]]:
    """Positions of options: the first of each, then one workload's second, then another's."""
    first = tuple(0 for _ in counts)
    return [first, *(tuple(int(n == w) for n in range(len(counts))) for w, count in enumerate(counts) if count > 1)]


def _stacked(grid: list[list[Table]]) -> Array:
    """(workload, pool, GPU) load carried."""
    size = max(one.carried.size for row in grid for one in row)
    carried = np.zeros((len(grid), len(grid[0]), size))
    for w, row in enumerate(grid):
        for p, one in enumerate(row):
            carried[w, p, :one.carried.size] = one.carried
    return carried
