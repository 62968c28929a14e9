"""What plan and compare say in words: the objective's fate, what cannot keep up, and why intervals are wide."""

from __future__ import annotations

import json

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


def test_a_load_that_nobody_gave_is_called_assumed_beside_the_verdict() -> None:
    text = said("plan", "llama-3.1-8b", "h100", "--ttft", "1")
    assert "fits: at 64 requests in flight (assumed, as no load was given) it gives each user" in text
    given = said("plan", "llama-3.1-8b", "h100", "--ttft", "1", "--concurrency", "64")
    assert "fits: at 64 requests in flight it gives each user" in given
    assert "(assumed" not in given
    assert "cannot keep up with 900 requests/s" in said("plan", "llama-3.1-8b", "h100", "--rate", "900")


def test_one_is_said_as_one() -> None:
    text = said("plan", "llama-3.1-8b", "h100", "--concurrency", "1")
    assert "at 1 request in flight" in text
    assert "Decoding 1 sequence is" in text
    assert "decode step of 1 sequence " in text
    assert "One replica: 1 GPU," in text


def test_the_formats_name_the_deployments_own_and_give_no_speed_to_what_does_not_fit() -> None:
    text = said("plan", "gpt-oss-120b", "h100")
    assert "mxfp4 bf16 bf16" in text
    assert text.count("(this)") == 1
    assert "– – does not fit" in text
    table = said("plan", "llama-3.1-70b", "h100", "--tp", "1").partition("What the formats change")[2]
    table = table.partition("Levers")[0]
    assert table.count("– – does not fit") == 5
    assert "ms" not in table


def test_times_of_what_does_not_fit_are_as_if_memory_sufficed() -> None:
    text = said("plan", "llama-3.1-70b", "h100", "--tp", "1")
    assert "Speed, as if memory sufficed" in text
    assert "If memory sufficed, decoding 64 sequences would be limited by" in text
    assert "goes, as if memory sufficed" in text
    assert "as if memory" not in said("plan", "llama-3.1-8b", "h100")


def test_levers_that_make_no_room_come_last_and_say_so() -> None:
    levers = said("plan", "llama-3.1-70b", "h100", "--tp", "1").partition("Levers")[2]
    assert levers.index("w4a16 weights") < levers.index("fp8 weights")
    assert levers.index("from none to") < levers.index("still none")


def test_a_comparison_is_of_the_plans_own_assumptions() -> None:
    text = said("compare", "mixtral-8x7b", "2xh100", "2xh200")
    assert "Requests of 1,000 prompt and 1,000 answer tokens. Closed loop: 64 requests in flight (assumed" in text


def test_sweeps_print_whole_numbers_and_dashes() -> None:
    text = said("sweep", "llama-3.1-8b", "h100", "--axis", "concurrency=1,40", "--metric",
                "serving.tokens_per_s_per_user", "--metric", "cost.usd_per_hour", "--metric", "fit.fits")
    lines = text.split(" ")
    assert "40.0" not in lines
    assert "nan" not in text
    assert lines[-1] == "yes"
    assert lines[-2] == "–"


def test_a_sweep_without_a_load_says_which_it_took() -> None:
    axis = ("--axis", "weights=bf16,fp8")
    words = "At 64 requests in flight (assumed, as no load was given)."
    assert words in said("sweep", "llama-3.1-8b", "h100", *axis)
    assert "assumed" not in said("sweep", "llama-3.1-8b", "h100", *axis, "--concurrency", "64")
    assert "assumed" not in said("sweep", "llama-3.1-8b", "h100", *axis, "--axis", "rate=1,2")


def test_a_simulation_without_an_objective_says_nothing_of_one() -> None:
    asked = ("simulate", "llama-3.1-8b", "h100", "--rate", "2", "--requests", "200")
    assert "objective met" not in said(*asked)
    assert "objective met" in said(*asked, "--ttft", "1")


@pytest.mark.parametrize(("left", "words"), [(1, "1 more option:"), (2, "2 more options:")])
def test_one_option_more_is_one(left: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("size", "llama-3.1-8b", "h100", "--rate", "5", "--closed-form")
    count = len(json.loads(said(*asked, "--json"))["options"])
    monkeypatch.setattr("planner.cli.commands.size.SHOWN", count - left)
    assert f"{words} --json shows all." in said(*asked)


def test_a_frontier_of_one_token_answers_is_shown_and_drawn_by_their_first(tmp_path) -> None:
    text = said("frontier", "llama-3.1-8b", "h100", "--out", "1")
    assert "Pareto set" in text
    said("frontier", "llama-3.1-8b", "h100", "--out", "1", "--plot", str(tmp_path / "frontier.png"))
    assert (tmp_path / "frontier.png").stat().st_size > 1000
