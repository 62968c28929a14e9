"""One question as Slack delivered it, in a form that survives a restart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Who asks what where, and how to answer."""

    team: str
    user: str
    channel: str
    text: str = ""
    thread: str | None = None
    """Time stamp of the thread answered in."""
    response_url: str | None = None
    """Where commands and buttons are answered, for thirty minutes."""
    control: str | None = None
    """The button or menu used, such as edit:fp8."""
    key: str | None = None
    """The answer a control belongs to."""
    value: str | None = None
    """What was chosen."""
    form: tuple[tuple[str, str], ...] = ()
    """Fields of a submitted form."""

    def plain(self) -> dict[str, Any]:
        """As a JSON value."""
        return asdict(self)

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """Back from a JSON value."""
        form = tuple((str(k), str(v)) for k, v in value.get("form", ()))
        return cls(**{**value, "form": form})
