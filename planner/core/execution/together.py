"""A decode step of several variants of a model and one prompt, evaluated as columns of the same arrays.

Operators that only see numbers of tokens do not tell a prompt from a decode step, so the prompt is one more column of
theirs; attention cores and recurrent states see sequences and are evaluated apart. A few numbers cost numpy as much as
one: together they cost little more than the decode step alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.core.execution.bound import BoundTable, stack_bound, take
from planner.core.execution.parts import Part, decode_sequences, prompt_sequences, token_parts
from planner.core.execution.prompt import chunks_of
from planner.core.execution.step import decode_parts
from planner.core.execution.summary import Row, StepSummary, told
from planner.core.execution.times import overhead_time, prompt_overhead
from planner.core.quantities.arrays import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Variants with the same rows; the last is the one whose decode step and prompt are told in full."""

    steps: BoundTable
    """Arrays (op, variant)."""
    with_prompt: BoundTable
    """The same with the last variant once more, for its prompt."""
    last: BoundTable
    """The last variant alone, arrays (op, 1)."""
    rows: tuple[tuple[str, float, float], ...]
    """Name, count and π of its operators, in the order of a step's parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Step times of every variant, and the last one's decode step and prompt in full."""

    times: Array
    """Decode steps, shape (variant,) [s]."""
    step: StepSummary
    prompt: StepSummary
    chunks: int
    """Steps the prompt is cut into [1]."""


def columns(bounds: Sequence[BoundTable]) -> Columns:
    """Variants stacked for :func:`decode_and_prompt`.

    Parameters
    ----------
    bounds : sequence of BoundTable
        Variants of one model with the same rows, all calibrated or all ideal.

    Returns
    -------
    Columns
        In the order given.
    """
    with_prompt, one = stack_bound([*bounds, bounds[-1]]), np.ones(1)
    last = take(with_prompt, slice(-1, None))
    parts, _ = decode_parts(last, one, one)
    return Columns(
        steps=take(with_prompt, slice(None, -1)), with_prompt=with_prompt, last=last,
        rows=tuple(row for part in parts for row in zip(
            part.names, part.count[:, 0].tolist(), part.peak[:, 0].tolist(), strict=True)))


def decode_times(bound: BoundTable, batch: Array, context: float) -> Array:
    """Times of one decode step of each variant.

    Parameters
    ----------
    bound : BoundTable
        Stacked variants.
    batch : ndarray
        Sequences decoding in the replica [1], shape (variant,).
    context : float
        Mean context of a sequence [token].

    Returns
    -------
    ndarray
        [s], shape (variant,).
    """
    return _times(*decode_parts(bound, batch, np.full(batch.shape, context)))


def decode_and_prompt(made: Columns, batch: Array, context: float, *, tokens: float, cached: float,
                      budget: float) -> Together:
    """One decode step of each variant and one whole prompt of the last.

    Parameters
    ----------
    made : Columns
        Stacked variants.
    batch : ndarray
        Sequences decoding in the replica [1], shape (variant,).
    context : float
        Mean context of a sequence [token].
    tokens : float
        Prompt tokens to compute [token].
    cached : float
        Prompt tokens found in the prefix cache [token].
    budget : float
        Tokens a step takes at most [token].

    Returns
    -------
    Together
        As :func:`planner.core.execution.step.decode_step` and :func:`planner.core.execution.prompt.prompt_cost` give
        them one by one.
    """
    chunks, size, seen = chunks_of(made.last, tokens, cached, budget)
    bound, steps = made.with_prompt, made.steps
    local = steps.table.sequences_on_rank(batch)
    every, head = _and(local, size), _and(local, 1.0)
    before, behind = token_parts(bound, every, head, _and(steps.table.expert_group_tokens(local), size))
    decode = decode_sequences(steps, local, np.full(local.shape, context))
    long = np.array([size])
    prompt = prompt_sequences(made.last, long, np.array([seen]))
    overhead = overhead_time(bound, every, head, head)
    overhead[-1] += float(prompt_overhead(bound, long)[0])
    pairs = [*((part, None) for part in before), *zip(decode, prompt, strict=True), *((part, None) for part in behind)]
    own, whole = _rows(made.rows, pairs)
    beta = float(made.last.bandwidth[0])
    return Together(times=_times([part for part, _ in pairs], overhead[:-1]), chunks=int(chunks),
                    step=told(own, float(overhead[-2]), beta, 1.0),
                    prompt=told(whole, float(overhead[-1]), beta, float(chunks)))


def _and(values: Array, last: float) -> Array:
    """Values with one more behind them."""
    out = np.empty(values.size + 1)
    out[:-1] = values
    out[-1] = last
    return out


def _times(parts: Sequence[Part], overhead: Array) -> Array:
    """Times of the decode steps: the columns that the overhead has."""
    wide = overhead.size
    products = [part.count[:, :wide] * part.time[:, :wide] for part in parts]
    return np.asarray(np.concatenate(products).sum(axis=0) + overhead)


def _rows(known: Sequence[tuple[str, float, float]], pairs: Sequence[tuple[Part, Part | None]]) -> list[list[Row]]:
    """Operators of the last variant's decode step and of its prompt; a part is one for both, or one for each."""
    table = np.zeros((2, len(known), 6))
    start = 0
    for part, prompt in pairs:
        end = start + len(part.names)
        step, whole = table[0, start:end], table[1, start:end]
        for place, values in enumerate(_numbers(part)):
            if values is not None:
                step[:, place], whole[:, place] = values[:, -2 if prompt is None else -1], values[:, -1]
        for place, values in enumerate(_numbers(prompt) if prompt is not None else ()):
            if values is not None:
                whole[:, place] = values[:, 0]
        start = end
    return [[(*about, time, link, work, weights, cache, activations)
             for about, (time, link, work, weights, cache, activations) in zip(known, column, strict=True)]
            for column in table.tolist()]


def _numbers(part: Part) -> tuple[Array | None, ...]:
    """Time, bytes sent, work and the bytes of each stream; None is zero."""
    flow = part.flow
    if flow is None:
        return part.time, part.link
    return part.time, part.link, flow.work, flow.weights, flow.cache, flow.activations
