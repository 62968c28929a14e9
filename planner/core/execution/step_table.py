"""The step-time table that queueing and simulation run on, built once per configuration from the execution model.

A step's time is linear in everything but the number of tokens it computes, so one vector over token counts and a few
slopes reproduce the execution model: no scheduler and no queue ever evaluates a second performance formula.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable:
    r"""Time of one engine step of a replica group.

    .. math:: t = base(n) + \sum_w k_w \sum_i \min(c_i, w) + k_A \cdot pairs + c_R \cdot B + c_P \cdot [prefill > 0]

    n tokens computed (decodes + prompt tokens), B decoding sequences with contexts c_i, ``pairs`` = Σ over prompt
    chunks of (query, key) pairs = tokens·cached + tokens·(tokens+1)/2.
    Grids trail: every field may carry a trailing ``*grid``.
    """

    nodes: Array
    """Token counts, ascending, shape (node,) [token]."""
    base: Array
    """Time at each node with empty contexts, shape (node, *grid) [s]."""
    windows: Array
    """Attention spans; inf for full attention, shape (class,) [token]."""
    per_context_token: Array
    """Slope per attended context token of each class, shape (class, *grid) [s/token]."""
    per_pair: Array
    """Slope per (query, key) pair of prompt attention, shape (*grid) [s]."""
    per_request: Array
    """Slope per decoding sequence beyond its token, shape (*grid) [s]."""
    prefill_extra: Array
    """Extra time of a step that carries prompt tokens, shape (*grid) [s]."""

    def time(self, tokens: Array, contexts: Array, pairs: Array, batch: Array, prefilling: Array) -> Array:
        """Time of a step.

        Parameters
        ----------
        tokens : ndarray
            Tokens computed in the step [token], shape (*point).
        contexts : ndarray
            Σ min(c_i, w) for each class, shape (class, *point) [token].
        pairs : ndarray
            (query, key) pairs of prompt attention, shape (*point).
        batch : ndarray
            Decoding sequences, shape (*point).
        prefilling : ndarray
            1 where prompt tokens are in the step, else 0, shape (*point).

        Returns
        -------
        ndarray
            t [s], shape (*point); for tables without a grid. Linear between nodes.
        """
        base = np.interp(tokens, self.nodes, self.base)
        return (base + np.tensordot(self.per_context_token, contexts, axes=(0, 0)) + self.per_pair * pairs
                + self.per_request * batch + self.prefill_extra * prefilling)

    def base_on_grid(self, tokens: Array) -> tuple[Array, Array]:
        """Base time and its slope for one token count per grid point (used by the closed forms of core/serving).

        Parameters
        ----------
        tokens : ndarray
            Tokens computed in the step [token], shape (*grid); the table's grid broadcasts against it.

        Returns
        -------
        tuple of ndarray
            base(n) [s] and d base / d n [s/token], shape (*grid). Linear between nodes and, unlike ``time``, beyond
            the last one.
        """
        grid = np.broadcast_shapes(np.shape(tokens), self.base.shape[1:])
        column = np.arange(self.base[0].size).reshape(self.base.shape[1:])
        flat = self.base.reshape(self.base.shape[0], -1)
        n = np.broadcast_to(tokens, grid)
        low = np.clip(np.searchsorted(self.nodes, n, side="right") - 1, 0, self.nodes.size - 2)
        start = flat[low, column]
        slope = (flat[low + 1, column] - start) / (self.nodes[low + 1] - self.nodes[low])
        return start + slope * (n - self.nodes[low]), slope

    def plain(self) -> PlainStepTable:
        """The same table in Python's own numbers, for one point at a time.

        Returns
        -------
        PlainStepTable
            Equal to this table in every number; this table must have no grid.
        """
        return PlainStepTable(
            nodes=self.nodes.tolist(), base=self.base.tolist(), windows=self.windows.tolist(),
            per_context_token=self.per_context_token.tolist(), per_pair=float(self.per_pair),
            per_request=float(self.per_request), prefill_extra=float(self.prefill_extra))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainStepTable:
    """A :class:`StepTable` without a grid in plain numbers; numpy would spend a microsecond on each."""

    nodes: list[float]
    base: list[float]
    windows: list[float]
    per_context_token: list[float]
    per_pair: float
    per_request: float
    prefill_extra: float
    grown: float = 0.0
    """To add to every base [s]."""

    def raised(self, grown: float) -> PlainStepTable:
        """The same table with every base longer.

        Parameters
        ----------
        grown : float
            Growth of the attention floors, as :func:`planner.core.execution.tabulate.floor_growth` gives it [s].

        Returns
        -------
        PlainStepTable
            Sharing its lists.
        """
        return PlainStepTable(
            nodes=self.nodes, base=self.base, windows=self.windows, per_context_token=self.per_context_token,
            per_pair=self.per_pair, per_request=self.per_request, prefill_extra=self.prefill_extra, grown=grown)

    def base_on_grid(self, tokens: float) -> tuple[float, float]:
        """Base time and its slope at one token count.

        Parameters
        ----------
        tokens : float
            Tokens computed in the step [token].

        Returns
        -------
        tuple of float
            base(n) [s] and d base / d n [s/token], as :meth:`StepTable.base_on_grid`.
        """
        nodes, base, grown = self.nodes, self.base, self.grown
        low = bisect_right(nodes, tokens, 1, len(nodes) - 1) - 1
        start, at = base[low] + grown, nodes[low]
        slope = (base[low + 1] + grown - start) / (nodes[low + 1] - at)
        return start + slope * (tokens - at), slope


Steps: TypeAlias = StepTable | PlainStepTable
"""A step table for a grid or for one point."""
