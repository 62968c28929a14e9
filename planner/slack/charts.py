"""The chart of an answer as a PNG, 1240 × 492, light: lines over requests in flight, marks, where one stands."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from planner.services.questions.reply import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colours of the design (light): weights, compute, KV text, ink, hairlines.
_LINES = ("#2A6FDB", "#0B8A6A", "#D1690A", "#7A4FBF")
_DASHES = ("-", "--", "-.", ":")
_INK, _SOFT, _HAIR, _LIMIT = "#12161C", "#414B59", "#E3E7EC", "#C0143C"
_DPI = 124
_INCHES = (10.0, 492 / _DPI)
CLOSE = 0.08
"""Marks nearer than this share of a decade pair are written on different heights."""


def png(chart: Chart) -> bytes:
    """The chart's bytes; drawn without any global state, so in any thread."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - matplotlib takes 0.4 s to import
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    figure = Figure(figsize=_INCHES, dpi=_DPI, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.075, 0.14, 0.895, 0.72))
    for index, series in enumerate(chart.series):
        colour = _LINES[index % len(_LINES)]
        known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
        axes.plot(
            [x for x, _ in known],
            [y for _, y in known],
            _DASHES[index % len(_DASHES)],
            color=colour,
            lw=2,
            label=series.label,
        )
    _frame(axes, chart)
    _marks(axes, chart)
    if len(chart.series) > 1:
        axes.legend(loc="upper left", frameon=False, fontsize=9, labelcolor=_SOFT)
    if chart.now is not None:
        axes.plot([chart.now[0]], [chart.now[1]], "o", color=_LINES[0], ms=8, mec="white", mew=1.5, zorder=5)
        axes.annotate(
            "now",
            chart.now,
            xytext=(0, -16),
            textcoords="offset points",
            ha="center",
            color=_INK,
            fontsize=9,
            fontweight="bold",
        )
    figure.text(0.02, 0.935, chart.title, color=_INK, fontsize=11, fontweight="bold")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _frame(axes: Axes, chart: Chart) -> None:
    """Log axis of requests, hairlines, no box."""
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value >= 1000 else f"{value:g}")
    axes.grid(axis="y", color=_HAIR)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=_SOFT, labelsize=9, length=0)
    axes.set_xlabel(chart.x_label, color=_SOFT, fontsize=9)
    axes.set_ylabel(chart.y_label, color=_SOFT, fontsize=9)


def _marks(axes: Axes, chart: Chart) -> None:
    """Vertical lines at places with a meaning, labelled above the plot, close ones on two heights."""
    low, high = axes.get_xlim()
    shown = sorted((x, label) for x, label in chart.marks if low <= x <= high * 4)
    if shown:
        axes.set_xlim(low, max(high, shown[-1][0] * 1.15))
    last, raised = 0.0, False
    for x, label in shown:
        raised = last > 0 and x < last * (1 + 8 * CLOSE) and not raised
        colour = _LIMIT if "limit" in label else _SOFT
        axes.axvline(x, color=colour, lw=1.2, ls="-" if "limit" in label else (0, (4, 3)))
        axes.annotate(
            f"{label} {x:,.0f}",
            (x, 1),
            xycoords=("data", "axes fraction"),
            color=colour,
            fontsize=8.5,
            xytext=(0, 15 if raised else 4),
            textcoords="offset points",
            ha="center",
            fontweight="bold",
        )
        last = x
