r"""The ordered questions of a kernel's diagnosis, each with a verdict, its evidence and the cause it may establish.

Each candidate cause predicts a time of its own, :math:`T_c`; it is accepted when that is at least a fifth above the
time without it and does not exceed the measured time by more than a quarter.

References
----------
Williams et al., CACM 52(4) 2009; Little, Operations Research 9(3) 1961; NVIDIA, CUDA C++ Best Practices Guide, §9
(coalescing: 32-byte sectors), §10 (waves); Jia et al., arXiv 1804.06826 (memory latency of Volta, 400-600 ns and up).
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.core.execution.roofline import bandwidth_in_flight, bytes_to_saturate, time_overlapped
from planner.core.hardware.chip import Chip
from planner.core.labs.gemm import tile_waves
from planner.core.labs.inputs import ElementType, non_negative, positive, whole

STREAM_SHARE = 0.85
"""Bandwidth a coalesced copy reaches over the datasheet's, where no measurement is given [1]."""
SATURATED = 0.8
"""Share of STREAM from which memory counts as saturated [1]."""
ON_ROOF = 0.6
"""Share of the compute peak from which a kernel counts as on the roof: good kernels reach 0.6 to 0.8 [1]."""
LATENCY_S = 600e-9
"""Load-to-use latency of HBM on H100-class GPUs [s]."""
LAUNCH_S = 5e-6
"""Host and driver work of one launch without graphs [s]."""
TINY_S = 20e-6
"""A kernel shorter than this is partly measuring its own launch [s]."""
COSTS, EXCEEDS = 1.2, 1.25
"""Least T_c over the roof's time, and most T_c over the measured time, of an accepted cause [1]."""
FASTER = 1.05
"""Most a boosted clock may beat the datasheet roof before the measurement contradicts itself [1]."""
NO_REUSE = 3.0
"""Highest intensity of element-wise work [FLOP/byte]: below it there is no reuse to lose, so extra bytes are
over-fetch."""
# Slower pipes an engine may fall back to without saying so.
FALLBACKS = {"bf16": ("fp32",), "fp16": ("fp32",), "tf32": ("fp32",), "fp8": ("bf16", "fp16", "fp32"),
             "int8": ("fp16", "bf16", "fp32"), "fp4": ("fp8", "bf16", "fp32"),
             "fp32": ("fp32_no_fma", "special_function")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kernel, or a chain of them, as counted and timed."""

    work: float
    """W from the shapes [FLOP]."""
    traffic: float
    """Q from hardware counters [byte]."""
    time: float
    """[s]."""
    kernels: int | None = None
    """Launches within the time [1]."""
    algorithmic: float | None = None
    """Q the algorithm needs [byte]."""
    blocks: int | None = None
    """Thread blocks of the grid [1]."""
    in_flight: float | None = None
    """Bytes requested and not yet arrived [byte]."""
    stream: float | None = None
    """Measured STREAM bandwidth [byte/s]."""

    def __post_init__(self) -> None:
        """Refuse numbers that are no measurement."""
        positive(bytes=self.traffic, time_s=self.time, bytes_algorithmic=self.algorithmic,
                 bytes_in_flight=self.in_flight, stream_bytes_per_s=self.stream)
        non_negative(flop=self.work)
        whole(kernels=self.kernels, grid_blocks=self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One closed question, in the order that is cheapest to check."""

    question: str
    verdict: str
    """yes | no | unknown."""
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Something that explains part of the gap."""

    name: str
    sentence: str
    factor: float
    """T_c over the time without it [1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A measurement with the ceilings it is judged by."""

    chip: Chip
    dtype: ElementType
    seen: Measured
    peak: float
    stream: float
    roof: float
    """max(W/π, Q/β) at the measured traffic [s]."""
    ideal: float
    """The same at the algorithm's traffic [s]."""

    def cause(self, name: str, time: float, base: float, sentence: str) -> Cause | None:
        """A cause that predicts ``time``, if it costs something over ``base`` and the measurement allows it.

        Parameters
        ----------
        name : str
            The cause.
        time : float
            T_c, the time if nothing else were wrong [s].
        base : float
            The time without it [s].
        sentence : str
            What it is, with its evidence.

        Returns
        -------
        Cause or None
            None when it costs too little or contradicts the measurement.
        """
        factor = time / base
        if factor < COSTS or time > EXCEEDS * self.seen.time:
            return None
        return Cause(name=name, sentence=sentence, factor=factor)


def pipe_question(case: Case, position: str) -> tuple[Question, Cause | None]:
    """Is the kernel under the ceiling it is meant to be under?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.
    position : str
        slope, roof or below.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen, rate = case.seen, case.seen.work / case.seen.time
    text = f"Does the arithmetic run on the {case.dtype.pipe} pipe?"
    shown = f"{rate:.3g} FLOP/s against a {case.dtype.pipe} peak of {case.peak:.3g}"
    for pipe in FALLBACKS.get(case.dtype.pipe, ()) if position == "below" else ():
        lower = case.chip.peaks.get(pipe)
        if not lower or lower >= case.peak:
            continue
        share = rate / lower
        if ON_ROOF <= share <= FASTER and seen.work / lower >= seen.traffic / case.chip.bandwidth:
            why = f"{shown}, but {share:.0%} of the {pipe} peak {lower:.3g}"
            cause = case.cause("wrong_pipe", seen.work / lower, case.roof, f"It runs at the {pipe} rate: {why}.")
            if cause is not None:
                return Question(question=text, verdict="no", evidence=why + "."), cause
    if position == "roof":
        return Question(question=text, verdict="yes", evidence=shown + "."), None
    return Question(question=text, verdict="unknown", evidence=f"{shown}: no lower pipe's peak fits the rate."), None


def saturation_question(case: Case) -> tuple[Question, Cause | None]:
    """Is memory saturated, against what a copy reaches rather than the sheet?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen = case.seen
    rate = seen.traffic / seen.time
    source = "measured STREAM" if seen.stream else f"STREAM taken as {STREAM_SHARE:.0%} of the sheet"
    evidence = f"{rate:.3g} byte/s is {rate / case.stream:.0%} of {case.stream:.3g} ({source})."
    verdict = "yes" if rate >= SATURATED * case.stream else "no"
    return Question(question="Is memory saturated?", verdict=verdict, evidence=evidence), None


def in_flight_question(case: Case) -> tuple[Question, Cause | None]:
    """Are enough bytes in flight, and enough blocks to ask for them?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen, beta = case.seen, case.chip.bandwidth
    text = "Are enough bytes in flight to cover the memory latency?"
    need = float(bytes_to_saturate(beta, LATENCY_S))
    if seen.in_flight is not None:
        reach = float(bandwidth_in_flight(beta, seen.in_flight, LATENCY_S))
        time = float(time_overlapped(seen.work, seen.traffic, case.peak, reach))
        evidence = (f"{seen.in_flight:.3g} bytes in flight draw at most {reach:.3g} byte/s; {need:.3g} bytes would "
                    "saturate.")
        cause = case.cause("in_flight", time, case.roof, f"Too few bytes in flight: {evidence}")
        return Question(question=text, verdict="no" if seen.in_flight < need else "yes", evidence=evidence), cause
    units = case.chip.multiprocessors
    if seen.blocks is not None and units and seen.blocks < units:
        evidence = f"{seen.blocks} blocks leave {units - seen.blocks} of {units} multiprocessors without work."
        spread = case.roof * units / seen.blocks
        cause = case.cause("in_flight", spread, case.roof, f"The grid is too small: {evidence}")
        return Question(question=text, verdict="no", evidence=evidence), cause
    return Question(question=text, verdict="unknown",
                    evidence=f"bytes_in_flight was not given; {need:.3g} bytes would saturate."), None


def launch_question(case: Case) -> tuple[Question, Cause | None]:
    """Is the time spent between kernels?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen, text = case.seen, "Are the kernels too small for their launches?"
    count = seen.kernels or 1
    each = seen.time / count
    evidence = f"{count} launch(es), {each:.3g} s each; a launch costs about {LAUNCH_S:.1g} s."
    if seen.kernels is None:
        verdict = "unknown" if each < TINY_S else "no"
        return Question(question=text, verdict=verdict, evidence=f"kernels was not given; {evidence}"), None
    cause = case.cause("launch", case.roof + count * LAUNCH_S, case.roof, f"Launches dominate: {evidence}")
    if each >= TINY_S:
        cause = None
    return Question(question=text, verdict="yes" if cause else "no", evidence=evidence), cause


def reuse_question(case: Case) -> tuple[Question, Cause | None]:
    """Do counters see more bytes than the algorithm needs?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen, text = case.seen, "Is reuse happening where it was assumed?"
    if seen.algorithmic is None:
        return Question(question=text, verdict="unknown", evidence="bytes_algorithmic was not given."), None
    ratio = seen.traffic / seen.algorithmic
    evidence = f"{seen.traffic:.3g} bytes counted for {seen.algorithmic:.3g} needed: {ratio:.2f} times."
    reusing = seen.work / seen.algorithmic > NO_REUSE
    name = "re_reads" if reusing else "over_fetch"
    words = "Data is read again" if reusing else "Uncoalesced: sectors are over-fetched"
    cause = case.cause(name, case.roof, case.ideal, f"{words}: {evidence}")
    return Question(question=text, verdict="no" if ratio >= COSTS else "yes", evidence=evidence), cause


def wave_question(case: Case) -> tuple[Question, Cause | None]:
    """Does the last wave leave multiprocessors idle?

    Parameters
    ----------
    case : Case
        The measurement with its ceilings.

    Returns
    -------
    tuple
        The question with verdict and evidence, and the cause it establishes or None.
    """
    seen, units, text = case.seen, case.chip.multiprocessors, "Is the last wave of blocks full?"
    if seen.blocks is None or not units:
        return Question(question=text, verdict="unknown", evidence="grid_blocks was not given."), None
    waves = tile_waves(seen.blocks, units)
    evidence = (f"{seen.blocks} blocks over {units} multiprocessors make {waves.waves} wave(s), the last "
                f"{waves.last_wave_fraction:.0%} full.")
    if seen.blocks < units:
        return Question(question=text, verdict="no", evidence=evidence), None
    cause = case.cause("waves", case.roof / waves.efficiency, case.roof, f"Wave quantisation: {evidence}")
    return Question(question=text, verdict="no" if waves.efficiency < 1 / COSTS else "yes", evidence=evidence), cause
