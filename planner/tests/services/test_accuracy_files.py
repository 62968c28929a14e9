"""What callers send as measured files: read where it can be, refused in one sentence where it cannot."""

import contextlib
import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import config
from planner.bootstrap import Planner
from planner.core.errors import InvalidQuantity, PlannerError
from planner.services.accuracy.files import (
    KINDS,
    MOST_ROWS,
    SERVING,
    SILICON,
    checked_rows,
    csv_records,
    header_of,
    json_records,
)
from planner.services.validation import reading

DATA = Path(__file__).parents[1] / "data" / "measured_runs.csv"
HEADER = ",".join(SILICON)
PLANNER = Planner(config.settings({"PLANNER_DATABASE_URL": "sqlite:////nowhere/none.sqlite3"}))
GOOD = {"model": "m", "gpu": "h100", "engine": "vllm", "weight_dtype": "bf16", "isl": "1000", "osl": "100",
        "concurrency": "8", "tp": "1", "dp": "1", "moe_tp": "1", "ep": "1", "measured": "", "ttft_ms": "40",
        "tpot_ms": "10"}
RUN = {**dict.fromkeys(SERVING, ""), "model": "m", "engine": "vllm", "gpu_sku": "h100", "n_gpus": "1", "kind": KINDS[0],
       "isl": "1000", "osl": "100", "concurrency": "8", "tok_s_per_gpu": "500"}


def line(**changes):
    return ",".join({**GOOD, **changes}.values())


def test_a_published_file_is_read_whole():
    rows = checked_rows(csv_records(DATA.read_bytes()))
    assert len(rows.records) == 23
    assert rows.numbers == tuple(range(1, 24))
    assert rows.refused == ()


def test_byte_order_marks_and_windows_line_ends_do_not_matter():
    rows = checked_rows(csv_records(b"\xef\xbb\xbf" + f"{HEADER}\r\n{line()}\r\n".encode()))
    assert dict(rows.records[0]) == GOOD


def test_the_kinds_of_runs_are_those_the_reader_knows():
    assert set(KINDS) == set(reading._LOADS)


def test_required_columns_cover_what_the_reader_needs():
    assert header_of(SILICON) == "silicon"
    assert header_of([*SERVING, "more"]) == "serving"
    assert set(SILICON) >= reading._SILICON
    assert set(SERVING) >= reading._SERVING
    assert reading.read_rows([GOOD]).rows
    assert reading.read_rows([RUN]).rows


@pytest.mark.parametrize(("raw", "said"), [
    (b"a,b\n1,2\n", "lacks"),
    (b"", "lacks"),
    (b"\x00\x01\x02", "NUL"),
    (b"\xff\xfe\x00", "UTF-8"),
    (gzip.compress(b"0" * 10**6), "compressed"),
    (b"PK\x03\x04" + b"0" * 100, "compressed"),
    (b"\n" * (MOST_ROWS + 2), "more than 100,000 rows"),
    ((HEADER + "\n" + "x" * 200_000).encode(), "cannot be read"),
])
def test_a_file_that_is_none_is_refused_in_one_sentence(raw, said):
    with pytest.raises(InvalidQuantity, match=said) as refusal:
        checked_rows(csv_records(raw))
    assert refusal.value.detail.count(". ") == 0


def test_a_million_rows_are_refused_before_they_are_parsed():
    raw = (HEADER + "\n" + "a,b\n" * 10**6).encode()
    with pytest.raises(InvalidQuantity, match="rows"):
        csv_records(raw)


def test_a_header_alone_has_nothing_to_score():
    with pytest.raises(InvalidQuantity, match="no rows"):
        checked_rows(csv_records(HEADER.encode()))


@pytest.mark.parametrize(("changes", "said"), [
    ({"isl": "=SUM(A1:A9)"}, "isl is not a number"),
    ({"tpot_ms": "@cmd|'/C calc'!A0"}, "tpot_ms is not a number"),
    ({"tpot_ms": "nan"}, "tpot_ms is not a finite number"),
    ({"ttft_ms": "inf"}, "ttft_ms is not a finite number"),
    ({"ttft_ms": "1e999"}, "ttft_ms is not a finite number"),
    ({"osl": "1e12"}, "osl is outside"),
    ({"tp": "-4"}, "tp is outside"),
    ({"tpot_ms": "0"}, "tpot_ms is not greater than zero"),
    ({"isl": "0"}, "isl is less than 1"),
    ({"concurrency": "many"}, "concurrency is not a number"),
    ({"model": " "}, "model is empty"),
    ({"model": "m" * 5000}, "longer than 4000"),
    ({"ttft_ms": "", "tpot_ms": ""}, "nothing measured"),
    ({"tpot_ms": "1,2"}, "more cells"),
])
def test_a_bad_row_is_refused_by_itself(changes, said):
    rows = checked_rows(csv_records(f"{HEADER}\n{line()}\n{line(**changes)}\n{line()}\n".encode()))
    assert rows.numbers == (1, 3)
    ((number, reason),) = rows.refused
    assert number == 2
    assert said in reason


def test_runs_of_the_other_header():
    rows = checked_rows(json_records([RUN, {**RUN, "kind": "guess"}, {**RUN, "n_gpus": "0"},
                                      {**RUN, "concurrency": "max QPS"}]))
    assert rows.numbers == (1, 4)
    assert [number for number, _ in rows.refused] == [2, 3]


def test_rows_sent_as_json_are_the_same_rows():
    sent = [{name: float(value) if name in {"isl", "tpot_ms"} else value for name, value in GOOD.items()},
            {**GOOD, "ttft_ms": None}]
    rows = checked_rows(json_records(sent))
    assert rows.records[0] == GOOD
    assert rows.records[1]["ttft_ms"] == ""


def test_json_rows_past_the_limit_are_refused():
    with pytest.raises(InvalidQuantity, match="more than"):
        checked_rows([GOOD] * (MOST_ROWS + 1))


CELLS = ["", "0", "1", "-1", "3", "7", "1e9", "0.5", "1e-9", "nan", "fp8", "int3", "gguf:zzz", "awq-int9", "no such",
         "llama-3.1-8b", "=1+1", "none", "auto", "nvfp4", "x" * 3000, "é", "\n", "2026-13-45", *KINDS]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([GOOD | {"model": "llama-3.1-8b"}, RUN | {"model": "llama-3.1-8b"}]),
                          st.dictionaries(st.sampled_from([*SILICON, *SERVING]), st.sampled_from(CELLS), max_size=3)),
                min_size=1, max_size=3).filter(lambda rows: len({len(base) for base, _ in rows}) == 1))
def test_whatever_the_cells_hold_each_row_is_predicted_or_has_a_reason(rows):
    sent = [{name: cells.get(name, value) for name, value in base.items()} for base, cells in rows]
    answer = PLANNER.validations.answer(checked_rows(sent), detail=True, learn=1)
    assert answer["rows"] == len(sent) == len(answer["row_results"])
    for line in answer["row_results"]:
        assert line["refused_reason"] or line["predicted_tpot_ms"] is not None or line["gate"]
    with contextlib.suppress(PlannerError):
        PLANNER.own_rows.learn(checked_rows(sent))
