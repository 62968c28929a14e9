"""Stored entries: read with their version, changed only against it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from planner.client.errors import checked
from planner.schemas.base import Question
from planner.schemas.resources import ChangeLine, ListLine, Page, Stored

ATTEMPTS = 3
"""Tries of a POST whose connection broke; its idempotency key makes repeating it safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry as read, with the ETag that a change of it needs."""

    stored: Stored
    etag: str

    @property
    def id(self) -> str:
        """Return the entry's id."""
        return self.stored.id

    def __getitem__(self, field: str) -> Any:  # noqa: ANN401 - any field of a JSON document
        """Return a field of the entry's document."""
        return self.stored.model_dump()[field]


class Resources:
    """One kind of stored entries."""

    def __init__(self, http: httpx.Client, plural: str) -> None:
        self._http = http
        self._path = f"/v1/{plural}"

    def list(self, q: str | None = None, page_size: int = 200) -> Iterator[ListLine]:
        """Yield every entry, page after page."""
        cursor: str | None = None
        while True:
            given = {"q": q, "limit": page_size, "cursor": cursor}
            asked = {name: value for name, value in given.items() if value is not None}
            page = Page.model_validate_json(checked(self._http.get(self._path, params=asked)).content)
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def get(self, name: str) -> Entry:
        """Return the entry that a name means."""
        return _entry(self._http.get(f"{self._path}/{name}"))

    def create(self, form: Question | Mapping[str, Any], key: str | None = None) -> Entry:
        """Create an entry; repeated by itself when the connection breaks, made once all the same."""
        headers = {"Idempotency-Key": key or secrets.token_hex(16)}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _entry(self._http.post(self._path, json=_document(form), headers=headers))
            except httpx.TransportError:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError  # pragma: no cover - the loop returns or raises

    def replace(self, entry: Entry, form: Question | Mapping[str, Any]) -> Entry:
        """Replace the version that was read."""
        return _entry(self._http.put(f"{self._path}/{entry.id}", json=_document(form), headers=_match(entry)))

    def change(self, entry: Entry, **fields: Any) -> Entry:  # noqa: ANN401 - fields of a JSON document
        """Change fields of the version that was read; None removes one."""
        return _entry(self._http.patch(f"{self._path}/{entry.id}", json=fields, headers=_match(entry)))

    def delete(self, entry: Entry) -> None:
        """Delete the version that was read."""
        checked(self._http.delete(f"{self._path}/{entry.id}", headers=_match(entry)))

    def history(self, name: str, limit: int = 50) -> tuple[ChangeLine, ...]:
        """Return the latest changes, newest first."""
        answer = checked(self._http.get(f"{self._path}/{name}/history", params={"limit": limit}))
        return tuple(ChangeLine.model_validate(line) for line in answer.json()["items"])


def _match(entry: Entry) -> dict[str, str]:
    return {"If-Match": entry.etag}


def _entry(answer: httpx.Response) -> Entry:
    good = checked(answer)
    return Entry(stored=Stored.model_validate_json(good.content), etag=good.headers["ETag"])


def _document(form: Question | Mapping[str, Any]) -> Any:  # noqa: ANN401 - a JSON object
    return form.model_dump(mode="json", exclude_unset=True) if isinstance(form, Question) else dict(form)
