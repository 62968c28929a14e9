"""`planner fit` and `planner validate` from the command line: tables, JSON, files, one-sentence refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from planner.cli.main import main
from planner.tests.services.kernel_rows import GEMMS

DATA = Path(__file__).parents[1] / "data"


def call(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(GEMMS[0]))
        writer.writeheader()
        writer.writerows(GEMMS)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    lines = (DATA / "validation_silicon.csv").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "runs.csv"
    path.write_text("\n".join([lines[0], *lines[1::2]]) + "\n", encoding="utf-8")
    return path


def test_fit_prints_errors_and_writes_profiles(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(["fit", str(kernels), "--out", str(tmp_path / "profiles"), "--dated", "2026-11-29"], capsys)
    assert code == 0
    assert "gemm" in out
    assert "profile files" in err
    text = (tmp_path / "profiles" / "h100-sxm-80gb" / "vllm.toml").read_text(encoding="utf-8")
    assert 'measured_on = "2026-11-29"' in text
    assert "[gemm.fp8]" in text


def test_fit_as_json_with_runs(kernels: Path, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["fit", str(kernels), str(runs), "--json"], capsys)
    document = json.loads(out)
    assert code == 0
    assert document["curves"][0]["leave_shapes_out_mape"] < 0.2
    assert document["errors"][0]["rows"] == len(GEMMS)
    assert document["shared"]["tpot_left_out"]["n"] > 30


def test_fit_shows_shared_coefficients(kernels: Path, runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["fit", str(kernels), str(runs)], capsys)
    assert code == 0
    assert "tpot_left_out" in out
    assert "routing_concentration" in out
    assert "Leave-shapes-out" in out


def test_fit_of_runs_alone_shows_no_table_of_curves(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["fit", str(runs)], capsys)
    assert code == 0
    assert "tpot_left_out" in out
    assert "Leave-shapes-out" not in out


def test_validate_prints_a_table_and_writes_rows(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(["validate", str(runs), "--out", str(tmp_path / "rows.csv"), "--learn", "1"], capsys)
    assert code == 0
    assert "predicted" in out
    assert "learning" in out
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {"predicted_tpot_ms", "predicted_ttft_ms", "low", "high", "gate", "refused_reason"} <= set(rows[0])
    assert all(float(row["low"]) < float(row["predicted_tpot_ms"]) < float(row["high"]) for row in rows)


def test_validate_as_json_beside_another_tool(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(["validate", str(runs), "--json", "--other", str(runs)], capsys)
    report = json.loads(out)
    assert code == 0
    assert report["rows"] == report["predicted"]
    assert set(report["metrics"]["tpot"]) >= {"n", "mape", "median_ape", "p90_ape", "bias", "coverage_90"}
    assert {"n"} <= set(report["comparison"])


@pytest.mark.parametrize("command", ["fit", "validate"])
def test_missing_files_and_unknown_headers_are_one_sentence(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = call([command, str(tmp_path / "none.csv")], capsys)
    assert code == 1
    assert "none.csv" in err
    other = tmp_path / "other.csv"
    other.write_text("a,latency_us\n1,2\n", encoding="utf-8")
    code, _, err = call([command, str(other)], capsys)
    assert code == 2
    assert "columns" in err


def test_labels_of_groups_are_whole_on_a_terminal(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = call(["validate", str(runs)], capsys)
    _, answer, _ = call(["validate", str(runs), "--json"], capsys)
    shown = "".join(line.strip().split("  ")[0] for line in out.splitlines())
    assert max(len(line) for line in out.splitlines() if "%" in line) <= 80
    assert "…" not in out
    for group in json.loads(answer)["groups"][:4]:
        for name, value in group["by"].items():
            assert f"{name}={value}" in shown
