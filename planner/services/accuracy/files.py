"""Measured files as anyone may send them: size, header and every number checked before a row is predicted.

A fault of the whole file is refused in one sentence; a fault of one row is that row's reason, and the others go on.
"""

from __future__ import annotations

import csv
import difflib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.core.errors import InvalidQuantity

Record = dict[str, str]
MOST_ROWS = 100_000
"""Rows of one file at most [1]."""
_LONGEST_CELL = 4000
_LARGEST = 1e9  # tokens, requests, GPUs, milliseconds and tokens per second of one run are all far below
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
SILICON = ("model", "gpu", "engine", "weight_dtype", "isl", "osl", "concurrency", "tp", "dp", "moe_tp", "ep",
           "measured", "ttft_ms", "tpot_ms")
SERVING = ("model", "model_base", "engine", "gpu_sku", "n_gpus", "tp", "pp", "ep", "dp", "weight_dtype", "kv_dtype",
           "isl", "osl", "concurrency", "spec_decode", "tok_s_per_gpu", "tpot_ms_mean", "itl_ms_mean", "ttft_ms_mean",
           "kind", "source")
"""Columns a file of each header must have; either header may have more."""
_BESIDE = ("engine_version", "mode", "moe_dtype", "pp", "image", "n_gpus", "group", "prefill_workers", "prefill_tp",
           "prefill_dp", "prefill_ep", "decode_workers", "decode_tp", "decode_dp", "decode_ep", "id",
           "source_url_or_repo_path", "date_or_version", "params_note", "conc_effective", "output_tok_s_total",
           "total_tok_s", "e2e_s", "req_s", "stat", "tpot_derived", "confidence", "notes", "core", "novel_combo",
           "split")
"""Further columns of either header, read or not."""
KINDS = ("serving-concurrency", "single-stream", "static-decode", "offline-saturated")
"""How runs of the second header were loaded."""
_NUMBERS = ("isl", "osl", "tp", "pp", "dp", "ep", "moe_tp", "n_gpus", "ttft_ms", "tpot_ms", "tpot_ms_mean",
            "itl_ms_mean", "ttft_ms_mean", "tok_s_per_gpu", "conc_effective")
_LEAST = {"isl": 1.0, "osl": 1.0, "n_gpus": 1.0, "concurrency": 1.0, "tpot_ms": 1e-6, "ttft_ms": 1e-6,
          "tpot_ms_mean": 1e-6, "itl_ms_mean": 1e-6, "ttft_ms_mean": 1e-6, "tok_s_per_gpu": 1e-6}
_NEEDED = {"silicon": ("model", "gpu", "engine", "isl", "osl", "concurrency"),
           "serving": ("gpu_sku", "engine", "n_gpus", "kind")}
_MEASURED = {"silicon": ("ttft_ms", "tpot_ms"),
             "serving": ("tpot_ms_mean", "itl_ms_mean", "ttft_ms_mean", "tok_s_per_gpu")}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRows:
    """Rows whose cells can be read, with their places in the file, and the rows that cannot."""

    records: tuple[Record, ...]
    numbers: tuple[int, ...]
    """Row number of each record, from 1."""
    refused: tuple[tuple[int, str], ...]
    """(row number, reason)."""
    columns: Mapping[int, str] = field(default_factory=dict)
    """Row number → the column at fault, where it is one."""
    warnings: tuple[str, ...] = ()
    """Columns that nothing reads."""


def csv_records(raw: bytes) -> list[Record]:
    """The rows of a CSV body as text; what is no CSV of measured rows is refused before it is parsed."""
    if raw.startswith((_GZIP, _ZIP)):
        raise InvalidQuantity("The body is compressed; send the CSV itself.", pointer="")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidQuantity(f"The CSV is not UTF-8: byte {error.start} cannot be read.", pointer="") from None
    if text.count("\n") > MOST_ROWS + 1:
        raise InvalidQuantity(f"The file has more than {MOST_ROWS:,} rows.", hint="Send it in parts.", pointer="")
    if "\x00" in text:
        raise InvalidQuantity("The CSV holds a NUL character.", pointer="")
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval="")
    try:
        header_of(reader.fieldnames or ())
        rows = list(reader)
    except csv.Error as error:
        raise InvalidQuantity(f"Line {reader.line_num} of the CSV cannot be read: {error}.", pointer="") from None
    return rows


