"""Charts of the accuracy report, as SVG that does not change unless its numbers do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

MEDIAN, NINETIETH, OTHER = "#1f5a8a", "#a8c6de", "#c97b3d"


def draw(report: dict[str, Any], folder: Path) -> None:
    """Write every chart of the report."""
    mpl.use("svg")
    mpl.rcParams |= {"svg.hashsalt": "accuracy", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9,
                     "axes.spines.top": False, "axes.spines.right": False}
    folder.mkdir(parents=True, exist_ok=True)
    closed, comparable, everything = report["files"]
    for name, label, axis in (("sku", "accelerator", "sku"), ("family", "model family", "family"),
                              ("concurrency", "requests in flight", "concurrency"), ("weights", "weights", "weights")):
        _bars(folder / f"closed_{name}.svg", f"Time per output token, closed-loop runs, by {label}",
              _entries(closed["breakdowns"][axis], axis, "tpot"))
    _bars(folder / "published_sku.svg", "First measured quantity, published runs, by accelerator (10 rows or more)",
          [e for e in _entries(everything["breakdowns"]["sku"], "sku", "primary") if e[3] >= 10])
    _bars(folder / "published_source.svg", "First measured quantity, comparable published runs, by source",
          _entries(comparable["breakdowns"]["group"], "group", "primary"))
    left = closed["leave_one_group_out"]["left_out_groups"]
    _bars(folder / "left_out_groups.svg", "Time per output token of groups the fit never saw",
          [(g["group"], g["median_ape"], g["p90_ape"], g["n"]) for g in left])
    _side_by_side(folder / "side_by_side.svg", closed["comparison"])


def _entries(groups: list[dict[str, Any]], axis: str, quantity: str) -> list[tuple[str, float, float, int]]:
    found = [(g["by"][axis], g["metrics"][quantity]) for g in groups]
    return [(name, one["median_ape"], one["p90_ape"], one["n"]) for name, one in found if one is not None]


def _bars(path: Path, title: str, entries: list[tuple[str, float, float, int]]) -> None:
    """Draw median and 90th percentile of the absolute error, one row a label."""
    figure = Figure(figsize=(7.5, 1.3 + 0.26 * len(entries)), layout="constrained")
    axes = figure.subplots()
    places = range(len(entries))
    axes.barh(places, [100 * e[2] for e in entries], color=NINETIETH, height=0.7, label="90th percentile")
    axes.barh(places, [100 * e[1] for e in entries], color=MEDIAN, height=0.4, label="median")
    axes.set_yticks(places, [f"{e[0]}  ({e[3]})" for e in entries])
    axes.invert_yaxis()
    axes.set_xlabel("absolute error [%]; rows in brackets")
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=10)
    figure.legend(frameon=False, loc="outside lower left", ncols=2)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def _side_by_side(path: Path, comparison: dict[str, Any]) -> None:
    """Draw both tools' errors on the rows that both predict."""
    figure = Figure(figsize=(6.0, 2.6), layout="constrained")
    axes = figure.subplots()
    bars = [("TPOT mean", "tpot_mape"), ("TPOT median", "tpot_median"), ("TTFT mean", "ttft_mape"),
            ("TTFT median", "ttft_median")]
    for shift, who, colour, name in ((-0.2, "own", MEDIAN, "this planner"), (0.2, "other", OTHER, comparison["tool"])):
        axes.bar([place + shift for place in range(len(bars))], [100 * comparison[f"{who}_{key}"] for _, key in bars],
                 width=0.38, color=colour, label=name)
    axes.set_xticks(range(len(bars)), [label for label, _ in bars])
    axes.set_ylabel("absolute error [%]")
    axes.set_title(f"Same {comparison['n']:,} rows, both tools", loc="left", fontsize=10)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
