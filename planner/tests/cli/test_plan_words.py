"""What plan and compare say in words: the objective's fate, what cannot keep up, and why intervals are wide."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from planner.cli.main import app

ASKED = ["--in", "7000", "--out", "1000", "--concurrency", "32"]


def said(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(("tpot", "verdict"), [("0.0333", "The objective is missed"), ("0.2", "The objective is met")])
def test_an_objective_gets_its_verdict_with_the_percentiles(tpot: str, verdict: str) -> None:
    text = said("plan", "llama-3.1-70b", "h100", "--tp", "4", *ASKED, "--ttft", "3", "--tpot", tpot)
    assert f"{verdict}: at the 95th percentile" in text


def test_a_comparison_says_which_option_cannot_keep_up_and_under_what_load() -> None:
    text = said("compare", "qwen3-32b", "2xl40s", "8xh100", "--rate", "3", "--in", "2000", "--out", "500")
    assert "keeps up no:" in text
    assert "requests/s yes" in text
    assert "Open loop: 3 requests/s" in text


def test_wide_intervals_say_why() -> None:
    assert "No served run of" in said("plan", "llama-3.1-8b", "a100-80gb", *ASKED)
    assert "No served run of" not in said("plan", "llama-3.1-8b", "h100", *ASKED)
