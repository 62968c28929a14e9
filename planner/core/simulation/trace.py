"""Recorded traces, CSV or JSON lines, checked line by line and never held in memory."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain

from planner.core.errors import InvalidQuantity
from planner.core.simulation.arrivals import Record
from planner.core.simulation.laws import LONGEST

LINE_LIMIT = 4096
"""Longest line of a trace [character]."""
NAMES = {
    "time": ("time", "time_s", "timestamp", "arrived_at", "arrival_time"),
    "input": ("input", "input_tokens", "num_prefill_tokens", "contexttokens", "context_tokens", "prompt_tokens",
              "input_length"),
    "output": ("output", "output_tokens", "num_decode_tokens", "generatedtokens", "generated_tokens",
               "completion_tokens", "output_length"),
    "session": ("session", "session_id", "conversation_id", "chat_id"),
    "priority": ("priority",),
}
"""Column names of public traces (Azure LLM inference 2023, Vidur, Mooncake) and of our own."""


def read_trace(lines: Iterable[str]) -> Iterator[Record]:
    """Requests of a trace, one at a time.

    Parameters
    ----------
    lines : iterable of str
        CSV with a header, or one JSON object a line.

    Yields
    ------
    Record
        In order of time.

    Raises
    ------
    InvalidQuantity
        An empty trace, unsorted or negative times, lengths that are not whole, absurd lines; names the line.
    """
    numbered = ((number, line) for number, line in enumerate(_checked(lines), start=1) if line.strip())
    first = next(numbered, None)
    if first is None:
        raise InvalidQuantity("The trace is empty.", pointer="trace")
    rows = _json_rows(chain([first], numbered)) if first[1].lstrip().startswith("{") else _csv_rows(first[1], numbered)
    before, count = -math.inf, 0
    for number, row in rows:
        record = _record(number, row)
        if record.time < before:
            raise InvalidQuantity(f"The trace is not sorted: line {number} is earlier than the one before it.",
                                  pointer="trace")
        before, count = record.time, count + 1
        yield record
    if not count:
        raise InvalidQuantity("The trace has a header and no requests.", pointer="trace")


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if len(line) > LINE_LIMIT:
            raise InvalidQuantity(f"Line {number} of the trace is longer than {LINE_LIMIT} characters.",
                                  pointer="trace")
        yield line


def _json_rows(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in numbered:
        try:
            row = json.loads(line)
        except ValueError:
            raise InvalidQuantity(f"Line {number} of the trace is not JSON.", pointer="trace") from None
        if not isinstance(row, dict):
            raise InvalidQuantity(f"Line {number} of the trace is not a JSON object.", pointer="trace")
        yield number, {str(name).strip().lower(): value for name, value in row.items()}


def _csv_rows(header: str, numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Mapping[str, object]]]:
    names = [name.strip().lower() for name in next(csv.reader([header]))]
    for number, line in numbered:
        fields = next(csv.reader([line]))
        if len(fields) != len(names):
            raise InvalidQuantity(f"Line {number} of the trace has {len(fields)} fields, its header {len(names)}.",
                                  pointer="trace")
        yield number, dict(zip(names, fields, strict=True))


def _field(row: Mapping[str, object], what: str) -> object:
    return next((row[name] for name in NAMES[what] if row.get(name) not in (None, "")), None)


def _record(number: int, row: Mapping[str, object]) -> Record:
    session, priority = _field(row, "session"), _field(row, "priority")
    return Record(time=_time(number, _field(row, "time")), input_tokens=_tokens(number, "input", _field(row, "input")),
                  output_tokens=_tokens(number, "output", _field(row, "output")),
                  session=None if session is None else str(session)[:128],
                  priority=0 if priority is None else int(_number(number, "priority", priority)))


def _number(number: int, what: str, value: object) -> float:
    try:
        result = float(str(value))
    except ValueError:
        result = math.nan
    if not math.isfinite(result):
        raise InvalidQuantity(f"Line {number} of the trace has no usable {what}: {str(value)[:40]!r}.",
                              pointer="trace")
    return result


def _time(number: int, value: object) -> float:
    text = str(value)
    if "-" in text[1:] and ":" in text:
        try:
            stamp = datetime.fromisoformat(text.strip())
        except ValueError:
            raise InvalidQuantity(f"Line {number} of the trace has no usable time: {text[:40]!r}.",
                                  pointer="trace") from None
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    result = _number(number, "time", value)
    if result < 0:
        raise InvalidQuantity(f"Line {number} of the trace has a negative time.", pointer="trace")
    return result


def _tokens(number: int, what: str, value: object) -> int:
    result = _number(number, f"{what} length", value)
    if not 1 <= result <= LONGEST or result != int(result):
        raise InvalidQuantity(f"Line {number} of the trace has {what} = {str(value)[:40]}: lengths are whole numbers "
                              f"from 1 to {LONGEST:,}.", pointer="trace")
    return int(result)
