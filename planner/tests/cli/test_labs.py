import json

import pytest

from planner.cli.main import main

LINES = {
    "roofline": ["roofline", "h100", "--flop", "1e12", "--bytes", "1e9"],
    "link": ["roofline", "h100", "--intensity", "64", "--boundary", "nvlink"],
    "diagnose": ["diagnose", "h100", "--flop", "2e7", "--bytes", "1.6e8", "--time", "1.6e-4", "--kernels", "20"],
    "gemm": ["labs", "gemm", "h100", "4096", "4096", "4096", "--tile", "256x128"],
    "fusion": ["labs", "fusion", "h100", "67108864", "--op", "rmsnorm:5:x:h", "--op", "silu:4:h:s", "--op",
               "mul:1:s,g:t", "--op", "add:1:t,x:y", "--cut", "2"],
    "attention": ["labs", "attention", "h100", "8192", "--heads", "64", "--kv-heads", "8", "--mode", "decode"],
    "naive": ["labs", "attention", "h100", "8192", "--heads", "64", "--mode", "naive"],
    "layer": ["labs", "layer", "h100", "--regime", "decode", "--batch", "64"],
    "optimizer": ["labs", "optimizer", "h100", "7e9", "--shards", "8"],
    "one rank": ["labs", "optimizer", "h100", "7e9"],
    "head": ["labs", "head", "h100", "8192", "4096", "100000", "--chunk", "1024"],
}
DRAWN = ("roofline", "gemm", "fusion", "layer")


@pytest.mark.parametrize("name", LINES)
def test_every_lab_prints_a_table_and_json(name, capsys):
    assert main(LINES[name]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 3
    assert main([*LINES[name], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sku"] == "h100-sxm-80gb"


@pytest.mark.parametrize("name", DRAWN)
def test_plots_are_svg(name, tmp_path, capsys):
    path = tmp_path / "plot.svg"
    assert main([*LINES[name], "--json", "--svg", str(path)]) == 0
    assert capsys.readouterr().out
    assert path.read_text(encoding="utf-8").lstrip().startswith("<?xml")


def test_a_cut_chain_has_two_kernels(capsys):
    main([*LINES["fusion"], "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert [group["operations"] for group in answer["groups"]] == [["rmsnorm", "silu"], ["mul", "add"]]


def test_counts_of_tensors_are_accepted(capsys):
    assert main(["labs", "fusion", "mi300x", "1000", "--op", "add:1:2:1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 6000


@pytest.mark.parametrize(("line", "code", "words"), [
    (["labs", "gemm", "h100", "0", "1", "1"], 2, "m"),
    (["labs", "gemm", "h100", "1", "1", "1", "--tile", "big"], 2, "tile"),
    (["labs", "fusion", "h100", "9", "--op", "x"], 2, "--op"),
    (["labs", "fusion", "h100", "9", "--op", "x:y:1:1"], 2, "flop"),
    (["labs", "fusion", "h100", "9", "--op", "x:1:1:1", "--cut", "1"], 2, "--cut"),
    (["roofline", "h100"], 2, "intensity"),
    (["roofline", "a100", "--dtype", "fp8", "--flop", "1", "--bytes", "1"], 3, "fp8"),
    (["roofline", "h1000", "--flop", "1", "--bytes", "1"], 2, "h1000"),
    (["labs", "layer", "h100", "--regime", "chat"], 2, "regime"),
    (["diagnose", "h100", "--flop", "1", "--bytes", "1e15", "--time", "1"], 2, "time_s")])
def test_refusals_are_one_sentence_on_stderr(line, code, words, capsys):
    assert main(line) == code
    error = capsys.readouterr().err
    assert words in error.splitlines()[0]
    assert len(error.splitlines()) <= 2
