"""The accuracy report: models_catalog/accuracy.json, docs/accuracy.md and docs/accuracy/*.svg from measured files.

    .venv/bin/python benchmarks/accuracy_report.py --closed silicon_clean.csv --published serving.csv \
        --other aiconfigurator.csv --kernels gemm.csv moe.csv …

The outputs hold sums over rows, never the rows themselves.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from accuracy_plots import draw
from accuracy_text import page

from planner import __version__
from planner.bootstrap import Planner
from planner.config import settings
from planner.services.accuracy.files import Record, csv_records
from planner.services.accuracy.publishing import NOT_MODELLED, Published, file_report, noise_floor, sources_of
from planner.services.fitting import errors_by, fit_kernels

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = "Sample of measured closed-loop runs that ships with AIConfigurator 0.12.0 (NVIDIA), labels repaired, gated"
APACHE = "Apache-2.0; used as facts"
FACTS = "facts from public pages and repositories; their text is not reproduced"


def _rows(path: Path) -> list[Record]:
    return csv_records(path.read_bytes())


def files_of(given: argparse.Namespace) -> list[Published]:
    """Return the files of the report: the fixed list, the comparable published runs, and all of them."""
    closed, published = _rows(given.closed), _rows(given.published)
    with given.other.open(newline="", encoding="utf-8") as file:
        other = list(csv.DictReader(file))
    comparable = [row for row in published if row.get("core") == "1"]
    source = "Published serving measurements of " + sources_of(published)
    return [
        Published(name="closed-loop runs", records=closed, source=SAMPLE, licence=APACHE, other=other,
                  other_name="AIConfigurator 0.12.0", deployments=True),
        Published(name="published runs, comparable", records=comparable, licence=FACTS,
                  source="The rows of the published serving measurements that are marked as comparable: "
                         + sources_of(comparable)),
        Published(name="published runs, all", records=published, source=source, licence=FACTS),
    ]


def report_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the whole report."""
    plans = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"})).plans
    return {"date": datetime.now(tz=UTC).date().isoformat(), "version": __version__,
            "files": [file_report(plans, file) for file in files_of(given)],
            "noise_floor": noise_floor(_rows(given.closed)), "not_modelled": list(NOT_MODELLED),
            "kernels": kernels_of(given.kernels)}


def kernels_of(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the leave-shapes-out error of every operator's curves by accelerator and engine."""
    catalog = Planner(settings({"PLANNER_DATABASE_URL": "sqlite:////nonexistent/none.sqlite3"})).catalog
    files = []
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            files.append(list(csv.DictReader(file)))
    found = fit_kernels(files, lru_cache(lambda name: catalog.sku(name.replace("_", "-")).value))
    return [{"operator": operator, "sku": chip, "engine": engine, "rows": rows, "leave_shapes_out_mape": error}
            for (operator, chip, engine), (error, rows) in errors_by(found.fits).items()]


def _rounded(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main() -> None:
    """Write the report."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--closed", type=Path, required=True, help="closed-loop runs, the list scored on")
    arguments.add_argument("--published", type=Path, required=True, help="published runs of many sources")
    arguments.add_argument("--other", type=Path, required=True, help="another tool's answers on the closed-loop runs")
    arguments.add_argument("--kernels", type=Path, nargs="+", required=True, help="kernel latencies")
    report = _rounded(report_of(arguments.parse_args()))
    text = json.dumps(report, separators=(",", ":")) + "\n"
    (ROOT / "models_catalog" / "accuracy.json").write_text(text, encoding="utf-8")
    (ROOT / "docs" / "accuracy.md").write_text(page(report), encoding="utf-8")
    draw(report, ROOT / "docs" / "accuracy")
    for file in report["files"]:
        print(file["file"], json.dumps(file["metrics"]["primary"]))


if __name__ == "__main__":
    main()
