"""Traces from files: plain or gzip, streamed line by line, with a bound on what a small file may unpack to."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from planner.core.errors import AdapterError, InvalidQuantity, reason

UNPACKED_LIMIT = 2 * 2**30
"""A trace unpacks to at most this [byte]."""
CHUNK = 2**16
"""Characters read at once; a longer line is handed on in pieces, which its reader refuses [1]."""


def trace_lines(path: Path) -> Iterator[str]:
    """The lines of a trace file."""
    try:
        total = 0
        with (gzip.open(path, "rt", encoding="utf-8-sig", newline="") if path.suffix == ".gz"
              else path.open(encoding="utf-8-sig", newline="")) as lines:
            while line := lines.readline(CHUNK):
                total += len(line)
                if total > UNPACKED_LIMIT:
                    raise InvalidQuantity(f"{path.name} unpacks to more than {UNPACKED_LIMIT} bytes.", pointer="trace")
                yield line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidQuantity(f"{path.name} is not UTF-8 text.", pointer="trace") from None
    except (OSError, EOFError) as error:
        raise AdapterError(f"{path} cannot be read: {reason(error)}.",
                           hint="A trace is CSV or JSON lines, plain or gzip.") from None
