"""The published report: what it holds, its noise floor, and that its page and charts follow from its JSON."""

import csv
import importlib
import json
import sys
from pathlib import Path

import pytest

from planner.bootstrap import Planner
from planner.catalog.accuracy import FILE, published_accuracy
from planner.catalog.loader import catalog_root
from planner.config import settings
from planner.core.errors import AdapterError, InvalidQuantity
from planner.services.accuracy.publishing import LABELS, NOT_MODELLED, Published, file_report, noise_floor, sources_of

ROOT = Path(__file__).parents[3]
DATA = ROOT / "planner" / "tests" / "data"


def records(name):
    return list(csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('none')}/none.sqlite3"
    return Planner(settings({"PLANNER_DATABASE_URL": url})).plans


@pytest.fixture(scope="module")
def pages():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    yield importlib.import_module("accuracy_text"), importlib.import_module("accuracy_plots")
    sys.path.remove(str(ROOT / "benchmarks"))


@pytest.fixture(scope="module")
def report(plans):
    runs = records("measured_runs.csv")
    others = records("validation_silicon.csv")
    of_one_group = [run for run in others if run["gpu"] == "B200" and "Llama" in run["model"]]
    other = [{**run, "aic_tpot_ms": run["tpot_ms"], "aic_ttft_ms": run["ttft_ms"]} for run in runs]
    closed = Published(name="closed-loop runs", records=[*runs, *of_one_group], source="a",
                       licence="b", other=other, other_name="another tool", deployments=True)
    served = Published(name="published runs", records=records("validation_serving.csv"), source="c", licence="d")
    published = file_report(plans, served)
    return {"date": "2026-01-01", "version": "0", "files": [file_report(plans, closed), published, published],
            "noise_floor": noise_floor([{**runs[0], "measured": "2026-01-01"}, {**runs[0], "measured": "2026-01-02",
                                        "tpot_ms": str(1.1 * float(runs[0]["tpot_ms"])), "engine_version": "2"},
                                       {**runs[0], "measured": "2026-01-03"}]),
            "not_modelled": list(NOT_MODELLED)}


def test_what_a_report_holds(report):
    closed = report["files"][0]
    assert closed["comparison"]["other_tpot_mape"] == pytest.approx(0, abs=1e-3)
    assert closed["metrics_ungated"]["tpot"]["n"] >= closed["metrics"]["tpot"]["n"]
    assert closed["leave_one_group_out"]["groups"] >= 3
    for name in ("learning", "stored_corrections"):
        assert [one["rows_learnt"] for one in closed[name]] == [1, 3, 5]
        assert closed[name][1]["n"] > 50
    stored = closed["stored_corrections"][1]
    assert stored["mape"] < 0.2
    assert 0.6 < stored["coverage_90"] <= 1
    for name in LABELS:
        assert sum(entry["n"] for entry in closed["breakdowns"][name]) == closed["metrics"]["tpot"]["n"]


def test_a_page_and_charts_that_change_only_with_their_numbers(report, pages, tmp_path):
    text, plots = pages
    kernels = [{"operator": "gemm", "sku": "h100", "engine": "vllm", "rows": 9, "leave_shapes_out_mape": 0.08},
               {"operator": "gemm", "sku": "h200", "engine": "vllm", "rows": 9, "leave_shapes_out_mape": 0.1}]
    page = text.page({**report, "kernels": kernels})
    assert page.startswith("# Accuracy")
    assert "| gemm | 2 | 18 | 9.0 % | 9.0 % | h200 vllm 10 %, h100 vllm 8 % |" in page
    assert all(part in page for part in ("another tool", "## What is not modelled", "Licence: b", "mixture, gqa"))
    plots.draw(report, tmp_path / "first")
    plots.draw(report, tmp_path / "second")
    made = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert len(made) == 8
    for name in made:
        assert f"accuracy/{name}" in page
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_noise_is_the_gap_between_repeats():
    run = {"model": "m", "engine_version": "1", "measured": "d1", "tpot_ms": "10", "ttft_ms": "1"}
    repeats = [run, {**run, "measured": "d2", "tpot_ms": "11"}, {**run, "measured": "d3", "engine_version": "2",
                                                                 "tpot_ms": "20"}]
    floor = noise_floor([*repeats, {**run, "model": "other"}, {**run, "measured": ""}])
    assert floor["same_version"] == {"pairs": 1, "median": pytest.approx(0.0953, abs=1e-4),
                                     "mean": pytest.approx(0.0953, abs=1e-4), "p90": pytest.approx(0.0953, abs=1e-4)}
    assert floor["other_version"]["pairs"] == 2
    assert noise_floor([run])["same_version"] is None
    with pytest.raises(InvalidQuantity):
        noise_floor([])


def test_sources_are_counted():
    assert sources_of([{"source": "b"}, {"source": "a"}, {"source": "b"}]) == "a (1), b (2)"


def test_the_published_page_is_that_of_the_published_numbers(pages):
    report = json.loads((catalog_root() / FILE).read_text(encoding="utf-8"))
    assert pages[0].page(report) == (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert report == published_accuracy()


def test_a_report_that_is_missing_says_how_it_is_made(monkeypatch, tmp_path):
    monkeypatch.setattr("planner.catalog.accuracy.catalog_root", lambda: tmp_path)
    published_accuracy.cache_clear()
    with pytest.raises(AdapterError, match="cannot be read"):
        published_accuracy()
    published_accuracy.cache_clear()
