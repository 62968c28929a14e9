"""Gates that measurements pass before they may calibrate anything; a row that fails is reported and left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.core.fitting.kernel_points import KernelPoint

_TIMER_SLACK = 1.05  # clocks drift between the ceiling's measurement and the row's; 5 % covers boost steps
MONOTONE_SLACK = 1.25  # kernels switch tiles between sizes, so a larger problem may be up to 25 % faster, not more


def plausibility(points: Sequence[KernelPoint], *, bandwidth: float, peaks: Mapping[str, float],
                 launch: float) -> tuple[str | None, ...]:
    """Why each measurement is implausible, None where it is not.

    Parameters
    ----------
    points : sequence of KernelPoint
        Measurements of one device.
    bandwidth : float
        Best memory rate measured on it [byte/s].
    peaks : mapping
        Best multiply-add rate measured on it by dtype [FLOP/s].
    launch : float
        Time of an empty kernel [s].

    Returns
    -------
    tuple
        ``above_memory_ceiling``, ``above_compute_ceiling``, ``not_monotone``, ``launch_floor`` or None per point.

    Notes
    -----
    ``launch_floor`` marks rows that carry no rate (ten times their traffic and work would still hide behind the
    launch); they stay out of fits of small curves but say nothing bad about the device.
    """
    reasons: list[str | None] = []
    for p in points:
        peak = peaks.get(p.dtype)
        moved = 0.0 if p.resident else (p.traffic + p.io_traffic) / bandwidth
        computed = p.work / peak if peak else 0.0
        if moved > p.seconds * _TIMER_SLACK:
            reasons.append("above_memory_ceiling")
        elif computed > p.seconds * _TIMER_SLACK:
            reasons.append("above_compute_ceiling")
        elif 0 < 10 * (moved + computed) < launch and p.seconds < 2 * launch:
            reasons.append("launch_floor")
        else:
            reasons.append(None)
    for i in _not_monotone(points):
        reasons[i] = reasons[i] or "not_monotone"
    return tuple(reasons)


def _not_monotone(points: Sequence[KernelPoint]) -> set[int]:
    """Rows slower than a row of the same series that asks for at least as much of everything."""
    series: dict[tuple[str, str, str, float], list[int]] = defaultdict(list)
    for i, p in enumerate(points):
        series[p.kernel, p.dtype, p.family, p.tokens].append(i)
    bad: set[int] = set()
    for rows in series.values():
        for i in rows:
            mine = points[i]
            rivals = [points[j] for j in rows if points[j].traffic >= mine.traffic and points[j].work >= mine.work
                      and points[j].context >= mine.context and points[j].inputs >= mine.inputs]
            if mine.seconds > MONOTONE_SLACK * min(r.seconds for r in rivals):
                bad.add(i)
    return bad
