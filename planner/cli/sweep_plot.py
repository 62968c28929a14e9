"""The first metric of a sweep over its first continuous axis, one line for each combination of the other axes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from planner.core.errors import InvalidQuantity

if TYPE_CHECKING:
    from pathlib import Path

    from planner.services.sweep.service import Columns

LINES = 12
"""More lines than this cannot be told apart [1]."""


def draw(columns: Columns, path: Path) -> None:
    """Write the plot as SVG or PNG."""
    import matplotlib as mpl

    mpl.use("agg")
    import numpy as np
    from matplotlib import pyplot as plt

    along = next((i for i, axis in enumerate(columns.axes) if axis.continuous), None)
    if along is None:
        raise InvalidQuantity("A plot needs an axis of numbers, such as --axis concurrency=1:256:9.")
    others = [i for i in range(len(columns.axes)) if i != along]
    lines = list(product(*(range(len(columns.axes[i].values)) for i in others)))
    if len(lines) > LINES:
        raise InvalidQuantity(f"The plot would have {len(lines)} lines; at most {LINES} can be told apart.",
                              hint="Shorten the other axes.")
    name, flat = next(iter(columns.metrics.items()))
    cube = flat.reshape(columns.shape)
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    x = np.array(columns.axes[along].values, dtype=float)
    for choice in lines:
        where: list[slice | int] = [slice(None)] * len(columns.axes)
        for index, position in zip(others, choice, strict=True):
            where[index] = position
        label = " · ".join(str(columns.axes[i].values[p]) for i, p in zip(others, choice, strict=True))
        axes.plot(x, cube[tuple(where)], marker="o", markersize=3, linewidth=1.6, label=label or None)
    if x.min() > 0 and x.max() / x.min() > 10:
        axes.set_xscale("log")
    axes.set_xlabel(columns.axes[along].path)
    axes.set_title(name, loc="left", fontsize=11)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(lines) > 1:
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(path)
    plt.close(figure)
