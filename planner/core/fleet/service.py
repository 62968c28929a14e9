"""What one slice asks of units: rows that follow from prices of its demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.core.quantities.arrays import Array

BROKEN = 1e-6
"""[1] A row short by less is kept: HiGHS's own tolerance."""


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
        from scipy.optimize import linprog  # noqa: PLC0415 - scipy costs a second to import

        rows, pools = self.least.size, self.units.shape[0]
        if rows == 0:
            return None
        limits = np.zeros((self.pool.size, rows + pools))
        limits[:, :rows] = self.carried.T
        limits[np.arange(self.pool.size), rows + self.pool] = -1.0
        solver: Any = linprog
        answer = solver(np.concatenate([self.hosted @ x, self.units @ x]), A_ub=limits, b_ub=np.zeros(len(limits)),
                        A_eq=[np.concatenate([self.least, np.zeros(pools)])], b_eq=[1.0], method="highs")
        if answer.status != 0:
            return None
        prices = np.maximum(answer.x[:rows], 0.0)
        return prices if float(self.row(prices) @ x) < 1.0 - BROKEN else None
