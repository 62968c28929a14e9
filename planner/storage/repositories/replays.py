"""Answers remembered by idempotency key."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from planner.core.errors import Conflict
from planner.services.ports import Replay
from planner.storage.base import now
from planner.storage.rows import ReplayRow

KEPT = timedelta(days=7)
"""How long a key is remembered."""


class SqlReplays:
    """The remembered answers of one workspace."""

    def __init__(self, session: Session, workspace: str) -> None:
        self._session = session
        self._workspace = workspace

    def get(self, key: str) -> Replay | None:
        """Return what was answered to this key."""
        row = self._session.get(ReplayRow, (self._workspace, key))
        return Replay(key=row.key, fingerprint=row.fingerprint, answer=row.answer) if row else None

    def put(self, replay: Replay) -> None:
        """Remember an answer and forget the old ones."""
        self._session.execute(delete(ReplayRow).where(ReplayRow.created_at < now() - KEPT))
        try:
            self._session.execute(insert(ReplayRow).values(
                workspace_id=self._workspace, key=replay.key, fingerprint=replay.fingerprint,
                answer=dict(replay.answer), created_at=now()))
        except IntegrityError:
            raise Conflict("Another request with this Idempotency-Key is being answered.",
                           hint="Send the request again with the same key to get its answer.") from None
