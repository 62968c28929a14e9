"""The groups of operators that make a step, each on the smallest grid that its numbers vary on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable
from planner.core.execution.times import (
    collective_time,
    decode_core_time,
    matmul_time,
    mixture_time,
    pass_time,
    prompt_core_time,
    state_time,
)
from planner.core.operators.attention import Cores
from planner.core.operators.elementwise import Passes
from planner.core.operators.flow import Flow
from planner.core.operators.recurrent import States
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group of operators in a step; arrays are (op, *its own grid)."""

    names: tuple[str, ...]
    count: Array
    flow: Flow | None
    """None for communication, which moves no memory traffic of its own."""
    time: Array
    peak: Array
    link: Array | None


def decode_sequences(bound: BoundTable, local: Array, context: Array) -> list[Part]:
    """The groups that see sequences, attention cores and recurrent states, in a decode step.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    local : ndarray
        Sequences on this rank [1]; broadcasts against context.
    context : ndarray
        Mean context of a sequence [token].

    Returns
    -------
    list of Part
        At most one each.
    """
    table, parts = bound.table, []
    if table.cores.names:
        wide, deep = np.broadcast_arrays(local, context) if np.shape(local) != np.shape(context) else (local, context)
        flow = table.cores.decode(wide, deep)
        parts.append(_part(bound, table.cores, flow, decode_core_time(bound, flow, wide, deep)))
    if table.states.names:
        flow = table.states.decode(local)
        parts.append(_part(bound, table.states, flow, state_time(bound, flow, None)))
    return parts


def prompt_sequences(bound: BoundTable, tokens: Array, cached: Array) -> list[Part]:
    """The same over a prompt.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : ndarray
        Prompt tokens computed [token]; broadcasts against cached.
    cached : ndarray
        Tokens of the prompt already in the cache [token].

    Returns
    -------
    list of Part
        At most one each.
    """
    table, parts = bound.table, []
    if table.cores.names:
        long, old = np.broadcast_arrays(tokens, cached) if tokens.shape != cached.shape else (tokens, cached)
        flow = table.cores.prefill(long, old)
        parts.append(_part(bound, table.cores, flow, prompt_core_time(bound, flow)))
    if table.states.names:
        flow = table.states.prefill(np.ones_like(tokens), tokens)
        parts.append(_part(bound, table.states, flow, state_time(bound, flow, tokens)))
    return parts


def token_parts(bound: BoundTable, tokens: Array, head: Array, group: Array) -> tuple[list[Part], list[Part]]:
    """The groups that see only numbers of tokens, be they decoded or of a prompt.

    Parameters
    ----------
    bound : BoundTable
        Operators under ceilings.
    tokens : ndarray
        Tokens of the step on this rank [token], shape (*grid).
    head : ndarray
        Those that need logits [token], shape (*grid).
    group : ndarray
        Tokens over the expert group [token], shape (*grid).

    Returns
    -------
    tuple of list
        Groups before those that see sequences, and behind them.
    """
    table = bound.table
    first, last = [], []
    if table.matmuls.names:
        m = table.matmuls.tokens(tokens, head)
        flow = table.matmuls.flow(m)
        first.append(Part(names=table.matmuls.names, count=table.matmuls.count, flow=flow, peak=bound.matmul_peak,
                          time=matmul_time(bound, flow, m), link=None))
    if table.mixtures.names:
        flow = table.mixtures.flow(group)
        first.append(Part(names=table.mixtures.names, count=table.mixtures.count, flow=flow, peak=bound.mixture_peak,
                          time=mixture_time(bound, flow, group), link=None))
    if table.passes.names:
        flow = table.passes.flow(tokens)
        last.append(_part(bound, table.passes, flow, pass_time(bound, tokens)))
    if table.collectives.names:
        message = table.collectives.message(tokens, head)
        volume = table.collectives.volume(message)
        last.append(Part(names=table.collectives.names, count=table.collectives.count, flow=None, link=volume,
                         time=collective_time(bound, message, volume), peak=_half(bound, table.collectives.count)))
    return first, last


def _part(bound: BoundTable, group: Cores | States | Passes, flow: Flow, time: Array) -> Part:
    """A group that runs under the 16-bit peak."""
    return Part(names=group.names, count=group.count, flow=flow, time=time, peak=_half(bound, group.count), link=None)


def _half(bound: BoundTable, count: Array) -> Array:
    peak = np.empty(count.shape)
    peak[...] = bound.half_peak
    return peak
