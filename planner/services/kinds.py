"""What the catalogue needs of one kind of entries: the built-in ones, how a user's are read, and what names mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from planner.services.ports import Document, Entry


class Meaning(Protocol):
    """What a name means."""

    @property
    def id(self) -> str:
        """Return the entry's id."""
        ...

    @property
    def weights(self) -> str | None:
        """Return the weight format that the name itself declares."""
        ...

    @property
    def warning(self) -> str | None:
        """Return one sentence when the name is not the entry's own."""
        ...


class Names(Protocol):
    """Resolves names of one kind of entries."""

    def resolve(self, text: str) -> Meaning:
        """Return what a name means; NotFound or Ambiguous with candidates."""
        ...


class Library(Protocol):
    """One kind of entries: the built-in ones, and how a user's are read."""

    def ids(self) -> Sequence[str]:
        """Return the built-in ids in code-point order."""
        ...

    def title(self, entry_id: str) -> str:
        """Return a built-in entry's display name, cheap enough for a list."""
        ...

    def document(self, entry_id: str) -> Document:
        """Return a built-in entry as GET shows it, with its provenance."""
        ...

    def value(self, entry_id: str) -> Any:  # noqa: ANN401 - a Model, a Chip, a price …
        """Return a built-in entry as the core's value."""
        ...

    def read(self, entry_id: str, document: Document) -> Any:  # noqa: ANN401 - as above
        """Return a user's document as the core's value, or refuse what is wrong with it by name."""
        ...

    def names(self, own: Sequence[Entry]) -> Names:
        """Return the index over the built-in entries and a user's own."""
        ...

    def describe(self, value: Any) -> Document:  # noqa: ANN401 - as above
        """Return what the core derives from a value: parameter counts, KV bytes, ridges."""
        ...
