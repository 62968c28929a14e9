"""The path parameter of an entry: it may contain a slash, but does not swallow other addresses beside it."""

from __future__ import annotations

from starlette.convertors import Convertor

from planner.services.resources import ADDRESSES, BELOW


class EntryPath(Convertor[str]):
    """Anything but the addresses that are no entry's."""

    regex = rf"(?!.*/(?:{'|'.join(BELOW)})$)(?!(?:{'|'.join(ADDRESSES)})$).+"

    def convert(self, value: str) -> str:
        """Return the name as it is."""
        return value

    def to_string(self, value: str) -> str:
        """Return the name as it is."""
        return value
