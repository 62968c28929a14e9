"""A whole prompt: chunks of the token budget, one after another, nothing else in the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.execution.step import prompt_parts, prompt_step
from planner.core.execution.summary import StepSummary, summarise
from planner.core.execution.totals import StepTotals, totals
from planner.core.quantities import numeric as num
from planner.core.quantities.arrays import Array, Numeric
from planner.core.quantities.numeric import Number


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCost:
    """One prompt on an idle replica."""

    tokens: float
    """Prompt tokens computed [token]."""
    chunks: int
    summary: StepSummary


def prompt_cost(bound: BoundTable, tokens: float, cached: float, budget: float) -> PromptCost:
    """The cost of one prompt.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    tokens : float
        Prompt tokens to compute [token].
    cached : float
        Prompt tokens found in the prefix cache [token].
    budget : float
        Tokens a step takes at most [token]; under datasheet ceilings a prompt is never cut.

    Returns
    -------
    PromptCost
        Per busiest GPU.

    Notes
    -----
    Chunks are equal; the mean of what they find cached makes the pairs of full attention exact.
    """
    chunks, size, seen = chunks_of(bound, tokens, cached, budget)
    cost = prompt_step(bound, np.asarray(size), np.asarray(seen))
    return PromptCost(tokens=tokens, chunks=int(chunks), summary=summarise(cost, chunks))


def chunks_of(bound: BoundTable, tokens: Numeric, cached: Numeric, budget: Numeric) -> tuple[Number, Number, Number]:
    """How a prompt is cut: equal chunks, and what each finds cached on the mean.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : float or ndarray
        Prompt tokens to compute [token].
    cached : float or ndarray
        Prompt tokens found in the prefix cache [token].
    budget : float or ndarray
        Tokens a step takes at most [token]; under datasheet ceilings a prompt is never cut.

    Returns
    -------
    tuple
        Chunks [1], tokens of each [token], tokens before it [token].
    """
    chunks = 1.0 if bound.curves is None else num.maximum(1.0, num.ceil(tokens / budget))
    size = tokens / chunks
    return chunks, size, cached + (chunks - 1) / 2.0 * size


def prompt_totals(bound: BoundTable, tokens: Array, cached: Array, budget: Array) -> StepTotals:
    """The totals of prompts over a grid.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings, without variants.
    tokens : ndarray
        Prompt tokens to compute [token].
    cached : ndarray
        Prompt tokens found in the prefix cache [token].
    budget : ndarray
        Tokens a step takes at most [token].

    Returns
    -------
    StepTotals
        As :func:`prompt_cost` gives for one point.
    """
    chunks, size, seen = chunks_of(bound, tokens, cached, budget)
    parts, overhead = prompt_parts(bound, size, seen)
    return totals(parts, overhead, bound.bandwidth, chunks + np.zeros_like(tokens))
