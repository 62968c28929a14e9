"""From a run to a calibration record: gates, measured ceilings, fitted curves, residuals, and how far to trust it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from statistics import median
from typing import Any

from planner.calibration.suite import Measurement, Run
from planner.core.errors import MissingFact
from planner.core.fitting.calibration import CalibratedCurve, fit_curve
from planner.core.fitting.calibration_forms import FORMS, Ceilings
from planner.core.fitting.plausibility import plausibility

VERSION = 1
_OTHERS_NOISY = 0.10  # share of the processors used by others beyond which bandwidth is no longer ours alone
_DISTURBED_NOISY = 0.10  # share of rows without enough undisturbed samples
_SPREAD_NOISY = 0.05  # median half-width of the rows' intervals
_GEMV_BYTES = 128e6  # [byte] a matrix at least this large measures bandwidth, not launch


def streams(run: Run, dtype: str | None = None) -> dict[str, float]:
    """The best median rate of each streaming kernel [byte/s]."""
    best: dict[str, float] = {}
    for m in run.measurements:
        if m.point.kernel == "stream" and dtype in (None, m.point.dtype):
            best[m.implementation] = max(best.get(m.implementation, 0.0), m.point.traffic / m.timing.seconds)
    return best


def gemv_rate(run: Run, dtype: str) -> float | None:
    """The best rate at which a product with one token streams a large matrix [byte/s]."""
    rates = [m.point.traffic / m.timing.seconds for m in run.measurements
             if m.point.kernel == "gemv" and m.point.dtype == dtype]
    large = [m.point.traffic / m.timing.seconds for m in run.measurements
             if m.point.kernel == "gemv" and m.point.dtype == dtype and m.point.traffic >= _GEMV_BYTES]
    return max(large or rates, default=None)


def ceilings(run: Run) -> tuple[float, dict[str, float]]:
    """The memory ceiling [byte/s] and the compute ceiling by dtype [FLOP/s] that this run reached."""
    reads = [*streams(run).values(), *(r for d in {m.point.dtype for m in run.measurements}
                                       if (r := gemv_rate(run, d)) is not None)]
    if not reads:
        raise MissingFact("No streaming kernel was timed, so there is no memory ceiling to calibrate against.",
                          fact="calibration.bandwidth", hint="Run it again and let it finish the first kernels.")
    peaks: dict[str, float] = {}
    for m in run.measurements:
        if m.point.kernel in ("gemm", "prompt_attention"):
            peaks[m.point.dtype] = max(peaks.get(m.point.dtype, 0.0), m.point.work / m.timing.seconds)
    return max(reads), peaks


def judged(run: Run) -> list[tuple[Measurement, str | None]]:
    """Every measurement with the reason it is left out, if any."""
    bandwidth, peaks = ceilings(run)
    timed = [m for m in run.measurements if m.timing.usable and m.point.kernel != "stream"]
    points = [m.point for m in timed]
    reasons = plausibility(points, bandwidth=bandwidth, peaks=peaks, launch=run.launch_s or 0.0)
    kept = {id(m): r for m, r in zip(timed, reasons, strict=True)}
    return [(m, kept.get(id(m), None if m.timing.usable else "disturbed")) for m in run.measurements]


def curves(run: Run) -> tuple[list[CalibratedCurve], list[tuple[str, str]]]:
    """Fitted curves of every class and dtype with enough plausible rows, and why others have none."""
    bandwidth, peaks = ceilings(run)
    groups: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for m, reason in judged(run):
        if reason is None and m.point.kernel in FORMS:
            groups[m.point.kernel, m.point.dtype].append(m)
    fitted, missing = [], []
    for (kernel, dtype), rows in sorted(groups.items()):
        own = max(m.point.traffic / m.timing.seconds for m in rows) if rows[0].point.resident else bandwidth
        try:
            fitted.append(fit_curve([m.point for m in rows],
                                    Ceilings(bandwidth=own, peak=peaks.get(dtype, max(peaks.values(), default=1.0)))))
        except MissingFact as error:
            missing.append((f"{kernel} {dtype}", error.detail))
    return fitted, missing


def noise(run: Run) -> dict[str, Any]:
    """Whether the machine was quiet enough to believe the numbers, and in one sentence why not."""
    rows = run.measurements
    disturbed = sum(not m.timing.usable for m in rows) / len(rows) if rows else 0.0
    spread = median(m.timing.spread for m in rows) if rows else 0.0
    reasons = []
    if run.others is not None and run.others > _OTHERS_NOISY:
        reasons.append(f"other processes used {run.others:.0%} of the processors")
    if run.device.other_processes:
        reasons.append(f"{run.device.other_processes} other processes were using the device")
    if disturbed > _DISTURBED_NOISY:
        reasons.append(f"{disturbed:.0%} of the kernels could not be timed undisturbed")
    if spread > _SPREAD_NOISY:
        reasons.append(f"times scatter by {spread:.0%} in the median kernel")
    sentence = f"The machine was not quiet: {' and '.join(reasons)}." if reasons else None
    return {"noisy": bool(reasons), "reason": sentence, "others_share": run.others, "disturbed_share": disturbed,
            "median_spread": spread}


def document(run: Run, *, quick: bool, fitted: Sequence[CalibratedCurve],
             missing: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The record as JSON: SI units, everything needed to judge and to reuse it."""
    bandwidth, peaks = ceilings(run)
    best_stream = max(streams(run).values(), default=None)
    gemv = {d: r for d in sorted({m.point.dtype for m in run.measurements}) if (r := gemv_rate(run, d)) is not None}
    return {
        "version": VERSION, "measured_on": datetime.now(UTC).isoformat(timespec="seconds"), "quick": quick,
        "partial": run.partial, "elapsed_s": run.elapsed_s, "device": asdict(run.device), "noise": noise(run),
        "ceilings": {"bandwidth_bytes_per_s": bandwidth, "streams_bytes_per_s": streams(run),
                     "gemv_bytes_per_s": gemv, "peak_flop_per_s": peaks, "launch_s": run.launch_s,
                     "gemv_share_of_stream": {d: r / best_stream for d, r in gemv.items()} if best_stream else {}},
        "implementations": dict(run.ways),
        "curves": [_curve(c) for c in fitted],
        "left_out_median_error": left_out_median(fitted),
        "rows": [_row(m, reason) for m, reason in judged(run)],
        "skipped": [{"label": label, "reason": reason} for label, reason in (*run.skipped, *missing)],
    }


