r"""Dense matrix products: ``tokens × inputs`` by ``inputs × outputs``.

.. math:: W = 2 m k n, \qquad Q = s_w k n + m (a k + 2 n)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        head = rows(self.is_head, tokens)
        return np.where(head > 0, head_tokens, tokens)

    def flow(self, tokens: Array, head_tokens: Array) -> Flow:
        """Work and traffic of one execution of each row.

        Parameters
        ----------
        tokens : ndarray
            Tokens of the step on this rank [token], shape (*grid).
        head_tokens : ndarray
            Tokens that need logits [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        m = self.tokens(tokens, head_tokens)
        k, n = rows(self.inputs, tokens), rows(self.outputs, tokens)
        io = rows(self.activation_bytes * self.inputs + self.output_bytes * self.outputs, tokens)
        weights = np.empty_like(m)
        weights[...] = rows(self.weight_bytes, tokens)
        return Flow(work=2.0 * (k * n) * m, weights=weights, cache=np.zeros_like(m), activations=io * m)
