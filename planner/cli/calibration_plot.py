"""A residual plot of a calibration: predicted over measured for every fitted kernel."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from planner.core.errors import AdapterError, MissingFact
from planner.core.fitting.calibration import CalibratedCurve
from planner.core.fitting.calibration_forms import Ceilings
from planner.core.fitting.kernel_points import KernelPoint, columns


def residuals(record: dict[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """(measured seconds, predicted over measured) of every row kept, by kernel class and dtype."""
    curves = {(c["kernel"], c["dtype"]): _curve(c) for c in record["curves"]}
    table: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in record["rows"]:
        curve = curves.get((row["kernel"], row["dtype"]))
        if curve is None or row["left_out"]:
            continue
        x, seconds = columns([KernelPoint(
            kernel=row["kernel"], dtype=row["dtype"], shape=row["shape"], work=row["work_flop"],
            traffic=row["traffic_bytes"], io_traffic=row["io_traffic_bytes"], tokens=row["tokens"],
            inputs=row["inputs"], context=row["context"], seconds=row["time_s"])])
        table[f"{row['kernel']} {row['dtype']}"].append((float(seconds[0]), float(curve.time(x)[0] / seconds[0])))
    return dict(table)


def _curve(c: dict[str, Any]) -> CalibratedCurve:
    return CalibratedCurve(
        kernel=c["kernel"], dtype=c["dtype"], parameters=c["parameters"], intervals={}, points=c["points"],
        ceilings=Ceilings(bandwidth=c["bandwidth_bytes_per_s"], peak=c["peak_flop_per_s"]),
        ramp=tuple((n, v) for n, v in c["ramp"]), median_error=c["median_error"], left_out=())


def residual_plot(record: dict[str, Any], path: Path) -> None:
    """Write the plot to a file whose ending names the format."""
    table = residuals(record)
    if not table:
        raise MissingFact("No curve was fitted, so there are no residuals to plot.", fact="calibration.curves")
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, points in sorted(table.items()):
        seconds, ratio = np.array(points).T
        axes.scatter(seconds * 1e3, ratio, s=14, label=name)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="measured [ms]", ylabel="predicted / measured [1]",
             title=f"{record['device']['name']}, {record['measured_on'][:10]}")
    axes.legend(fontsize="x-small", ncols=2)
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise AdapterError(f"The plot could not be written to {path}: {error}.",
                           hint="Use a file ending in .svg or .png.") from error
    finally:
        plt.close(figure)
