"""The path parameter of an entry: it may contain a slash, but does not swallow the address of the entry's history."""

from __future__ import annotations

from starlette.convertors import Convertor


class EntryPath(Convertor[str]):
    """Anything but what ends in /history."""

    regex = r"(?!.*/history$).+"

    def convert(self, value: str) -> str:
        """Return the name as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Return the name as it is."""
        return value
