"""What a run says: means and percentiles with confidence intervals, time averages, conservation counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.core.errors import InvalidQuantity
from planner.core.quantities.arrays import Array
from planner.core.simulation.recorder import BINS_PER_UNIT, OFFSET, Recorder

BATCHES = 20
"""Consecutive batches of requests whose spread gives an interval [1]."""
ROUNDING = 1e-12
"""Relative difference of sums of equal times in another order [1]."""
STUDENT_90 = 1.729
"""Two-sided 90 % quantile of Student's t with 19 degrees of freedom (Abramowitz & Stegun, table 26.10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """Mean and percentiles of one latency, each with the half-width of its 90 % interval [s]."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    asked: float
    """At the percentile that was asked for [s]."""
    mean_half_width: float
    p95_half_width: float
    p99_half_width: float
    """nan where too few requests were measured to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """One run."""

    requests: int
    """Measured, warm-up removed [1]."""
    finished: int
    refused: int
    """Requests longer than the cache [1]."""
    duration: float
    """Warm-up removed [s]."""
    ttft: Statistic
    tpot: Statistic
    e2e: Statistic
    itl_mean: float
    itl_p50: float
    itl_p95: float
    itl_p99: float
    request_rate: float
    """Requests finished by the time, warm-up removed [1/s]."""
    output_tokens_per_s: float
    input_tokens_per_s: float
    goodput: float
    """Requests that met both targets; all of them when none is set [1/s]."""
    attainment: float
    """Share of requests that met both targets [1]."""
    mean_in_system: float
    mean_waiting: float
    mean_batch: float
    """Decode batch over busy time, all replicas [1]."""
    cache_occupancy: float
    """Over busy time [1]."""
    utilization: float
    """Busy share of the replicas' time [1]."""
    preemptions: int
    peak_waiting: int
    gaps: float
    """Gaps between tokens counted, for conservation [1]."""
    series: tuple[tuple[float, int, int, float], ...]
    """(time [s], waiting, decode batch, cache share) of single replicas, thinned."""
    unstable: bool
    """The queue grew through the run: no steady state exists at this load."""


def statistic(values: Array, percentile: float = 0.95) -> Statistic:
    """Mean and percentiles of a sample in order of arrival, with batch-means intervals.

    Parameters
    ----------
    values : ndarray
        Shape (request,) [s]; where it is empty everything is NaN.
    percentile : float
        One more percentile to report [1].

    Returns
    -------
    Statistic
        Intervals from 20 consecutive batches; a batch needs 20 values for a p95 and 100 for a p99.

    References
    ----------
    Law, Simulation Modeling and Analysis, 5th ed., §9.5.3 (batch means).
    """
    if not values.size:
        return Statistic(**dict.fromkeys(Statistic.__dataclass_fields__, math.nan))
    mean = float(values.mean())
    p50, p90, p95, p99, asked = (float(q) for q in np.quantile(values, (0.5, 0.9, 0.95, 0.99, percentile)))
    size = values.size // BATCHES
    batches = values[: size * BATCHES].reshape(BATCHES, size) if size else np.empty((BATCHES, 0))
    return Statistic(
        mean=mean, p50=p50, p90=p90, p95=p95, p99=p99, asked=asked,
        mean_half_width=_half_width(batches.mean(axis=1)) if size else math.nan,
        p95_half_width=_half_width(np.quantile(batches, 0.95, axis=1)) if size >= 20 else math.nan,
        p99_half_width=_half_width(np.quantile(batches, 0.99, axis=1)) if size >= 100 else math.nan)


def _half_width(batch_values: Array) -> float:
    """Half of a 90 % interval; zero where the batches differ by rounding only."""
    spread = float(batch_values.std(ddof=1))
    return STUDENT_90 * spread / math.sqrt(BATCHES) if spread > ROUNDING * abs(float(batch_values.mean())) else 0.0


def most_missed(requests: int, percentile: float) -> int:
    r"""Requests that may miss a target while a percentile of all can still keep it.

    .. math:: n - \\lfloor q (n - 1) \\rfloor - 1

    Parameters
    ----------
    requests : int
        Measured in all [1].
    percentile : float
        Within [0, 1).

    Returns
    -------
    int
        [1]; with one more, the order statistic below the percentile misses the target itself.

    Notes
    -----
    For the linear interpolation between order statistics that :func:`statistic` uses.
    """
    return requests - int(percentile * (requests - 1)) - 1


