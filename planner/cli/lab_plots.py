"""The labs' answers as SVG: a roof with its point, a corridor, bars of a layer or a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Answer = dict[str, Any]
_MEMORY, _COMPUTE, _ROOF = "#c2452d", "#2d6cc2", "#444444"


def _axes(width: float, height: float) -> Axes:
    """Return one empty plot that needs no display."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _save(axes: Axes, path: str) -> None:
    axes.get_figure(root=True).savefig(path, format="svg")  # type: ignore[union-attr] # axes are drawn


def roofline_svg(answer: Answer, path: str) -> None:
    """Draw the roof of every boundary and the point under its own."""
    import numpy as np

    peak, here = answer["peak_flop_per_s"], answer["boundary"]
    ridges = [row["ridge_flop_per_byte"] for row in answer["boundaries"]]
    intensity = answer["intensity_flop_per_byte"]
    low, high = min(0.1, intensity, *ridges) / 2, max(intensity, *ridges) * 3
    x = np.geomspace(low, high, 200)
    axes = _axes(7, 4.5)
    for index, row in enumerate(answer["boundaries"]):
        y = np.minimum(peak, row["bandwidth_bytes_per_s"] * x)
        own = row["boundary"] == here
        axes.loglog(x, y, color=_ROOF, linewidth=2 if own else 0.8, linestyle="--" if row["estimate"] else "-",
                    alpha=1 if own else 0.5)
        at = 12 * index  # neighbours with like rates must not write over each other
        axes.annotate(row["boundary"], (x[at], y[at]), fontsize=8, va="bottom", ha="right")
    color = _COMPUTE if answer["bound"] == "compute" else _MEMORY
    axes.loglog([intensity], [answer["attainable_flop_per_s"]], "o", color=color)
    axes.set_xlabel("intensity [FLOP/byte]")
    axes.set_ylabel("attainable [FLOP/s]")
    axes.set_title(f"{answer['dtype']} on {answer['sku']} (dashed: estimated rates)", fontsize=10)
    _save(axes, path)


def gemm_svg(answer: Answer, path: str) -> None:
    """Draw time against L2 absorption, from none to all of the re-reads."""
    import numpy as np

    absorbed = np.linspace(0, 1, 101)
    tiled, compulsory = answer["corridor"]["bytes"]
    traffic = compulsory + (1 - absorbed) * (tiled - compulsory)
    floor = min(answer["corridor"]["time_s"])
    time = np.maximum(floor, answer["corridor"]["time_s"][0] * traffic / tiled)
    axes = _axes(6, 4)
    axes.plot(absorbed, time, color=_MEMORY)
    axes.axhline(answer["time_s"], color=_ROOF, linewidth=0.8, linestyle="--")
    axes.set_xlabel("share of tile re-reads that L2 absorbs")
    axes.set_ylabel("least time [s]")
    axes.set_ylim(bottom=0)
    _save(axes, path)


def bars_svg(rows: list[tuple[str, float, bool]], title: str, path: str) -> None:
    """Draw times as horizontal bars; memory-bound ones in their own colour."""
    axes = _axes(7, 0.6 + 0.35 * len(rows))
    names = [name for name, _, _ in rows]
    axes.barh(names, [time for _, time, _ in rows], color=[_MEMORY if memory else _COMPUTE for _, _, memory in rows])
    axes.invert_yaxis()
    axes.set_xlabel("least time [s]")
    axes.set_title(title, fontsize=10)
    _save(axes, path)


def layer_svg(answer: Answer, path: str) -> None:
    """Draw where a layer's time goes."""
    bars_svg([(row["name"], row["time_s"], row["bound"] == "memory") for row in answer["rows"]],
             f"{answer['regime']} on {answer['sku']} (red: memory-bound)", path)


def fusion_svg(answer: Answer, path: str) -> None:
    """Draw the kernels of a chain beside the fully split total."""
    rows = [(" + ".join(group["operations"]), group["time_s"], True) for group in answer["groups"]]
    bars_svg([*rows, ("all split", answer["split"]["time_s"], True)], f"element-wise chain on {answer['sku']}", path)