def json_records(rows: Iterable[Mapping[str, str | float | None]]) -> list[Record]:
    """Rows sent as JSON objects, as the same columns of text; columns a row leaves out are empty."""
    listed = list(rows)
    names = list(dict.fromkeys(name for row in listed for name in row))
    header_of(names)
    return [{name: _text(row.get(name)) for name in names} for row in listed]


def _text(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.15g}"


def header_of(columns: Sequence[str]) -> str:
    """The kind of file, silicon or serving, by its columns; a header that is neither is refused with what it lacks."""
    known = {"silicon": SILICON, "serving": SERVING}
    lacking = {name: [column for column in wanted if column not in columns] for name, wanted in known.items()}
    found = next((name for name, missing in lacking.items() if not missing), None)
    if found is None:
        nearest = min(lacking, key=lambda name: len(lacking[name]) / len(known[name]))
        near = {name: difflib.get_close_matches(name, [c for c in columns if c], n=1, cutoff=0.7)
                for name in lacking[nearest]}
        meant = "".join(f"Is {found[0][:80]} meant to be {name}? " for name, found in near.items() if found)
        raise InvalidQuantity(
            f"The header is that of no measured-row file: it lacks {', '.join(lacking[nearest])}.", pointer="",
            hint=f"{meant}The nearest header has the columns {', '.join(known[nearest])}.")
    return found


def checked_rows(records: Sequence[Record]) -> CheckedRows:
    """The rows whose cells are what their columns say; the rest with one sentence each."""
    if not records:
        raise InvalidQuantity("The file has a header and no rows.", pointer="")
    if len(records) > MOST_ROWS:
        raise InvalidQuantity(f"The file has more than {MOST_ROWS:,} rows.", hint="Send it in parts.", pointer="")
    header = header_of([name for name in records[0] if name])
    good: list[Record] = []
    numbers: list[int] = []
    refused: list[tuple[int, str]] = []
    columns: dict[int, str] = {}
    for number, record in enumerate(records, start=1):
        fault = _fault(record, header)
        if fault is None:
            good.append(record)
            numbers.append(number)
            continue
        reason, column = fault
        refused.append((number, reason))
        if column:
            columns[number] = column
    return CheckedRows(records=tuple(good), numbers=tuple(numbers), refused=tuple(refused), columns=columns,
                       warnings=unread_columns([name for name in records[0] if name]))


def unread_columns(names: Sequence[str]) -> tuple[str, ...]:
    """One sentence on each column that is none of either header: its values are not used."""
    known = sorted({*SILICON, *SERVING, *_BESIDE})
    found = []
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
            found.append(f"Column {name[:80]} is not read" + (f"; did you mean {close[0]}?" if close else "."))
    return tuple(found)


def _fault(record: Record, header: str) -> tuple[str, str] | None:
    """Why a row cannot be read, and the column at fault or nothing; None when it can."""
    if "" in record:
        return "more cells than the header has columns", ""
    long = next((name for name, value in record.items() if len(value) > _LONGEST_CELL), None)
    if long is not None:
        return f"a cell longer than {_LONGEST_CELL} characters", long
    empty = next((name for name in _NEEDED[header] if not record[name].strip()), None)
    if empty is not None:
        return f"{empty} is empty", empty
    if header == "serving" and record["kind"] not in KINDS:
        return "kind is none of " + ", ".join(KINDS), "kind"
    numbers = (*_NUMBERS, "concurrency") if header == "silicon" else _NUMBERS
    fault = next(((found, name) for name in numbers if (found := _number_fault(name, record.get(name, "")))), None)
    if fault is None and not any(record[name] for name in _MEASURED[header]):
        return "nothing measured: " + ", ".join(_MEASURED[header]) + " are empty", ""
    return fault


def _number_fault(name: str, text: str) -> str | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return f"{name} is not a number"
    if not math.isfinite(value):
        return f"{name} is not a finite number"
    if not 0 <= value <= _LARGEST:
        return f"{name} is outside 0 to {_LARGEST:g}"
    if value < _LEAST.get(name, 0.0):
        least = _LEAST[name]
        return f"{name} is less than {least:g}" if value or least >= 1 else f"{name} is not greater than zero"
    return None
