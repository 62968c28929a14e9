"""Traces: read, refused in one sentence, streamed."""

from __future__ import annotations

import gzip
import resource
from itertools import chain

import pytest

from planner.core.errors import AdapterError, InvalidQuantity
from planner.core.serving.policy import VLLM, ServingLimits
from planner.core.simulation.arrivals import Record
from planner.core.simulation.run import simulate_trace
from planner.core.simulation.system import Measure, System
from planner.core.simulation.trace import read_trace
from planner.services.simulation import files
from planner.tests.serving.steps import large

GOOD = ["time,input,output,session,priority", "0,10,5,a,1", "", "0.5,20,6,,"]


def test_csv_and_json_lines_say_the_same():
    lines = ['{"timestamp": 0, "input_tokens": 10, "output_tokens": 5, "session_id": "a", "priority": 1}',
             '{"timestamp": 0.5, "input_tokens": 20, "output_tokens": 6}']
    assert list(read_trace(GOOD)) == list(read_trace(lines)) == [
        Record(time=0.0, input_tokens=10, output_tokens=5, session="a", priority=1),
        Record(time=0.5, input_tokens=20, output_tokens=6)]


def test_stamps_of_public_traces_are_read():
    rows = list(read_trace(["TIMESTAMP,ContextTokens,GeneratedTokens", "2023-11-16 18:15:46.6805900,374,44",
                            "2023-11-16 18:15:50.9951690,396,109"]))
    assert rows[1].time - rows[0].time == pytest.approx(4.314579, abs=1e-5)


@pytest.mark.parametrize(("lines", "word"), [
    ([], "empty"), (["   ", ""], "empty"), (["time,input,output"], "no requests"),
    (["time,input,output", "2,1,1", "1,1,1"], "not sorted"), (["time,input,output", "-1,1,1"], "negative"),
    (["time,input,output", "0,1000000000,1"], "lengths are whole"),
    (["time,input,output", "0,1.5,1"], "lengths are whole"), (["time,input,output", "0,0,1"], "lengths are whole"),
    (["time,input,output", "nan,1,1"], "no usable time"), (["time,input,output", "0,nan,1"], "no usable input"),
    (["time,input,output", "inf,1,1"], "no usable time"), (["time,input,output", "0,1"], "fields"),
    (["time,input", "0,1"], "no usable output"), (["time,input,output", "2023-99-99 10:00,1,1"], "no usable time"),
    (['{"time": 0, "input": 1,'], "not JSON"), (['{"time": 0, "input": 1, "output": 1}', "[1]"], "not a JSON object"),
    (["time,input,output", "0," + "1" * 5000 + ",1"], "longer than"),
])
def test_bad_traces_get_one_sentence(lines, word):
    with pytest.raises(InvalidQuantity, match=word) as refusal:
        list(read_trace(lines))
    assert refusal.value.detail.count(". ") == 0


def test_files_are_streamed_and_bombs_defused(tmp_path, monkeypatch):
    plain, packed = tmp_path / "t.csv", tmp_path / "t.csv.gz"
    plain.write_text("\n".join(GOOD), encoding="utf-8")
    packed.write_bytes(gzip.compress("\n".join(GOOD).encode()))
    assert list(read_trace(files.trace_lines(plain))) == list(read_trace(files.trace_lines(packed)))
    bomb = tmp_path / "b.csv.gz"
    bomb.write_bytes(gzip.compress(b"0" * 10_000_000))
    with pytest.raises(InvalidQuantity, match="longer than"):
        list(read_trace(files.trace_lines(bomb)))
    monkeypatch.setattr(files, "UNPACKED_LIMIT", 20)
    with pytest.raises(InvalidQuantity, match="unpacks to more"):
        list(files.trace_lines(packed))
    binary, cut = tmp_path / "x.csv", tmp_path / "x.csv.gz"
    binary.write_bytes(b"\xff\xfe\x00\x81")
    cut.write_bytes(packed.read_bytes()[:20])
    with pytest.raises(InvalidQuantity, match="UTF-8"):
        list(files.trace_lines(binary))
    for path in (cut, tmp_path / "missing.csv"):
        with pytest.raises(AdapterError, match="cannot be read"):
            list(files.trace_lines(path))


@pytest.mark.slow
def test_a_million_requests_stream_in_little_memory():
    lines = chain(["time,input,output"], (f"{i / 40.0},{100 + i % 400},{1 + i % 40}" for i in range(1_000_000)))
    system = System(table=large(), policy=VLLM, limits=ServingLimits(kv_capacity_tokens=400_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = simulate_trace(system, read_trace(lines), Measure())
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert run.finished == 1_000_000
    assert grown < 200e6
