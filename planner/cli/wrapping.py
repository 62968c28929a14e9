"""Tables that fit a terminal: names break at spaces, then at hyphens, slashes, underscores and dots, not in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

GAP = 2
"""Characters between columns: rich's padding and the box's own [1]."""
EDGE = 1
"""Characters before the first column [1]."""
_INSIDE = re.compile(r"(?<=\w\w[-/_])(?=\w\w)|(?<=[^\W\d]{2}\.)(?=[^\W\d]{2})")
"""After a hyphen, slash, underscore or dot that has two letters on either side: request/s and 12.34 stay whole."""


def column_widths(lines: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the width of each column so that all fit: narrowed to words, then to pieces of words, then further."""
    columns = list(zip(*lines, strict=True))
    widths = [max((len(cell) for cell in column), default=1) for column in columns]
    words = [_longest(word for cell in column for word in cell.split()) for column in columns]
    pieces = [_longest(piece for cell in column for word in cell.split() for piece in _INSIDE.split(word))
              for column in columns]
    room = max(width - EDGE - GAP * len(columns), len(columns))
    for least in (words, pieces, [1] * len(columns)):
        while sum(widths) > room and any(size > low for size, low in zip(widths, least, strict=True)):
            loose = [n for n, size in enumerate(widths) if size > least[n]]
            widths[max(loose, key=lambda n: widths[n])] -= 1
    return widths


def folded(text: str, width: int) -> list[str]:
    """Return a text as lines of at most that width; a piece of a word that is longer stays whole."""
    lines = [""]
    for word in text.split():
        parts = [word] if len(word) <= width else _INSIDE.split(word)
        for number, part in enumerate(parts):
            joined = f"{lines[-1]} {part}" if lines[-1] and number == 0 else lines[-1] + part
            if len(joined) <= width or not lines[-1]:
                lines[-1] = joined
            else:
                lines.append(part)
    return lines


def _longest(parts: Iterable[str]) -> int:
    return max((len(part) for part in parts), default=1)
