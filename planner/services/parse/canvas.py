"""The text being read: what a recogniser has understood is blanked, so that no character is read twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

BLANK = "\x01"


class Canvas:
    """Plain text with the understood parts blanked out; positions never move."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._marks = list(text)

    @property
    def open(self) -> str:
        """What nobody has understood yet, blanks elsewhere."""
        return "".join(self._marks)

    def claim(self, start: int, end: int) -> None:
        """Mark a stretch as understood."""
        self._marks[start:end] = BLANK * (end - start)

    def take(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Every match in the open text, each claimed before it is handed out."""
        position = 0
        while (match := pattern.search(self.open, position)) is not None:
            self.claim(*match.span())
            position = max(match.end(), position + 1)
            yield match

    def first(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first match in the open text, claimed; None when there is none."""
        match = pattern.search(self.open)
        if match is not None:
            self.claim(*match.span())
        return match

    def rest(self) -> str:
        """The words left over."""
        return re.sub(rf"[{BLANK}\s]+", " ", self.open).strip()