def left_out_median(fitted: Sequence[CalibratedCurve]) -> float | None:
    """The median error over all left-out points of all classes."""
    errors = [e for c in fitted for e in c.left_out]
    return median(errors) if errors else None


def _curve(curve: CalibratedCurve) -> dict[str, Any]:
    return {"kernel": curve.kernel, "dtype": curve.dtype, "bandwidth_bytes_per_s": curve.ceilings.bandwidth,
            "peak_flop_per_s": curve.ceilings.peak, "parameters": dict(curve.parameters),
            "intervals_90": {k: list(v) for k, v in curve.intervals.items()}, "ramp": [list(n) for n in curve.ramp],
            "points": curve.points, "median_error": curve.median_error, "left_out_error": curve.left_out_error,
            "left_out_p90": curve.left_out_p90}


def _row(m: Measurement, reason: str | None) -> dict[str, Any]:
    point: Mapping[str, Any] = asdict(m.point)
    names = ("kernel", "dtype", "shape", "work", "traffic", "io_traffic", "tokens", "inputs", "context")
    units = {"work": "work_flop", "traffic": "traffic_bytes", "io_traffic": "io_traffic_bytes"}
    return {units.get(n, n): point[n] for n in names} | {
        "label": m.label, "implementation": m.implementation, "time_s": m.timing.seconds, "low_s": m.timing.low,
        "high_s": m.timing.high, "samples": m.timing.samples, "disturbed": m.timing.disturbed, "left_out": reason}
