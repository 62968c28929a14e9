"""Everything that is a pass over activations: norms, rotary, activation functions, residuals, embedding gather."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Element-wise rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    count: Array
    bytes_per_token: Array
    """Read and written per token and execution [byte]."""
    flop_per_token: Array
    """[FLOP] per token and execution."""

    def flow(self, tokens: Array) -> Flow:
        """Work and traffic of one execution of each row.

        Parameters
        ----------
        tokens : ndarray
            Tokens of the step on this rank [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        activations = rows(self.bytes_per_token, tokens) * tokens
        flat = np.zeros(activations.shape)
        return Flow(work=rows(self.flop_per_token, tokens) * tokens + flat, weights=flat, cache=flat,
                    activations=activations)
