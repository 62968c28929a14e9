"""What the command line refuses: one sentence and a hint on stderr, before anything is worked out."""

import pytest

from planner.cli.main import main

SWEEP = ["sweep", "llama-3.1-8b", "h100", "--tp", "1"]


@pytest.mark.parametrize(("arguments", "sentence"), [
    ([*SWEEP, "--axis", "concurrency=1,8", "--file", "/nowhere/x.csv"], "there is no folder /nowhere"),
    ([*SWEEP, "--axis", "concurrency=1,8", "--plot", "/nowhere/x.svg"], "there is no folder /nowhere"),
    ([*SWEEP, "--axis", "concurrency=1,8", "--file", "x.zip"], "the ending must be .csv, .parquet, .arrow or .json"),
    ([*SWEEP, "--axis", "concurrency=1,8", "--plot", "x.pdf"], "the ending must be .svg or .png"),
    ([*SWEEP, "--axis", "concurrency=0,1"], "axes.workload.concurrency.0 must be greater than zero, got 0.0"),
    ([*SWEEP, "--axis", "workload.concurrency=many"], "'many' is not a number"),
    ([*SWEEP, "--axis", "concurrency=1:x:3"], "'x' is not a number"),
    ([*SWEEP, "--axis", "zzz=1"], "zzz cannot be an axis"),
    (["compare", "llama-3.1-8b"], "Missing argument 'skus'"),
    (["compare", "llama-3.1-8b", ""], "sku must have at least 1 character"),
    (["compare", "llama-3.1-8b", "h100", "--concurrency", "0"], "workload.concurrency must be greater than zero"),
    (["size", "llama-3.1-8b", "h100", "--rate", "-1"], "demand.request_rate must be greater than zero"),
    (["labs", "gemm", "h100", "0", "1", "1"], "m must be at least 1"),
])
def test_a_bad_question_is_one_sentence(arguments, sentence, capsys):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert "bug" not in said.err
    assert not said.out


def test_a_folder_is_no_file(tmp_path, capsys):
    folder = tmp_path / "x.csv"
    folder.mkdir()
    assert main([*SWEEP, "--axis", "concurrency=1", "--file", str(folder)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_file_that_cannot_be_used_is_named(tmp_path, capsys):
    missing = tmp_path / "none" / "frontier.svg"
    assert main(["frontier", "llama-3.1-8b", "h100", "--tp", "1", "--plot", str(missing)]) == 2
    assert f"{missing} cannot be used: No such file or directory." in capsys.readouterr().err


def test_a_frontier_without_a_point_says_why(capsys):
    assert main(["frontier", "llama-3.1-405b", "rtx-4090-24gb", "--tp", "1"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No candidate can be drawn" in said
    assert "Weights need" in said
