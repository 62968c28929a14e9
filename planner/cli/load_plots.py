"""Plots of frontiers and simulations, as SVG or PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

LABELLED = 10
"""More kinds than this share no legend [1]."""


def draw_frontier(answer: dict[str, Any], path: Path) -> None:
    """Write every point, and the Pareto set as a line."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    speedless = any(point["tokens_per_s_per_user"] is None for point in answer["points"])
    across, words = ("ttft_s", "time to first token [s]") if speedless else (
        "tokens_per_s_per_user", "tokens/s per user")
    kinds = sorted({point["sku"] for point in answer["points"]})
    for kind in kinds:
        here = [p for p in answer["points"] if p["sku"] == kind]
        axes.scatter([p[across] for p in here], [p["output_tokens_per_s_per_gpu"] for p in here], s=10,
                     alpha=0.5, label=kind)
    best = sorted((p for p in answer["points"] if p["pareto"]), key=lambda p: p[across])
    axes.plot([p[across] for p in best], [p["output_tokens_per_s_per_gpu"] for p in best],
              linewidth=1.6, color="black", label="Pareto set")
    axes.set_xlabel(words)
    axes.set_title("output tokens/s per GPU", loc="left", fontsize=11)
    _finish(figure, axes, path, legend=len(kinds) <= LABELLED)


def draw_series(answer: dict[str, Any], path: Path) -> None:
    """Write waiting requests, decode batch and cache occupancy over time."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    series = answer["series"]
    figure, panels = plt.subplots(3, 1, figsize=(8, 6), layout="constrained", sharex=True)
    for axes, name, title in zip(panels, ("waiting", "batch", "cache_occupancy"),
                                 ("waiting requests", "decode batch", "KV occupancy"), strict=True):
        axes.plot(series["time_s"], series[name], linewidth=1.0)
        axes.set_title(title, loc="left", fontsize=11)
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel("time [s]")
    figure.savefig(path)
    plt.close(figure)


def _finish(figure: Any, axes: Any, path: Path, *, legend: bool) -> None:  # noqa: ANN401 - matplotlib's own
    from matplotlib import pyplot as plt

    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(path)
    plt.close(figure)
