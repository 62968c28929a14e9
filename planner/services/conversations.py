"""What a chat app keeps between messages: installs, deliveries, thread contexts, watches, an audit log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

InstallState = Literal["active", "revoked", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """One workspace that has the app; the token is sealed."""

    team_id: str
    team_name: str
    bot_user_id: str
    bot_id: str
    scopes: str
    token: bytes | None
    state: InstallState
    installed_by: str
    installed_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A question that was taken in and is not answered yet; what it asks is sealed."""

    key: str
    team_id: str
    attempts: int
    payload: bytes
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A question asked again from time to time; what it asks is sealed."""

    team_id: str
    name: str
    channel: str
    created_by: str
    context: bytes
    digest: str
    every_s: float
    next_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """Who did what and how it ended."""

    team_id: str
    user: str
    at: datetime
    action: str
    outcome: str


class Conversations(Protocol):
    """Where a chat app keeps its state."""

    def put_install(self, install: Install) -> None:
        """Store a workspace's install in place of an earlier one."""
        ...

    def install(self, team_id: str) -> Install | None:
        """Return a workspace's install."""
        ...

    def installs(self) -> Sequence[Install]:
        """Return every install."""
        ...

    def close_install(self, team_id: str, state: InstallState) -> None:
        """Forget a token that no longer works."""
        ...

    def begin(self, key: str, team_id: str, payload: bytes, owner: str) -> bool:
        """Take a delivery in; False when it was taken in before."""
        ...

    def finish(self, key: str, *, failed: bool = False) -> None:
        """Mark a delivery answered and drop what it asked."""
        ...

    def adopt(self, owner: str, before: datetime) -> Sequence[Delivery]:
        """Return deliveries of other processes older than a moment, now this process's."""
        ...

    def remember(self, team_id: str, channel: str, thread: str, context: bytes) -> None:
        """Keep a thread's last request."""
        ...

    def recall(self, team_id: str, channel: str, thread: str) -> bytes | None:
        """Return a thread's last request."""
        ...

    def put_watch(self, watch: Watch) -> None:
        """Store a watch in place of an earlier one of its name."""
        ...

    def watches(self, team_id: str) -> Sequence[Watch]:
        """Return a workspace's watches."""
        ...

    def due(self, now: datetime) -> Sequence[Watch]:
        """Return watches whose time has come, each moved on so that no one else asks it too."""
        ...

    def drop_watch(self, team_id: str, name: str) -> bool:
        """End a watch; False when there is none."""
        ...

    def note(self, line: AuditLine) -> None:
        """Add a line to the audit log."""
        ...

    def audit(self, limit: int) -> Sequence[AuditLine]:
        """Return the newest lines of the audit log."""
        ...

    def purge(self, before: datetime) -> None:
        """Forget finished deliveries and thread contexts older than a moment."""
        ...
