"""`planner models kv-report` on copied logs: the table, its figures, and files that are no such report."""

import json
from pathlib import Path

from planner.cli.main import main

LOGS = Path(__file__).parents[1] / "data" / "engine_logs.csv"


def test_figures_as_json(capsys):
    assert main(["models", "kv-report", str(LOGS), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["summary"]["known_median"] <= 0.02
    assert answer["summary"]["known_p90"] <= 0.05
    assert answer["summary"]["withheld_median"] <= 0.06
    assert answer["summary"]["withheld_p90"] <= 0.25
    assert {"kv001", "kv009"} <= {row["id"] for row in answer["rows"]}


def test_the_table_ends_with_the_figures(capsys, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("".join(LOGS.read_text().splitlines(keepends=True)[:8]))
    assert main(["models", "kv-report", str(few)]) == 0
    text = capsys.readouterr().out
    assert "kv001" in text
    assert "Withheld:" in text
    assert "Hybrid models: concurrency exact in 3 of 3 logs" in text


def test_other_files_are_refused(capsys, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    assert main(["models", "kv-report", str(other)]) == 3
    assert "no column engine, model, tp" in capsys.readouterr().err
    assert main(["models", "kv-report", str(tmp_path / "none.csv")]) == 1
    assert "cannot be read" in capsys.readouterr().err
