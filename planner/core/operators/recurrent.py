"""Recurrent states of linear attention and state-space layers: constant in context, read and written every step.

References
----------
Gu & Dao, Mamba, arXiv 2312.00752; Yang et al., Gated Delta Networks, arXiv 2412.06464.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.operators.flow import Flow, rows
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """The recurrent rows of one rank; every array has shape (op,) or (op, variant)."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    """linear | ssm."""
    count: Array
    state_bytes: Array
    """State of one sequence on this rank [byte]."""
    token_flop: Array
    """FLOP per decoded token on this rank [FLOP]."""
    prompt_flop: Array
    """FLOP per prompt token on this rank, in the chunked form [FLOP]."""
    io_bytes: Array
    """Activations entering and leaving per token on this rank [byte]."""

    def decode(self, sequences: Array) -> Flow:
        """Work and traffic of one token for each sequence: its state read and written.

        Parameters
        ----------
        sequences : ndarray
            Sequences advanced on this rank [1], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        return self._flow(sequences, sequences, self.token_flop)

    def prefill(self, sequences: Array, tokens: Array) -> Flow:
        """Work and traffic of prompts: each state read and written once, whatever the prompt's length.

        Parameters
        ----------
        sequences : ndarray
            Sequences advanced on this rank [1], shape (*grid).
        tokens : ndarray
            Tokens they advance by in all [token], shape (*grid).

        Returns
        -------
        Flow
            Shapes (op, *grid).
        """
        return self._flow(sequences, tokens, self.prompt_flop)

    def _flow(self, sequences: Array, tokens: Array, flop: Array) -> Flow:
        cache = 2.0 * rows(self.state_bytes, sequences) * sequences
        flat = np.zeros(cache.shape)
        return Flow(work=rows(flop, tokens) * tokens + flat, weights=flat, cache=cache,
                    activations=rows(self.io_bytes, tokens) * tokens + flat)
