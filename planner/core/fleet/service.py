"""What one slice asks of units: rows that follow from prices of its demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.core.fleet.highs import SOLVED, TOLERANCE, Highs
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What one slice asks of units, before projection."""

    moment: int
    carried: Array
    """(demand row, pair) part of a row's demand that one GPU under that pair carries [1]."""
    pool: npt.NDArray[np.int64]
    """(pair,) its pool's row."""
    least: Array
    """(demand row,) [1]."""
    hosted: Array
    """(demand row, column) what API shares carry [1]."""
    units: Array
    """(pool row, column) GPUs of units [GPU]."""

    def row(self, prices: Array) -> Array:
        """Coefficients of a row ``≥ 1`` that every fleet keeps.

        Parameters
        ----------
        prices : ndarray
            (demand row,) not all zero.

        Returns
        -------
        ndarray
            (column,) [1].

        Notes
        -----
        With λ_r the price of a row of demand, a GPU of pool p is worth α_p = max over its replicas of Σ_r λ_r ·
        carried_r; every fleet keeps Σ_p α_p · GPUs_p + Σ_r λ_r · hosted_r ≥ Σ_r λ_r · least_r.
        """
        prices = prices / float(prices @ self.least)
        worth = np.zeros(self.units.shape[0])
        np.maximum.at(worth, self.pool, prices @ self.carried)
        return np.asarray(prices @ self.hosted + worth @ self.units)

    def broken(self, x: Array) -> Array | None:
        """Prices of demand whose row a solution is furthest from keeping.

        Parameters
        ----------
        x : ndarray
            (column,) units and shares.

        Returns
        -------
        ndarray or None
            (demand row,); None when all rows are kept.
        """
        rows, pools = self.least.size, self.units.shape[0]
        if rows == 0:
            return None
        pairs = self.pool.size
        matrix = np.zeros((pairs + 1, rows + pools))
        matrix[:pairs, :rows] = self.carried.T
        matrix[np.arange(pairs), rows + self.pool] = -1.0
        matrix[pairs, :rows] = self.least
        upper = np.append(np.zeros(pairs), 1.0)
        answer = Highs(np.concatenate([self.hosted @ x, self.units @ x]), (*np.nonzero(matrix), matrix[matrix != 0]),
                       (np.append(np.full(pairs, -np.inf), 1.0), upper),
                       (np.zeros(rows + pools), np.full(rows + pools, np.inf))).solve()
        if answer.x is None or answer.status != SOLVED:
            return None
        prices = np.maximum(answer.x[:rows], 0.0)
        return prices if float(self.row(prices) @ x) < 1.0 - TOLERANCE else None