def gap_quantile(recorder: Recorder, q: float) -> float:
    """Quantile of the gaps between tokens.

    Parameters
    ----------
    recorder : Recorder
        After the run.
    q : float
        Within (0, 1).

    Returns
    -------
    float
        Middle of a bin 0.5 % wide [s]; NaN when no gap was counted.
    """
    if not recorder.gaps:
        return math.nan
    counts = np.cumsum(np.frombuffer(recorder.histogram, dtype=np.float64))
    index = int(np.searchsorted(counts, q * counts[-1]))
    return math.exp((index - OFFSET + (0.5 if index >= OFFSET else -0.5)) / BINS_PER_UNIT)


def summarise(recorder: Recorder, *, duration: float, replicas: int, ttft_target: float | None = None,
              tpot_target: float | None = None, percentile: float = 0.95) -> SimulationResult:
    """The result of a run.

    Parameters
    ----------
    recorder : Recorder
        After the run.
    duration : float
        Length of the run, warm-up included [s].
    replicas : int
        Replicas in it [1].
    ttft_target : float or None
        TTFT a request must meet to count as good [s].
    tpot_target : float or None
        TPOT a request must meet to count as good [s].
    percentile : float
        Percentile reported as ``asked`` [1].

    Returns
    -------
    SimulationResult
        Latencies in order of arrival.

    Raises
    ------
    InvalidQuantity
        When no request was measured.
    """
    if not recorder.measured:
        refused = f", {recorder.refused} were longer than the cache" if recorder.refused else ""
        raise InvalidQuantity(f"No request finished in the simulated time{refused}.", pointer="requests")
    arrival = np.array(recorder.arrival)
    order = np.argsort(arrival, kind="stable")
    ttft, tpot, e2e = (np.array(column)[order] for column in (recorder.ttft, recorder.tpot, recorder.e2e))
    duration = max(duration - recorder.since[0], 1e-12)
    good = np.ones(ttft.shape, dtype=bool)
    if ttft_target is not None:
        good &= ttft <= ttft_target
    if tpot_target is not None:
        good &= ~(tpot > tpot_target)
    rate = (recorder.finished_all - recorder.since[1]) / duration
    busy = max(recorder.area[4], 1e-12)
    return SimulationResult(
        requests=ttft.size, finished=recorder.finished_all, refused=recorder.refused, duration=duration,
        ttft=statistic(ttft, percentile), tpot=statistic(tpot[np.isfinite(tpot)], percentile),
        e2e=statistic(e2e, percentile),
        itl_mean=recorder.gap_sum / recorder.gaps if recorder.gaps else math.nan, itl_p50=gap_quantile(recorder, 0.5),
        itl_p95=gap_quantile(recorder, 0.95), itl_p99=gap_quantile(recorder, 0.99), request_rate=rate,
        output_tokens_per_s=recorder.tokens_out / duration, input_tokens_per_s=recorder.tokens_in / duration,
        goodput=rate * float(good.mean()), attainment=float(good.mean()),
        mean_in_system=recorder.area[0] / duration, mean_waiting=recorder.area[1] / duration,
        mean_batch=recorder.area[3] / busy, cache_occupancy=recorder.area[2] / busy,
        utilization=min(recorder.area[4] / duration / replicas, 1.0), preemptions=recorder.preemptions,
        peak_waiting=recorder.peak_waiting, gaps=recorder.gaps,
        series=tuple(sorted(recorder.series)), unstable=_unstable(ttft))


def _unstable(ttft: Array) -> bool:
    """TTFT grows steadily: a queue that grows linearly doubles its median from the second quarter to the last."""
    quarter = ttft.size // 4
    if quarter < 50:
        return False
    early, late = float(np.median(ttft[quarter:2 * quarter])), float(np.median(ttft[3 * quarter:]))
    middle = float(np.median(ttft[2 * quarter:3 * quarter]))
    return early < middle < late and late > 1.6 * early
