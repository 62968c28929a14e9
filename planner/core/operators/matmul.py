r"""Dense matrix products: ``tokens × inputs`` by ``inputs × outputs``.

.. math:: W = 2 m k n, \qquad Q = s_w k n + m (a k + 2 n)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array

OUTPUT_BYTES = 2.0
"""GEMM results are written in 16 bit by every serving engine [byte]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matmuls:
    """The GEMM rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    count: Array
    """Executions per step (layers) [1]."""
    inputs: Array
    """k on this rank [1]."""
    outputs: Array
    """n on this rank [1]."""
    weight_bytes: Array
    """Stored bytes read per execution [byte]."""
    activation_bytes: Array
    """a, bytes per input element; 0 where shapes are unknown [byte]."""
    output_bytes: Array
    """Bytes per output element; 0 where shapes are unknown [byte]."""
    is_head: Array
    """1 where only finishing tokens enter (the LM head), else 0."""
    formats: tuple[str, ...]
    """Weight format of each row, for its ceiling and curve."""
    heads: npt.NDArray[np.bool_] = field(init=False)
    token_flop: Array = field(init=False)
    """W per token [FLOP]."""
    token_bytes: Array = field(init=False)
    """Activations read and written per token [byte]."""

    def __post_init__(self) -> None:
        """Work out what no number of tokens changes."""
        object.__setattr__(self, "heads", self.is_head > 0)
        object.__setattr__(self, "token_flop", 2.0 * (self.inputs * self.outputs))
        object.__setattr__(self, "token_bytes", self.activation_bytes * self.inputs + self.output_bytes * self.outputs)

    def tokens(self, tokens: Array, head_tokens: Array) -> Array:
        """M of each row.

        Parameters
        ----------
        tokens : ndarray
            Tokens of the step on this rank [token], shape (*grid).
        head_tokens : ndarray
            Tokens that need logits [token], shape (*grid).

        Returns
        -------
        ndarray
            [token], shape (op, *grid).
        """
        return np.where(rows(self.heads, tokens), head_tokens, tokens)

    def flow(self, m: Array) -> Flow:
        """Work and traffic of one execution of each row.

        Parameters
        ----------
        m : ndarray
            M of each row, from :meth:`tokens` [token], shape (op, *grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        grid, weights = m[0], np.empty(m.shape)
        weights[...] = rows(self.weight_bytes, grid)
        return Flow(work=rows(self.token_flop, grid) * m, weights=weights, cache=np.zeros(m.shape),
                    activations=rows(self.token_bytes, grid) * m)
