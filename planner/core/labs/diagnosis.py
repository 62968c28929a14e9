r"""Diagnosis of a measured kernel: where it sits under the roof, what explains the gap, and what would help.

Causes that the questions establish are ranked by what they cost; a kernel without one is named by its roof, or by where
to look next.

References
----------
Williams et al., Roofline, CACM 52(4) 2009; He, Making Deep Learning Go Brrrr From First Principles, 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.errors import InvalidQuantity
from planner.core.execution.roofline import time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.inputs import ElementType
from planner.core.labs.levers import Lever, levers_for
from planner.core.labs.questions import (
    FASTER,
    ON_ROOF,
    SATURATED,
    STREAM_SHARE,
    Case,
    Cause,
    Measured,
    Question,
    in_flight_question,
    launch_question,
    pipe_question,
    reuse_question,
    saturation_question,
    wave_question,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Where the kernel sits, why, and what would help."""

    intensity: float
    performance: float
    """P = W/t [FLOP/s]."""
    bandwidth: float
    """Q/t [byte/s]."""
    ridge: float
    position: str
    """slope | roof | below."""
    roof_fraction: float
    """Least time over measured time [1]."""
    causes: tuple[Cause, ...]
    """Most important first; a kernel that is as good as it gets names its roof."""
    questions: tuple[Question, ...]
    levers: tuple[Lever, ...]


def diagnose(chip: Chip, dtype: ElementType, seen: Measured) -> Diagnosis:
    """The position of a kernel, ordered questions with evidence, and levers.

    Parameters
    ----------
    chip : Chip
        The SKU.
    dtype : ElementType
        The format the kernel is meant to compute in.
    seen : Measured
        Counted work and traffic, measured time, and whatever else is known.

    Returns
    -------
    Diagnosis
        Causes ranked by cost.

    Raises
    ------
    InvalidQuantity
        The time is below what the datasheet allows, or the algorithm needs more bytes than were counted.
    """
    peak = chip.peak(dtype.pipe)
    case = Case(chip=chip, dtype=dtype, seen=seen, peak=peak, stream=seen.stream or STREAM_SHARE * chip.bandwidth,
                 roof=float(time_overlapped(seen.work, seen.traffic, peak, chip.bandwidth)),
                 ideal=float(time_overlapped(seen.work, seen.algorithmic or seen.traffic, peak, chip.bandwidth)))
    _consistent(case)
    position = _position(case)
    answers = [pipe_question(case, position), saturation_question(case), in_flight_question(case),
               launch_question(case), reuse_question(case), wave_question(case)]
    causes = sorted((cause for _, cause in answers if cause), key=lambda cause: -cause.factor)
    if not causes:
        causes = [_remainder(case, position)]
    return Diagnosis(
        intensity=seen.work / seen.traffic, performance=seen.work / seen.time, bandwidth=seen.traffic / seen.time,
        ridge=peak / chip.bandwidth, position=position, roof_fraction=case.roof / seen.time, causes=tuple(causes),
        questions=tuple(question for question, _ in answers), levers=levers_for(tuple(c.name for c in causes)))


def _consistent(case: Case) -> None:
    seen = case.seen
    if seen.time * FASTER < case.roof:
        side = "W/π" if seen.work / case.peak >= seen.traffic / case.chip.bandwidth else "Q/β"
        raise InvalidQuantity(
            f"time_s={seen.time:g} is below the least time {case.roof:g} s that {case.chip.name} allows ({side}).",
            hint="Check that flop, bytes and time cover the same work, that bytes count memory, and the dtype.",
            pointer="/time_s")
    if seen.algorithmic is not None and seen.algorithmic > FASTER * seen.traffic:
        raise InvalidQuantity(
            f"bytes_algorithmic={seen.algorithmic:g} exceeds the counted bytes={seen.traffic:g}.",
            hint="Counters see at least what the algorithm needs, unless data stayed in cache between repetitions.",
            pointer="/bytes_algorithmic")


def _position(case: Case) -> str:
    seen = case.seen
    if seen.traffic / seen.time >= SATURATED * case.stream:
        return "slope"
    return "roof" if seen.work / seen.time >= ON_ROOF * case.peak else "below"


def _remainder(case: Case, position: str) -> Cause:
    """What is left to say when no question found a cause."""
    factor = case.seen.time / case.roof
    if position == "slope":
        return Cause(name="slope", factor=factor, sentence="It runs at memory's bandwidth: only fewer bytes help.")
    if position == "roof":
        return Cause(name="roof", factor=factor, sentence="It runs near its peak: only cheaper arithmetic helps.")
    if case.seen.work / case.peak < case.seen.traffic / case.chip.bandwidth:
        return Cause(name="access_pattern", factor=factor,
                     sentence="Memory is the limit but not saturated, and nothing given explains it: look at the "
                     "access pattern (coalescing, alignment, partition camping).")
    return Cause(name="unexplained", factor=factor,
                 sentence="Compute is the limit but far from its peak, and nothing given explains it: look at pipeline "
                 "depth, occupancy and tile shapes.")
